// The two copies in a cursor file: torn, damaged, from other files and versions, interrupted by
// kills and power cuts, and read while being written.
#include "snapshot/cursor/cursor_file.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "lapwing/error.h"
#include "os/posix_io.h"
#include "os/small_file.h"
#include "proto/cursor_format.h"
#include "proto/header_checksum.h"
#include "testing/sim_disk.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

constexpr char kRoot[] = "/sim";
constexpr char kPath[] = "/sim/es.cursor";

using FileBytes = std::array<std::byte, kCursorFileBytes>;

StoredPosition file_position_of(Sequence n) {
  StoredPosition position;
  position.journal_id.bytes.fill(static_cast<std::uint8_t>(n));
  position.session_id.bytes.fill(static_cast<std::uint8_t>(n + 100));
  position.sequence = n;
  return position;
}

OutputEnd output_of(Sequence n) {
  return {.bytes = n * 56, .file = n + 1000};
}

CursorFile open_cursor(Disk& disk) {
  absl::StatusOr<CursorFile> file = CursorFile::open(disk, kPath);
  INFO(file.status());
  REQUIRE(file.ok());
  return *std::move(file);
}

// The next process must find commit `n` complete; 0: none.
void require_newest(Disk& disk, Sequence n) {
  const CursorCommit newest = open_cursor(disk).newest();
  REQUIRE(newest.position == (n == 0 ? StoredPosition{} : file_position_of(n)));
  REQUIRE(newest.output == (n == 0 ? OutputEnd{} : output_of(n)));
}

absl::Status commit(CursorFile& file, Sequence n, bool sync = false) {
  return file.commit(file_position_of(n), output_of(n), sync);
}

// A separate process that commits and ends.
void commit_once(Disk& disk, Sequence n) {
  CursorFile file = open_cursor(disk);
  REQUIRE(commit(file, n).ok());
}

void commit_each(Disk& disk, Sequence first, Sequence last) {
  for (Sequence n = first; n <= last; ++n) commit_once(disk, n);
}

FileBytes read_bytes(Disk& disk) {
  const auto file = open_file(disk, kPath, {OpenMode::kRead});
  REQUIRE(file.ok());
  REQUIRE(disk.size(file->get()).value() == kCursorFileBytes);
  FileBytes bytes{};
  REQUIRE(disk.read_at(file->get(), 0, bytes).value() == bytes.size());
  return bytes;
}

void write_bytes(Disk& disk, std::span<const std::byte> bytes) {
  if (disk.exists(kPath).value()) REQUIRE(disk.remove(kPath).ok());
  const auto file = open_file(disk, kPath, {OpenMode::kCreate});
  REQUIRE(file.ok());
  REQUIRE(disk.write_at(file->get(), 0, bytes).ok());
}

CursorEntry entry_in(const FileBytes& bytes, std::size_t copy) {
  CursorEntry entry;
  std::memcpy(&entry, bytes.data() + copy * kCursorCopyBytes, sizeof entry);
  return entry;
}

// With a correct checksum.
void put_entry(FileBytes& bytes, std::size_t copy, CursorEntry entry) {
  entry.checksum = checksum_of(entry);
  std::memcpy(bytes.data() + copy * kCursorCopyBytes, &entry, sizeof entry);
}

Errc error_of_open(Disk& disk) {
  return errc_of(CursorFile::open(disk, kPath).status());
}

TEST_CASE("A new cursor has no commit, and the next process finds the last commit") {
  SimDisk disk(kRoot, 1);
  require_newest(disk, 0);
  require_newest(disk, 0);
  for (Sequence n = 1; n <= 5; ++n) {
    commit_once(disk, n);
    require_newest(disk, n);
  }
  CursorFile file = open_cursor(disk);
  const std::uint64_t generation = file.newest().generation;
  REQUIRE(commit(file, 6).ok());
  REQUIRE(commit(file, 7).ok());
  CHECK(file.newest().position == file_position_of(7));
  CHECK(file.newest().generation == generation + 2);
  CHECK(file.newest().written_wall_ns > 0);
  require_newest(disk, 7);
}

// Version 1 byte by byte, produced by another implementation of docs/reference/file-formats.md.
constexpr const char* kEntryOfVersion1[] = {
    "4c505743555231000100000000000000", "07000000000000000001020304050607",
    "08090a0b0c0d0e0ff0f1f2f3f4f5f6f7", "f8f9fafbfcfdfeff6712000000000000",
    "88060400000000000300000000000000", "00101c073fc7e9180000000000000000",
    "00000000000000000000000000000000", "0000000000000000b6a44eba914d167d",
};

