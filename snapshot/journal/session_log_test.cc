#include "snapshot/journal/session_log.h"

#include <xxhash.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "lapwing/error.h"
#include "os/posix_io.h"
#include "proto/text_field.h"
#include "testing/sim_disk.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

Id128 id(std::uint8_t tag) {
  Id128 made;
  made.bytes.fill(tag);
  return made;
}

const Id128 kJournal = id(1);
const Id128 kFirst = id(11);
const Id128 kSecond = id(12);

SessionEntry begin_entry(const Id128& session, Sequence first, const Id128& journal = kJournal) {
  SessionEntry entry{};
  entry.kind = SessionEntryKind::kBegin;
  entry.journal_id = journal;
  entry.session_id = session;
  entry.boot_id = id(99);
  entry.first = first;
  entry.record_bytes = 56;
  entry.slot_bytes = 64;
  entry.segment_slots = 1024;
  set_text(entry.schema, "bytes");
  set_text(entry.ring_path, "/dev/shm/lapwing-0/ring");
  return entry;
}

SessionEntry reserve_entry(const Id128& session, Sequence through) {
  SessionEntry entry{};
  entry.kind = SessionEntryKind::kReserve;
  entry.journal_id = kJournal;
  entry.session_id = session;
  entry.through = through;
  return entry;
}

SessionEntry end_entry(const Id128& session, Sequence last, SessionEnd how) {
  SessionEntry entry{};
  entry.kind = SessionEntryKind::kEnd;
  entry.journal_id = kJournal;
  entry.session_id = session;
  entry.last = last;
  entry.how = how;
  return entry;
}

SessionEntry cut_entry(const Id128& session, Sequence last, Sequence through) {
  SessionEntry entry = end_entry(session, last, SessionEnd::kCut);
  entry.void_first = last + 1;
  entry.void_last = through;
  return entry;
}

// A log with two sessions and six entries. The first session was cut with a
// void, and the second is open.
class Sessions {
 public:
  Sessions() {
    auto log = SessionLog::open(disk, directory.path());
    REQUIRE(log.ok());
    for (const SessionEntry& entry :
         {begin_entry(kFirst, 1), reserve_entry(kFirst, 640), cut_entry(kFirst, 100, 640),
          begin_entry(kSecond, 641), reserve_entry(kSecond, 1280), reserve_entry(kSecond, 2560)}) {
      REQUIRE(log->append(entry).ok());
    }
  }

