// A checkpoint with flipped bits, truncated or extended anywhere, and loaded in both ways.
#include <xxhash.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/posix_io.h"
#include "snapshot/checkpoint/checkpoint_header.h"
#include "testing/checkpoint_fixture.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

using Catch::Contains;

constexpr Sequence kDamagedAsOf = 42;
constexpr std::uint64_t kEntryBytes = 20;
constexpr std::uint64_t kEntries = 16'385;  // six blocks, the last one short, and four of padding
constexpr std::uint64_t kEntriesEnd = 4096 + kEntryBytes * kEntries;
constexpr std::uint64_t kBlocks = 6;
constexpr std::uint64_t kSumsOffset = kEntriesEnd + 4;
constexpr std::uint64_t kFileBytes = kSumsOffset + 8 * kBlocks;
const FixtureFold kDamagedFold(kEntryBytes);

// The disk for a reader that may not map files with other owners.
class CopyingDisk : public PosixDisk {
 public:
  std::optional<Pages> map_finished(FileHandle) override { return std::nullopt; }
};

// One checkpoint in a memory-backed file, and its original bytes.
class Subject {
 public:
  explicit Subject(bool mapped) : mapped_(mapped) {
    REQUIRE(write_checkpoint(posix_, directory_.path(), kDamagedFold,
                             fixture_identity(kDamagedAsOf), kDamagedFold.entries(0, kEntries))
                .ok());
    REQUIRE(std::filesystem::file_size(path()) == kFileBytes);
    std::filesystem::permissions(path(), std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add);
    std::ifstream in(path(), std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
    REQUIRE(load().ok());
  }

  std::string path() const { return checkpoint_path(directory_.path(), kDamagedAsOf); }
  absl::Status load() {
    Disk& disk = mapped_ ? static_cast<Disk&>(posix_) : copying_;
    return LoadedCheckpoint::load(disk, path()).status();
  }
  // Returns the result of loading with this bit flipped, then flips it back.
  absl::Status with_flip(std::uint64_t offset, unsigned bit) {
    flip(offset, bit);
    const absl::Status status = load();
    flip(offset, bit);
    return status;
  }
  absl::Status with_length(std::uint64_t bytes) {
    std::filesystem::resize_file(path(), bytes);
    const absl::Status status = load();
    std::ofstream(path(), std::ios::binary) << bytes_;
    return status;
  }

 private:
  void flip(std::uint64_t offset, unsigned bit) {
    std::fstream file(path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(offset));
    const char byte = static_cast<char>(file.get() ^ (1 << bit));
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
    REQUIRE(file.good());
  }

  bool mapped_;
  TemporaryDirectory directory_{TemporaryDirectory::in_memory()};
  PosixDisk posix_;
  CopyingDisk copying_;
  std::string bytes_;
};

std::string text(const absl::Status& status) {
  return std::string(status.message());
}

TEST_CASE("A flip of any byte of the header is found by a full load and by reading the header") {
  Subject subject(GENERATE(true, false));
  for (std::uint64_t offset = 0; offset < 4096; ++offset) {
    const absl::Status status = subject.with_flip(offset, offset % 8);
    INFO("offset " << offset << ": " << status);
    const Errc expected = offset < 8    ? Errc::kNotALapwingFile
                          : offset < 12 ? Errc::kAbiMismatch
                                        : Errc::kDamaged;
    REQUIRE(errc_of(status) == expected);
    REQUIRE_THAT(text(status), Contains(subject.path() + ": header at offset 0"));
  }
  REQUIRE(subject.load().ok());
}

TEST_CASE("A flip in any block is found and reported with the block and its offset") {
  Subject subject(GENERATE(true, false));
  SimRandom random(7);
  for (std::uint64_t block = 0; block < kBlocks; ++block) {
    const std::uint64_t begin = 4096 + block * 65'536;
    const std::uint64_t end = std::min(begin + 65'536, kEntriesEnd);
    for (const std::uint64_t offset :
         {begin, end - 1, begin + random.below(end - begin), begin + random.below(end - begin)}) {
      const absl::Status status = subject.with_flip(offset, static_cast<unsigned>(offset % 8));
      INFO("offset " << offset);
      REQUIRE(errc_of(status) == Errc::kDamaged);
      REQUIRE_THAT(text(status),
                   Contains(absl::StrCat(subject.path(), ": block ", block, " of 6 at offset ",
                                         begin, ": sum mismatch")));
    }
  }
  REQUIRE(subject.load().ok());
}

TEST_CASE("A flip of any byte of the padding or of the sums is found") {
  Subject subject(GENERATE(true, false));
  for (std::uint64_t offset = kEntriesEnd; offset < kFileBytes; ++offset) {
    const absl::Status status = subject.with_flip(offset, offset % 8);
    INFO("offset " << offset << ": " << status);
    REQUIRE(errc_of(status) == Errc::kDamaged);
    REQUIRE_THAT(text(status),
                 Contains(offset < kSumsOffset ? absl::StrCat("padding at offset ", kEntriesEnd)
                                               : absl::StrCat("sums at offset ", kSumsOffset)));
  }
  REQUIRE(subject.load().ok());
}

TEST_CASE("A file that was cut short or lengthened is found, wherever it ends") {
  Subject subject(GENERATE(true, false));
  std::vector<std::uint64_t> lengths{0, 1, 8, 4095, kSumsOffset - 4, kSumsOffset, kFileBytes - 8};
  for (std::uint64_t block = 0; block < kBlocks; ++block) {
    const std::uint64_t begin = 4096 + block * 65'536;
    lengths.insert(lengths.end(), {begin, begin + 1, begin + 12});
  }
  for (const std::uint64_t length : lengths) {
    const absl::Status status = subject.with_length(length);
    INFO("length " << length << ": " << status);
    REQUIRE(errc_of(status) == Errc::kDamaged);
    REQUIRE_THAT(text(status), Contains("was cut short"));
    if (length < 4096) continue;
    const std::string where = length < kEntriesEnd
                                  ? absl::StrCat("in block ", (length - 4096) / 65'536, " of 6")
                                  : "before the end of its sums";
    REQUIRE_THAT(text(status), Contains(absl::StrCat("ends at offset ", length, ", ", where)));
  }
  for (const std::uint64_t length : {kFileBytes + 1, kFileBytes + 8, 2 * kFileBytes}) {
    const absl::Status status = subject.with_length(length);
    REQUIRE(errc_of(status) == Errc::kDamaged);
    REQUIRE_THAT(text(status), Contains("something was appended"));
  }
  REQUIRE(subject.load().ok());
}

TEST_CASE("A header with a valid checksum and an impossible description is refused") {
  const auto header_with = [&](const std::function<void(CheckpointHeader&)>& change) {
    CheckpointHeader header = make_checkpoint_header(
        kDamagedFold.shape(), fixture_identity(kDamagedAsOf), 1, kEntries, 0);
    change(header);
    header.checksum = XXH3_64bits(&header, offsetof(CheckpointHeader, checksum));
    return errc_of(check_checkpoint_header(header, kFileBytes, "file"));
  };
  REQUIRE(header_with([](CheckpointHeader&) {}) == Errc::kOk);
  const std::vector<std::function<void(CheckpointHeader&)>> changes{
      [](CheckpointHeader& header) { header.header_bytes = 8192; },
      [](CheckpointHeader& header) { header.block_bytes = 4096; },
      [](CheckpointHeader& header) { header.block_bytes = 0; },
      [](CheckpointHeader& header) { header.entry_bytes = 0; },
      [](CheckpointHeader& header) { header.entry_bytes = 4097; },
      [](CheckpointHeader& header) { header.entry_count = 0; },
      [](CheckpointHeader& header) { header.entry_count = kEntries + 1; },
      // Products that wrap around to the file's size.
      [](CheckpointHeader& header) { header.entry_count += std::uint64_t{1} << 62; },
      [](CheckpointHeader& header) { header.entry_count = UINT64_MAX; },
      [](CheckpointHeader& header) { header.sums_offset += 8; },
      [](CheckpointHeader& header) { header.sequence = 0; },
      [](CheckpointHeader& header) { header.sequence = kSequenceMax + 1; },
      [](CheckpointHeader& header) { header.schema[0] = 0; },
      [](CheckpointHeader& header) { header.fold[0] = 0; },
      [](CheckpointHeader& header) { std::memset(header.fold, 'x', sizeof header.fold); },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    INFO("change " << i);
    REQUIRE(header_with(changes[i]) == Errc::kDamaged);
  }
}

}  // namespace
}  // namespace lapwing