TEST_CASE("The bytes of version 1 are read correctly, and written again") {
  std::vector<std::uint8_t> entry;
  for (const char* const line : kEntryOfVersion1) {
    const Id128 bytes_of_line = Id128::from_hex(line).value();
    entry.insert(entry.end(), bytes_of_line.bytes.begin(), bytes_of_line.bytes.end());
  }
  FileBytes bytes{};
  std::memcpy(bytes.data() + kCursorCopyBytes, entry.data(), entry.size());  // generation 7
  SimDisk disk(kRoot, 1);
  write_bytes(disk, bytes);
  const CursorCommit newest = open_cursor(disk).newest();
  CHECK(newest.generation == 7);
  CHECK(newest.position.journal_id.hex() == "000102030405060708090a0b0c0d0e0f");
  CHECK(newest.position.session_id.hex() == "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
  CHECK(newest.position.sequence == 4711);
  CHECK(newest.output == OutputEnd{.bytes = 263'816, .file = 3});
  CHECK(newest.written_wall_ns == 1'795'185'000'000'000'000);
  CursorFile file = open_cursor(disk);
  REQUIRE(file.commit(newest.position, newest.output, false).ok());  // generation 8
  REQUIRE(file.commit(newest.position, newest.output, false).ok());  // 9: into the same copy
  CursorEntry written = entry_in(read_bytes(disk), 1);
  written.generation = 7;
  written.written_wall_ns = newest.written_wall_ns;
  put_entry(bytes, 0, written);
  CHECK(std::memcmp(bytes.data(), entry.data(), entry.size()) == 0);
}

TEST_CASE(
    "A commit that is torn at any byte leaves the previous one, and the next one repairs it") {
  for (const Sequence last : {Sequence{4}, Sequence{5}}) {  // into one copy, and into the other
    SimDisk disk(kRoot, 1);
    commit_each(disk, 1, last - 1);
    const FileBytes before = read_bytes(disk);
    commit_once(disk, last);
    const FileBytes after = read_bytes(disk);
    const auto differs = std::mismatch(before.begin(), before.end(), after.begin()).first;
    const auto copy = static_cast<std::size_t>(differs - before.begin()) / kCursorCopyBytes;
    const std::size_t begin = copy * kCursorCopyBytes;
    std::uint64_t torn_copies = 0;
    for (std::size_t cut = begin; cut <= begin + sizeof(CursorEntry); ++cut) {
      for (const bool front_is_new : {true, false}) {
        FileBytes torn = front_is_new ? before : after;
        const FileBytes& front = front_is_new ? after : before;
        std::copy(front.begin(), front.begin() + static_cast<std::ptrdiff_t>(cut), torn.begin());
        write_bytes(disk, torn);
        INFO("commit " << last << ", cut at byte " << cut << ", front is new " << front_is_new);
        const bool is_torn = torn != before && torn != after;
        torn_copies += is_torn;
        REQUIRE(read_cursor(disk, kPath).value().one_copy_is_damaged == is_torn);
        require_newest(disk, torn == after ? last : last - 1);
        commit_once(disk, 100);
        require_newest(disk, 100);
        REQUIRE_FALSE(read_cursor(disk, kPath).value().one_copy_is_damaged);
      }
    }
    CHECK(torn_copies > sizeof(CursorEntry));
  }
}

TEST_CASE("A bit that flips anywhere in one copy leaves the other") {
  SimDisk disk(kRoot, 1);
  commit_each(disk, 1, 4);
  const FileBytes good = read_bytes(disk);
  const std::size_t newest_copy = entry_in(good, 0).sequence > entry_in(good, 1).sequence ? 0U : 1U;
  for (std::size_t copy = 0; copy < kCursorCopies; ++copy) {
    for (std::size_t bit = 0; bit < 8 * sizeof(CursorEntry); ++bit) {
      INFO("copy " << copy << ", bit " << bit);
      write_bytes(disk, good);
      disk.flip_bit(kPath, copy * kCursorCopyBytes + bit / 8, static_cast<unsigned>(bit % 8));
      require_newest(disk, copy == newest_copy ? 3 : 4);
    }
  }
}

TEST_CASE("Without a valid copy, a cursor is damaged, reports a remedy, and stays unchanged") {
  SimDisk disk(kRoot, 1);
  commit_each(disk, 1, 4);
  FileBytes bytes = read_bytes(disk);
  SECTION("both have a wrong byte") {
    bytes[60] ^= std::byte{1};
    bytes[kCursorCopyBytes + 70] ^= std::byte{1};
  }
  SECTION("one is gone, and the other has a wrong byte") {
    std::fill(bytes.begin(), bytes.begin() + kCursorCopyBytes, std::byte{});
    bytes[kCursorCopyBytes + 70] ^= std::byte{1};
  }
  SECTION("they stand in each other's place") {
    const CursorEntry first = entry_in(bytes, 0);
    put_entry(bytes, 0, entry_in(bytes, 1));
    put_entry(bytes, 1, first);
  }
  SECTION("their sequences cannot be") {
    for (std::size_t copy = 0; copy < kCursorCopies; ++copy) {
      CursorEntry entry = entry_in(bytes, copy);
      entry.sequence = kSequenceMax + 1;
      put_entry(bytes, copy, entry);
    }
  }
  write_bytes(disk, bytes);
  const absl::Status status = CursorFile::open(disk, kPath).status();
  CHECK(errc_of(status) == Errc::kDamaged);
  const std::string words(status.message());
  CHECK(absl::StrContains(words, kPath));
  CHECK(absl::StrContains(words, "remove it"));
  CHECK(errc_of(read_cursor(disk, kPath).status()) == Errc::kDamaged);
  CHECK(read_bytes(disk) == bytes);
}

TEST_CASE("A file that ends within one copy still has the other one") {
  SimDisk disk(kRoot, 1);
  commit_each(disk, 1, 4);
  const FileBytes bytes = read_bytes(disk);
  const Sequence in_first = entry_in(bytes, 0).sequence;
  for (const std::size_t size : {kCursorCopyBytes, kCursorCopyBytes + sizeof(CursorEntry) / 2}) {
    write_bytes(disk, std::span(bytes).first(size));
    require_newest(disk, in_first);
  }
  write_bytes(disk, std::span(bytes).first(sizeof(CursorEntry) / 2));
  CHECK(error_of_open(disk) == Errc::kDamaged);
}

TEST_CASE("A file of another kind is not a cursor, and stays unchanged") {
  SimDisk disk(kRoot, 1);
  std::string content;
  SECTION("empty") {}
  SECTION("zeros") {
    content.assign(kCursorFileBytes, '\0');
  }
  SECTION("text") {
    content.assign(3 * kCursorFileBytes, 'x');
  }
  write_bytes(disk, std::as_bytes(std::span(content)));
  CHECK(error_of_open(disk) == Errc::kNotALapwingFile);
  CHECK(errc_of(read_cursor(disk, kPath).status()) == Errc::kNotALapwingFile);
  CHECK(read_small_file(disk, kPath, 1 << 20).value() == content);
}

TEST_CASE("A copy of a later version is not taken for damage, and not skipped") {
  for (std::size_t copy = 0; copy < kCursorCopies; ++copy) {
    SimDisk disk(kRoot, 1);
    commit_each(disk, 1, 4);
    FileBytes bytes = read_bytes(disk);
    CursorEntry entry = entry_in(bytes, copy);
    entry.version = kCursorVersion + 1;
    put_entry(bytes, copy, entry);
    write_bytes(disk, bytes);
    const absl::Status status = CursorFile::open(disk, kPath).status();
    CHECK(errc_of(status) == Errc::kAbiMismatch);
    CHECK(absl::StrContains(std::string(status.message()), "version 2"));
    CHECK(read_bytes(disk) == bytes);
  }
}

TEST_CASE("Generations go round, and the newest commit stays the newest") {
  constexpr std::uint64_t kLastGeneration = std::numeric_limits<std::uint64_t>::max();
  SimDisk disk(kRoot, 1);
  commit_each(disk, 1, 2);
  FileBytes bytes = read_bytes(disk);
  for (std::size_t copy = 0; copy < kCursorCopies; ++copy) {
    CursorEntry entry = entry_in(bytes, copy);
    entry.generation = kLastGeneration - 1 + copy;  // the last one is odd: in the second copy
    entry.sequence = 0;
    put_entry(bytes, copy, entry);
  }
  write_bytes(disk, bytes);
  CHECK(open_cursor(disk).newest().generation == kLastGeneration);
  for (Sequence n = 1; n <= 4; ++n) {
    commit_once(disk, n);
    require_newest(disk, n);
    CHECK(open_cursor(disk).newest().generation == n - 1);
  }
}

// Commits 1 to `last` until one fails. Returns the last one that succeeded.
Sequence commit_up_to(Disk& disk, Sequence last, bool sync) {
  absl::StatusOr<CursorFile> file = CursorFile::open(disk, kPath);
  Sequence n = 0;
  while (file.ok() && n < last && commit(*file, n + 1, sync).ok()) ++n;
  return n;
}

TEST_CASE("Killed at any operation, a cursor has the last commit or the one under way") {
  const bool sync = GENERATE(true, false);
  std::uint64_t cuts = 0;
  for (std::uint64_t stop = 0;; ++stop) {
    INFO("stopped after " << stop << " operations");
    SimDisk disk(kRoot, stop);
    disk.stop_after(stop);
    const Sequence committed = commit_up_to(disk, 4, sync);
    if (!disk.stopped()) break;
    ++cuts;
    disk.kill();
    const Sequence found = open_cursor(disk).newest().position.sequence;
    REQUIRE((found == committed || found == committed + 1));
    require_newest(disk, found);
    commit_once(disk, 100);
    require_newest(disk, 100);
  }
  CHECK(cuts >= 8);  // the file, its contents, sync and name; then the commits
}

TEST_CASE("A power cut at any operation undoes no synced commit, and tears none") {
  const bool sync = GENERATE(true, false);
  std::uint64_t taken_back = 0;
  std::uint64_t kept = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    for (std::uint64_t stop = 0;; ++stop) {
      INFO("seed " << seed << ", stopped after " << stop << " operations");
      SimDisk disk(kRoot, seed);
      disk.stop_after(stop);
      const Sequence committed = commit_up_to(disk, 4, sync);
      const bool is_whole = !disk.stopped();
      disk.power_cut();
      const Sequence found = open_cursor(disk).newest().position.sequence;
      REQUIRE(found <= committed + 1);
      if (sync) REQUIRE(found >= committed);
      require_newest(disk, found);
      ++(found < committed ? taken_back : kept);
      commit_once(disk, 100);
      require_newest(disk, 100);
      if (is_whole) break;
    }
  }
  CHECK((taken_back > 0) == !sync);
  CHECK(kept > 0);
}

TEST_CASE("A new cursor is durable when it is open") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SimDisk disk(kRoot, seed);
    open_cursor(disk);
    disk.power_cut();
    REQUIRE(disk.exists(kPath).value());
    require_newest(disk, 0);
  }
}