  std::string path(int copy) const {
    return directory.file("sessions") + (copy == 0 ? "" : kCopySuffix);
  }
  std::string bytes(int copy) const {
    std::ifstream in(path(copy), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  void overwrite(int copy, std::uint64_t offset, const std::string& what) const {
    std::fstream out(path(copy), std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(offset));
    out.write(what.data(), static_cast<std::streamsize>(what.size()));
  }
  void flip(int copy, std::uint64_t offset, int bit) const {
    const char byte = bytes(copy)[offset];
    overwrite(copy, offset, std::string(1, static_cast<char>(byte ^ (1 << bit))));
  }
  absl::StatusOr<SessionLog> open() { return SessionLog::open(disk, directory.path()); }
  absl::StatusOr<SessionLog> read() { return SessionLog::open_read_only(disk, directory.path()); }

  TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  PosixDisk disk;
};

constexpr std::uint64_t kEntries = 6;

void require_the_two_sessions(const SessionLog& log) {
  REQUIRE(log.sessions().size() == 2);
  const SessionRecord& first = log.sessions()[0];
  REQUIRE(first.begin.session_id == kFirst);
  REQUIRE(first.reserved_through == 640);
  REQUIRE(first.end);
  REQUIRE(first.end->last == 100);
  REQUIRE(log.last()->begin.session_id == kSecond);
  REQUIRE(log.last()->reserved_through == 2560);
  REQUIRE_FALSE(log.last()->end);
}

}  // namespace

TEST_CASE("A reader with a limit refuses either file if it is larger") {
  const int large = GENERATE(0, 1);
  TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  PosixDisk disk;
  REQUIRE(SessionLog::open(disk, directory.path()).ok());
  constexpr std::uint64_t kMax = 16 * 1024 * 1024;
  REQUIRE(SessionLog::open_read_only(disk, directory.path(), kMax).ok());
  const std::string name = large == 0 ? "sessions" : "sessions.copy";
  std::filesystem::resize_file(directory.file(name), kMax + 1);
  CHECK(errc_of(SessionLog::open_read_only(disk, directory.path(), kMax).status()) == Errc::kLimit);
  CHECK(SessionLog::open_read_only(disk, directory.path()).ok());
}

TEST_CASE("A new session log is empty, and without creation there is none") {
  TemporaryDirectory directory;
  PosixDisk disk;
  REQUIRE(errc_of(SessionLog::open_read_only(disk, directory.path()).status()) == Errc::kNotFound);
  const auto log = SessionLog::open(disk, directory.path());
  REQUIRE(log.ok());
  REQUIRE(log->last() == nullptr);
  REQUIRE(SessionLog::open_read_only(disk, directory.path())->sessions().empty());
}

TEST_CASE("Appended rows are read back by both writer and reader") {
  Sessions files;
  require_the_two_sessions(*files.open());
  require_the_two_sessions(*files.read());
  REQUIRE(files.bytes(0) == files.bytes(1));
  REQUIRE(files.read()->find(kSecond)->first() == 641);
  REQUIRE(files.read()->find(id(77)) == nullptr);
  REQUIRE(files.read()->ring_path() == "/dev/shm/lapwing-0/ring");
  REQUIRE(files.read()->last()->begin.wall_ns > 0);
}

TEST_CASE("A session has the index and the hash of its begin row and of its end row") {
  Sessions files;
  const std::string bytes = files.bytes(0);
  const auto hash_of = [&](std::size_t row) { return XXH3_64bits(bytes.data() + row * 512, 512); };
  const auto log = files.read();
  const SessionRecord& first = log->sessions()[0];
  CHECK(first.row_index == 0);
  CHECK(first.row_hash == hash_of(0));
  CHECK(first.end_row_index == 2);
  CHECK(first.end_row_hash == hash_of(2));
  const SessionRecord& second = log->sessions()[1];
  CHECK(second.row_index == 3);
  CHECK(second.row_hash == hash_of(3));
  CHECK(second.end_row_index == 0);
  CHECK(second.end_row_hash == 0);
}

TEST_CASE("A void is found by every sequence in it, and by no other") {
  Sessions files;
  const auto log = files.read();
  Sequence first = 0;
  Sequence last = 0;
  REQUIRE_FALSE(log->in_void(kJournal, 100, first, last));
  REQUIRE(log->in_void(kJournal, 101, first, last));
  REQUIRE(first == 101);
  REQUIRE(last == 640);
  REQUIRE(log->in_void(kJournal, 640, first, last));
  REQUIRE_FALSE(log->in_void(kJournal, 641, first, last));
  REQUIRE_FALSE(log->in_void(id(2), 101, first, last));
}

TEST_CASE("A reader that refreshes sees rows appended meanwhile") {
  Sessions files;
  auto writer = files.open();
  auto reader = files.read();
  REQUIRE(writer->append(end_entry(kSecond, 2000, SessionEnd::kClosed)).ok());
  REQUIRE_FALSE(reader->last()->end);
  REQUIRE(reader->refresh().ok());
  REQUIRE(reader->last()->end->last == 2000);
}

TEST_CASE("A flipped bit in one copy loses nothing, and opening for writing repairs it") {
  Sessions files;
  const std::string whole = files.bytes(0);
  for (int copy = 0; copy < 2; ++copy) {
    for (std::uint64_t offset = 0; offset < kEntries * kSessionEntryBytes; offset += 7) {
      const int bit = static_cast<int>(offset % 8);
      files.flip(copy, offset, bit);
      const auto reader = files.read();
      REQUIRE(reader.ok());
      require_the_two_sessions(*reader);
      REQUIRE(reader->copy_defects().size() == 1);
      REQUIRE(files.bytes(copy) != whole);
      require_the_two_sessions(*files.open());
      REQUIRE(files.bytes(copy) == whole);
    }
  }
}

TEST_CASE("The same entry broken in both copies is damage, named, and changes nothing") {
  Sessions files;
  for (std::uint64_t index = 0; index < kEntries; ++index) {
    const std::uint64_t offset = index * kSessionEntryBytes;
    files.flip(0, offset + 20, 3);
    files.flip(1, offset + 70, 5);
    const std::string before[] = {files.bytes(0), files.bytes(1)};
    for (const absl::Status& status : {files.open().status(), files.read().status()}) {
      REQUIRE(errc_of(status) == Errc::kDamaged);
      const std::string text(status.message());
      CHECK(text.find(files.path(0)) != std::string::npos);
      CHECK(text.find("entry " + std::to_string(index)) != std::string::npos);
      CHECK(text.find("offset " + std::to_string(offset)) != std::string::npos);
      CHECK(text.find("lapwing repair") != std::string::npos);
    }
    REQUIRE(files.bytes(0) == before[0]);
    REQUIRE(files.bytes(1) == before[1]);
    files.flip(0, offset + 20, 3);
    files.flip(1, offset + 70, 5);
  }
  require_the_two_sessions(*files.open());
}

TEST_CASE("An entry that was lost from both copies before a later one is damage") {
  Sessions files;
  // The fifth is a reservation. Without it, the rest would still be valid.
  const std::uint64_t index = GENERATE(0u, 1u, 2u, 3u, 4u);
  files.overwrite(0, index * kSessionEntryBytes, std::string(kSessionEntryBytes, '\0'));
  require_the_two_sessions(*files.read());
  files.overwrite(1, index * kSessionEntryBytes, std::string(kSessionEntryBytes, '\0'));
  REQUIRE(errc_of(files.read().status()) == Errc::kDamaged);
}

// A petabyte hole uses no disk space, but takes days to read.
TEST_CASE("A log beyond the maximum size is damage, and is not read") {
  Sessions files;
  const int copy = GENERATE(0, 1);
  constexpr std::uint64_t kBytesMax =
      (kSessionEntriesMax + kSessionEntriesAhead) * kSessionEntryBytes;
  std::filesystem::resize_file(files.path(copy), std::uint64_t{1} << 50);
  for (const absl::Status& status : {files.read().status(), files.open().status()}) {
    INFO(status);
    CHECK(errc_of(status) == Errc::kDamaged);
    CHECK_THAT(std::string(status.message()), Catch::Contains(std::to_string(kBytesMax)));
  }
}

TEST_CASE("A last entry in only the first copy counts: its writer died before the second") {
  Sessions files;
  files.overwrite(1, 5 * kSessionEntryBytes, std::string(kSessionEntryBytes, '\0'));
  const auto reader = files.read();
  require_the_two_sessions(*reader);
  REQUIRE(reader->copy_defects().size() == 1);
  REQUIRE(reader->copy_defects()[0].copy == 1);
  REQUIRE(reader->copy_defects()[0].missing);
  require_the_two_sessions(*files.open());
  REQUIRE(files.bytes(0) == files.bytes(1));
}

TEST_CASE("A copy that is truncated, empty or missing is repaired from the other") {
  Sessions files;
  const std::string whole = files.bytes(0);
  for (int copy = 0; copy < 2; ++copy) {
    for (const std::uint64_t size : {0u, 1u, 511u, 512u, 2000u, 6u * 512u - 1}) {
      std::filesystem::resize_file(files.path(copy), size);
      require_the_two_sessions(*files.read());
      require_the_two_sessions(*files.open());
      // If the last byte is zero by chance, the entry is valid without it, because an entry is read
      // with zeros after the end of the file.
      std::string healed = files.bytes(copy);
      healed.resize(kEntries * kSessionEntryBytes);
      REQUIRE(healed == whole.substr(0, kEntries * kSessionEntryBytes));
    }
    std::filesystem::remove(files.path(copy));
    require_the_two_sessions(*files.read());
    require_the_two_sessions(*files.open());
    require_the_two_sessions(*files.read());
  }
}

TEST_CASE("A missing or empty log next to segments is damage, and nothing is created") {
  const bool truncate = GENERATE(false, true);
  Sessions sessions;
  const std::string journal = sessions.directory.file(kJournal.hex());
  std::filesystem::create_directory(journal);
  for (int copy = 0; copy < 2; ++copy) {
    if (truncate) {
      std::filesystem::resize_file(sessions.path(copy), 0);
    } else {
      std::filesystem::remove(sessions.path(copy));
    }
  }
  REQUIRE(errc_of(sessions.read().status()) == (truncate ? Errc::kOk : Errc::kNotFound));
  std::ofstream(journal + "/00000000000000000000.jnl") << "a segment";
  for (const absl::Status& status : {sessions.open().status(), sessions.read().status()}) {
    REQUIRE(errc_of(status) == Errc::kDamaged);
    REQUIRE(status.message().find(sessions.path(0)) != std::string::npos);
    REQUIRE(status.message().find(journal) != std::string::npos);
    REQUIRE(status.message().find("lapwing repair") != std::string::npos);
  }
  REQUIRE(std::filesystem::exists(sessions.path(0)) == truncate);
}

TEST_CASE("An open log detects which of its files has lost its name") {
  Sessions sessions;
  const auto log = sessions.open();
  REQUIRE(log->lost_names().empty());
  std::filesystem::remove(sessions.path(1));
  REQUIRE(log->lost_names() == std::vector<std::string>{sessions.path(1)});
  sessions.disk.anchor(sessions.directory.path());
  std::filesystem::rename(sessions.path(0), sessions.path(1));
  REQUIRE(log->lost_names().size() == 2);
}

TEST_CASE("Two valid copies that contradict each other are damage") {
  Sessions files;
  Sessions others;
  REQUIRE(files.open()->append(end_entry(kSecond, 2000, SessionEnd::kClosed)).ok());
  REQUIRE(others.open()->append(end_entry(kSecond, 2001, SessionEnd::kClosed)).ok());
  files.overwrite(1, 0, files.bytes(0).substr(0, 6 * 512) + others.bytes(0).substr(6 * 512, 512));
  REQUIRE(errc_of(files.read().status()) == Errc::kDamaged);
}

TEST_CASE("An entry that cannot follow is refused before it is written") {
  Sessions files;
  auto log = files.open();
  const std::string before = files.bytes(0);
  SessionEntry void_without_cut = cut_entry(kSecond, 700, 2560);
  void_without_cut.how = SessionEnd::kClosed;
  SessionEntry void_apart = cut_entry(kSecond, 700, 2560);
  void_apart.void_first = 702;
  for (const SessionEntry& entry : {
           begin_entry(id(13), 2561),                         // the second session is open
           reserve_entry(kSecond, 2560),                      // reserves nothing
           reserve_entry(kSecond, 2561),                      // not whole blocks
           reserve_entry(kFirst, 5120),                       // another session
           end_entry(kSecond, 639, SessionEnd::kClosed),      // before its first
           end_entry(kSecond, 2561, SessionEnd::kRecovered),  // beyond its reservation
           end_entry(kSecond, 700, SessionEnd::kNone),
           void_without_cut,
           void_apart,
           SessionEntry{},
       }) {
    REQUIRE(errc_of(log->append(entry)) == Errc::kInvalidArgument);
  }
  REQUIRE(files.bytes(0) == before);
}

TEST_CASE("A session begins where the previous one determines, or with a new journal at 1") {
  Sessions files;
  auto log = files.open();
  REQUIRE(log->append(cut_entry(kSecond, 700, 2560)).ok());
  SessionEntry wide = begin_entry(id(13), 2561);
  wide.record_bytes = 80;
  wide.slot_bytes = 128;
  SessionEntry odd = begin_entry(id(13), 2561);
  odd.slot_bytes = 128;
  for (const SessionEntry& entry :
       {begin_entry(id(13), 701), begin_entry(id(13), 2562), begin_entry(kFirst, 2561), wide, odd,
        begin_entry(id(13), 2561, id(2)), begin_entry(Id128{}, 2561)}) {
    REQUIRE(errc_of(log->append(entry)) == Errc::kInvalidArgument);
  }
  SECTION("the same journal goes on") {
    REQUIRE(log->append(begin_entry(id(13), 2561)).ok());
  }
  SECTION("a new journal begins, and the old one is never continued") {
    REQUIRE(log->append(begin_entry(id(13), 1, id(2))).ok());
    SessionEntry end = end_entry(id(13), 0, SessionEnd::kClosed);
    end.journal_id = id(2);
    REQUIRE(log->append(end).ok());
    REQUIRE_FALSE(log->append(begin_entry(id(14), 2561)).ok());
  }
  log = absl::UnavailableError("closed: there is one writer at a time");
  REQUIRE(files.open().ok());
}

TEST_CASE("A log that has a writer refuses another one, by either file, and is not changed") {
  Sessions files;
  auto log = files.open();
  const auto open_now = [&] {
    return SessionLog::open(files.disk, files.directory.path(), kSessionsFileName, 0);
  };
  REQUIRE(errc_of(open_now().status()) == Errc::kInUse);
  const std::string removed = files.path(GENERATE(0, 1));
  std::filesystem::remove(removed);
  CHECK(errc_of(open_now().status()) == Errc::kInUse);
  CHECK_FALSE(std::filesystem::exists(removed));
  CHECK(files.read().ok());
  log = absl::UnavailableError("closed");
  CHECK(open_now().ok());
}

TEST_CASE("A failed journal is not continued") {
  Sessions files;
  auto log = files.open();
  REQUIRE(log->append(end_entry(kSecond, 900, SessionEnd::kFailed)).ok());
  REQUIRE_FALSE(log->append(begin_entry(id(13), 901)).ok());
  REQUIRE(log->append(begin_entry(id(13), 1, id(2))).ok());
}

TEST_CASE("On a full disk there is room for reservations and, at every length, for an end") {
  for (Sequence reservations = 1; reservations <= 300; ++reservations) {
    INFO(reservations << " reservations");
    SimDisk disk("sim", 1);
    auto log = SessionLog::open(disk, "sim");
    REQUIRE(log.ok());
    REQUIRE(log->append(begin_entry(kFirst, 1)).ok());
    Sequence n = 1;
    for (; n <= reservations; ++n) REQUIRE(log->append(reserve_entry(kFirst, n * 640)).ok());
    disk.set_capacity(0);
    absl::Status status;
    for (; status.ok(); ++n) status = log->append(reserve_entry(kFirst, n * 640));
    REQUIRE(errc_of(status) == Errc::kNoSpace);
    REQUIRE(n - reservations >= kSessionEntriesAhead - 2);
    REQUIRE(log->append(end_entry(kFirst, 100, SessionEnd::kFailed)).ok());
  }
}

TEST_CASE("Hundreds of entries outgrow the first allocation and are all read") {
  Sessions files;
  auto log = files.open();
  const std::uint64_t before = std::filesystem::file_size(files.path(0));
  for (Sequence through = 5120; through <= 300 * 2560; through += 2560) {
    REQUIRE(log->append(reserve_entry(kSecond, through)).ok());
  }
  REQUIRE(std::filesystem::file_size(files.path(0)) > before);
  REQUIRE(files.read()->last()->reserved_through == 300 * 2560);
}

TEST_CASE("A journal that began with version 1 is continued in version 1, and a new one in 2") {
  TemporaryDirectory directory;
  PosixDisk disk;
  auto log = SessionLog::open(disk, directory.path());
  SessionEntry old = begin_entry(kFirst, 1);
  old.version = 1;
  old.metadata_hash = old.source_fingerprint = 5;
  REQUIRE(log->append(old).ok());
  REQUIRE(log->append(end_entry(kFirst, 0, SessionEnd::kClosed)).ok());
  REQUIRE(log->append(begin_entry(kSecond, 1)).ok());
  REQUIRE(log->append(end_entry(kSecond, 0, SessionEnd::kFailed)).ok());
  REQUIRE(log->append(begin_entry(id(13), 1, id(2))).ok());
  const auto read = SessionLog::open_read_only(disk, directory.path());
  REQUIRE(read->sessions().size() == 3);
  CHECK(read->sessions()[0].begin.version == 1);
  CHECK(read->sessions()[0].begin.metadata_hash == 0);
  CHECK(read->sessions()[1].begin.version == 1);
  CHECK(read->sessions()[2].begin.version == 2);
}

TEST_CASE("A row of version 1 cannot end as upstream, but one of version 2 can, with a void") {
  TemporaryDirectory directory;
  PosixDisk disk;
  auto log = SessionLog::open(disk, directory.path());
  SessionEntry begin = begin_entry(kFirst, 1);
  begin.version = GENERATE(1u, 2u);
  REQUIRE(log->append(begin).ok());
  REQUIRE(log->append(reserve_entry(kFirst, 640)).ok());
  SessionEntry end = cut_entry(kFirst, 100, 640);
  end.how = SessionEnd::kUpstream;
  CHECK(log->append(end).ok() == (begin.version == 2));
}

TEST_CASE("A row that does not follow from the previous one is damage") {
  Sessions files;
  Sessions others;
  REQUIRE(files.open()->append(end_entry(kSecond, 2000, SessionEnd::kClosed)).ok());
  REQUIRE(others.open()->append(end_entry(kSecond, 2000, SessionEnd::kClosed)).ok());
  // The same row after rows with different times: it differs only in the previous row's hash.
  for (int copy = 0; copy < 2; ++copy) {
    files.overwrite(copy, 6 * 512, others.bytes(0).substr(6 * 512, 512));
  }
  const absl::Status status = files.read().status();
  REQUIRE(errc_of(status) == Errc::kDamaged);
  CHECK(status.message().find("entry 6 ") != std::string::npos);
  CHECK(status.message().find("row before") != std::string::npos);
}

namespace {

constexpr std::uint64_t kManySessions = 700;  // three rows each

Id128 numbered(std::uint64_t n) {
  Id128 made = id(200);
  std::memcpy(made.bytes.data(), &n, sizeof n);
  return made;
}

// Appends ended sessions of ten records each.
void append_many(SessionLog& log) {
  for (std::uint64_t n = 0; n < kManySessions; ++n) {
    REQUIRE(log.append(begin_entry(numbered(n), 10 * n + 1)).ok());
    REQUIRE(log.append(reserve_entry(numbered(n), ((10 * n + 9) / 64 + 1) * 64)).ok());
    REQUIRE(log.append(end_entry(numbered(n), 10 * n + 10, SessionEnd::kClosed)).ok());
  }
}

void require_shortened(const SessionLog& log, std::uint64_t dropped) {
  REQUIRE(log.sessions().size() == kManySessions - dropped);
  REQUIRE(log.dropped() == 3 * dropped);
  REQUIRE(log.entry_count() == 3 * kManySessions);
  REQUIRE(log.sessions().front().first() == 10 * dropped + 1);
  REQUIRE(log.find(numbered(dropped - 1)) == nullptr);
  REQUIRE(log.find(numbered(kManySessions - 1))->end->last == 10 * kManySessions);
  REQUIRE(log.sessions_of(kJournal).size() == kManySessions - dropped);
}

}  // namespace

TEST_CASE("A log that was shortened is read from its first session, and appended to") {
  TemporaryDirectory directory;
  PosixDisk disk;
  auto writer = SessionLog::open(disk, directory.path());
  append_many(*writer);
  auto early = SessionLog::open_read_only(disk, directory.path());
  REQUIRE(writer->forget_before(500).ok());
  require_shortened(*writer, 500);
  require_shortened(*SessionLog::open_read_only(disk, directory.path()), 500);
  const std::string path = directory.file(kSessionsFileName);
  CHECK(std::filesystem::file_size(path) >= 3 * kManySessions * kSessionEntryBytes);

  SECTION("its dropped rows take no space") {
    auto file = open_file(disk, path, {});
    CHECK(*disk.allocated_bytes(file->get()) < 250 * 3 * kSessionEntryBytes + kSessionsGrowthBytes);
  }
  SECTION("a reader that had come further keeps what it has") {
    REQUIRE(writer->append(begin_entry(id(13), 10 * kManySessions + 1)).ok());
    REQUIRE(early->refresh().ok());
    CHECK(early->sessions().size() == kManySessions + 1);
    CHECK(early->find(numbered(3)) != nullptr);
  }
  SECTION("the chain of hashes continues") {
    REQUIRE(writer->append(begin_entry(id(13), 10 * kManySessions + 1)).ok());
    CHECK(SessionLog::open_read_only(disk, directory.path())->last()->begin.session_id == id(13));
  }
  SECTION("it is shortened again") {
    REQUIRE(writer->forget_before(150).ok());  // 650 in total; fewer rows than the minimum
    require_shortened(*writer, 500);
    writer = absl::UnavailableError("closed");
    writer = SessionLog::open(disk, directory.path());
    for (std::uint64_t n = 0; n < 1000; ++n) {
      REQUIRE(writer->append(begin_entry(numbered(10'000 + n), 10 * kManySessions + 1)).ok());
      REQUIRE(
          writer->append(end_entry(numbered(10'000 + n), 10 * kManySessions, SessionEnd::kClosed))
              .ok());
    }
    REQUIRE(writer->forget_before(1000).ok());
    CHECK(writer->sessions().size() == 200);
    CHECK(SessionLog::open_read_only(disk, directory.path())->sessions().size() == 200);
    CHECK(writer->forget_before(200).ok());  // the last session stays
    CHECK(writer->sessions().size() == 200);
  }
  SECTION("a copy of it is shortened alike") {
    TemporaryDirectory elsewhere;
    auto copy = SessionLog::open(disk, elsewhere.path());
    REQUIRE(copy->copy_sessions(*writer).ok());
    require_shortened(*SessionLog::open_read_only(disk, elsewhere.path()), 500);
    CHECK(copy->ring_path() == writer->ring_path());
  }
}

TEST_CASE("A reader that is behind the dropped rows starts over") {
  Sessions files;
  auto reader = files.read();
  auto writer = files.open();
  REQUIRE(writer->append(end_entry(kSecond, 2559, SessionEnd::kClosed)).ok());
  for (std::uint64_t n = 0; n < 600; ++n) {
    REQUIRE(writer->append(begin_entry(numbered(n), 2560)).ok());
    REQUIRE(writer->append(end_entry(numbered(n), 2559, SessionEnd::kClosed)).ok());
  }
  REQUIRE(writer->forget_before(601).ok());
  REQUIRE(reader->refresh().ok());
  CHECK(reader->sessions().size() == 1);
  CHECK(reader->find(kFirst) == nullptr);
}

TEST_CASE("A kill between the two copies of a shortened log's first row loses nothing") {
  TemporaryDirectory directory;
  PosixDisk disk;
  std::string before;
  const std::string paths[] = {directory.file("sessions"), directory.file("sessions.copy")};
  const int lagging = GENERATE(0, 1);
  {
    auto writer = SessionLog::open(disk, directory.path());
    append_many(*writer);
    std::ifstream in(paths[lagging], std::ios::binary);
    before.assign(std::istreambuf_iterator<char>(in), {});
    REQUIRE(writer->forget_before(500).ok());
  }
  std::ofstream(paths[lagging], std::ios::binary) << before;
  const auto reader = SessionLog::open_read_only(disk, directory.path());
  INFO(reader.status());
  require_shortened(*reader, 500);
  REQUIRE(reader->copy_defects().size() == 1);
  require_shortened(*SessionLog::open(disk, directory.path()), 500);
  CHECK(SessionLog::open_read_only(disk, directory.path())->copy_defects().empty());
}

TEST_CASE("A log is shortened correctly whichever write or sync a power cut undoes") {
  for (std::uint64_t cut = 0;; ++cut) {
    INFO("cut after " << cut << " operations");
    SimDisk disk("sim", cut + 1);
    auto writer = SessionLog::open(disk, "sim");
    append_many(*writer);
    disk.stop_after(cut);
    const absl::Status done = writer->forget_before(500);
    const bool is_through = done.ok();
    writer = absl::UnavailableError("gone");
    disk.power_cut();
    const auto after = SessionLog::open(disk, "sim");
    INFO(after.status());
    REQUIRE(after.ok());
    REQUIRE(after->find(numbered(kManySessions - 1)) != nullptr);
    if (after->dropped() != 0 || is_through) require_shortened(*after, 500);
    if (is_through) break;
  }
}

}  // namespace lapwing