TEST_CASE("The first write or sync that fails is final, and the previous commit stays") {
  const SimOp op = GENERATE(SimOp::kWrite, SimOp::kSync);
  SimDisk disk(kRoot, 1);
  CursorFile file = open_cursor(disk);
  REQUIRE(commit(file, 1, true).ok());
  disk.fail(op, 1, ENOSPC);
  const absl::Status failed = commit(file, 2, true);
  CHECK(errc_of(failed) == Errc::kNoSpace);
  CHECK(absl::StrContains(std::string(failed.message()), "open the cursor again"));
  CHECK(commit(file, 3, true) == failed);
  CHECK(file.newest().position == file_position_of(1));
  disk.power_cut();
  require_newest(disk, 1);
}

TEST_CASE("A concurrent reader finds complete commits, and never an older one than before") {
  constexpr int kChanges = 200;
  const TemporaryDirectory directory(TemporaryDirectory::in_memory());
  const std::string path = directory.file("es.cursor");
  PosixDisk disk;
  absl::StatusOr<CursorFile> opened = CursorFile::open(disk, path);
  REQUIRE(opened.ok());
  std::atomic<bool> is_enough = false;
  std::atomic<bool> commits = true;
  std::thread writer([&] {
    for (Sequence n = 1; !is_enough && commit(*opened, n).ok(); ++n) {
    }
    commits = false;
  });
  PosixDisk readers_disk;
  int changes = 0;
  Sequence last = 0;
  absl::Status status;
  bool is_good = true;
  while (is_good && commits && changes < kChanges) {
    const absl::StatusOr<CursorContents> contents = read_cursor(readers_disk, path);
    status = contents.status();
    if (!status.ok()) break;
    const StoredPosition& position = contents->newest.position;
    const Sequence n = position.sequence;
    is_good =
        n >= last &&
        (n == 0 || (position == file_position_of(n) && contents->newest.output == output_of(n)));
    changes += n > last;
    last = n;
  }
  is_enough = true;
  writer.join();
  INFO(status << " at commit " << last);
  REQUIRE(status.ok());
  CHECK(is_good);
  CHECK(changes == kChanges);
}

}  // namespace
}  // namespace lapwing
