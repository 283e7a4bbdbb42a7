#include "subscribers/recorder/recording_files.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "os/posix_io.h"
#include "testing/recorder_fixture.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

constexpr Rotation kOneFile{};
constexpr Rotation kBySecond{.every = std::chrono::seconds(1)};  // 300 records a file
constexpr Sequence kPerSecond = 300;

struct OnDisk {
  TemporaryDirectory directory;
  PosixDisk disk;
  SimRandom random{1};
  std::string path = directory.file("es.dbn.zst");

  void record(const Rotation& rotation, Sequence last) {
    const absl::Status done = record_up_to(disk, recording_options(path, rotation), last, random);
    INFO(done);
    REQUIRE(done.ok());
  }
  std::vector<RecordedFile> files() { return read_series(disk, path); }
  std::string refusal(const Rotation& rotation) {
    const auto refused = RecordingFiles::prepare(disk, recording_options(path, rotation));
    REQUIRE(errc_of(refused.status()) == Errc::kInvalidArgument);
    return std::string(refused.status().message());
  }
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("A recording without rotation is one file with the feed's own metadata") {
  OnDisk on;
  on.record(kOneFile, 500);
  on.record(kOneFile, 1'000);
  const RecordedFile file = read_recorded(on.disk, on.path);
  CHECK(file.status.ok());
  CHECK(file.records.size() == 1'000);
  const std::string feed = mbo_metadata();
  CHECK(file.metadata == *dbn::parse_metadata(std::as_bytes(std::span(feed))));
  CHECK(on.files().empty());
}

TEST_CASE("A recording of nothing is an empty file, and a series of nothing is none") {
  OnDisk on;
  on.record(kOneFile, 0);
  CHECK(read_recorded(on.disk, on.path).records.empty());
  on.path = on.directory.file("series.dbn.zst");
  on.record(kBySecond, 0);
  CHECK(on.files().empty());
  on.record(kBySecond, 10);
  check_series(on.files(), 1, 10);
}

TEST_CASE("A recording that ended before there was a position leaves nothing to go on from") {
  OnDisk on;
  auto recording = prepared(on.disk, recording_options(on.path, kOneFile));
  REQUIRE(recording->finish(dbn::kSchemaMbo, StoredPosition{}).ok());
  CHECK(on.disk.list(on.directory.path()).value().empty());
  recording = prepared(on.disk, recording_options(on.path, kOneFile));
  CHECK_FALSE(recording->position());
}

TEST_CASE("Each period has its file, however the recording was cut into runs and batches") {
  OnDisk whole, in_runs;
  whole.record(kBySecond, 3'000);
  for (Sequence last = 7; last < 3'000; last += 111) {
    in_runs.record(kBySecond, last);
    // Also where a period ends, and an event is cut in two across runs.
    in_runs.record(kBySecond, (last + kPerSecond - 1) / kPerSecond * kPerSecond);
  }
  in_runs.record(kBySecond, 3'000);
  const auto files = whole.files();
  const auto others = in_runs.files();
  REQUIRE(files.size() == 10);
  REQUIRE(others.size() == 10);
  check_series(files, 1, 3'000);
  check_series(others, 1, 3'000);
  for (std::size_t i = 0; i < files.size(); ++i) {
    CHECK(files[i].records.size() == kPerSecond);
    CHECK(files[i].records == others[i].records);
    CHECK(files[i].name == others[i].name);
  }
  CHECK(files[0].name == "es.000001.20251120T150000Z.dbn.zst");
  CHECK(files[9].name == "es.000010.20251120T150009Z.dbn.zst");
}

TEST_CASE("A file that has reached its size is followed by another at the event's end") {
  OnDisk on;
  on.path = on.directory.file("es.dbn");
  on.record({.bytes = kRotateBytesMin}, 10'000);
  const auto files = on.files();
  check_series(files, 1, 10'000);
  REQUIRE(files.size() > 5);
  for (std::size_t i = 0; i + 1 < files.size(); ++i) {
    CHECK(files[i].bytes >= kRotateBytesMin);
    CHECK(files[i].bytes < kRotateBytesMin + kFeedEventRecords * sizeof(dbn::MboMsg));
  }
}

TEST_CASE("A record of an earlier period stays in the file that is open") {
  OnDisk on;
  auto recording = prepared(on.disk, recording_options(on.path, kBySecond));
  REQUIRE(append(*recording, 301, 303).ok());
  REQUIRE(append(*recording, 1, 300).ok());
  REQUIRE(append(*recording, 304, 600).ok());
  CHECK(recording->files() == 1);
  REQUIRE(append(*recording, 601, 603).ok());
  CHECK(recording->files() == 2);
}

TEST_CASE("An event without end is cut in two in the end") {
  OnDisk on;
  on.path = on.directory.file("es.dbn");
  auto recording = prepared(on.disk, recording_options(on.path, {.bytes = kRotateBytesMin}));
  const std::string record = feed_records(1, 1);  // not LAST
  std::string bytes;
  for (int i = 0; i < 1'000; ++i) bytes += record;
  const RecordBatch batch{dbn::kSchemaMbo, std::as_bytes(std::span(bytes)), feed_position(1)};
  std::uint64_t records = 0;
  for (; recording->files() < 2; records += 1'000) {
    REQUIRE(recording->append(batch).ok());
    REQUIRE(recording->commit(feed_position(1)).ok());
    REQUIRE(records < 2 * kEventRecordsMax);
  }
  CHECK(records > kEventRecordsMax);
}

TEST_CASE("A recording that begins with a state is continued behind it, or begins with it again") {
  OnDisk on;
  const auto append_state = [](RecordingFiles& recording) {
    const std::string bytes = feed_records(4, 600);
    return recording.append_state(
        {dbn::kSchemaMbo, std::as_bytes(std::span(bytes)), feed_position(5'000)});
  };
  {
    auto recording = prepared(on.disk, recording_options(on.path, kBySecond));
    REQUIRE(append_state(*recording).ok());
    CHECK(recording->files() == 1);
  }
  auto recording = prepared(on.disk, recording_options(on.path, kBySecond));
  CHECK_FALSE(recording->position());  // nothing was committed
  REQUIRE(append_state(*recording).ok());
  REQUIRE(recording->commit(feed_position(5'000)).ok());
  recording = prepared(on.disk, recording_options(on.path, kBySecond));
  REQUIRE(recording->position());
  CHECK(recording->position()->sequence == 5'000);
  CHECK(recording->records() == 600);
  const auto files = on.files();
  REQUIRE(files.size() == 1);
  CHECK(files[0].records.size() == 600);
  CHECK(files[0].metadata.start == feed_record(603).ts_recv);
}

TEST_CASE("Other limits hold from the next run on, and one file does not become a series") {
  OnDisk on;
  on.record(kBySecond, 450);
  CHECK(contains(on.refusal(kOneFile), "is a series of files"));
  on.record({.every = std::chrono::seconds(2)}, 3'000);
  const auto files = on.files();
  check_series(files, 1, 3'000);
  REQUIRE(files.size() == 6);
  CHECK(files[1].records.size() == kPerSecond);  // began in the second second, ends with it
  CHECK(files[2].records.size() == 2 * kPerSecond);
  on.path = on.directory.file("one.dbn");
  on.record(kOneFile, 10);
  CHECK(contains(on.refusal(kBySecond), "is one file"));
}

TEST_CASE("Files that are complete may be moved away, even the last one") {
  OnDisk on;
  on.record(kBySecond, 450);
  auto files = on.files();
  REQUIRE(files.size() == 2);
  for (const auto& file : files) std::filesystem::remove(on.directory.file(file.name));
  on.record(kBySecond, 900);
  files = on.files();
  REQUIRE(files.size() == 2);
  CHECK(files[0].name == "es.000003.20251120T150001Z.dbn.zst");
  CHECK(files[0].records.front() == 451);
  CHECK(files[1].records.back() == 900);
}

TEST_CASE("Files of others are neither taken for a recording's nor written over") {
  OnDisk on;
  const std::string stranger = on.directory.file("es.000002.20251120T150001Z.dbn.zst");
  write_file(stranger, "mine");
  CHECK(contains(on.refusal(kBySecond), stranger));
  std::filesystem::remove(stranger);
  on.record(kBySecond, 30);
  write_file(stranger, "mine");
  for (int i = 0; i < 2; ++i) {
    const absl::Status stopped =
        record_up_to(on.disk, recording_options(on.path, kBySecond), 900, on.random);
    CHECK(errc_of(stopped) == Errc::kInvalidArgument);
    CHECK(contains(std::string(stopped.message()), stranger));
    CHECK(read_file(stranger) == "mine");
  }
  std::filesystem::remove(stranger);
  on.record(kBySecond, 900);
  check_series(on.files(), 1, 900);
}

TEST_CASE("A series holds one schema, whichever run brings another") {
  OnDisk on;
  on.record(kBySecond, 30);
  auto recording = prepared(on.disk, recording_options(on.path, kBySecond));
  const std::string trade(sizeof(dbn::TradeMsg), '\0');
  const RecordBatch batch{dbn::kSchemaTrades, std::as_bytes(std::span(trade)), feed_position(31)};
  CHECK(errc_of(recording->append(batch)) == Errc::kRecordSize);
  CHECK(errc_of(append(*recording, 31, 33)) == Errc::kRecordSize);  // the first error is final
  recording = prepared(on.disk, recording_options(on.path, kBySecond));
  REQUIRE(append(*recording, 31, 33).ok());
  CHECK(errc_of(recording->append(batch)) == Errc::kRecordSize);
}

TEST_CASE("A position that is none of ours is refused, and nothing is touched") {
  OnDisk on;
  on.record(kBySecond, 30);
  write_file(position_path(on.path), GENERATE("", "{}", "[1]", "{\"journal\":\"zz\"}"));
  const auto refused = RecordingFiles::prepare(on.disk, recording_options(on.path, kBySecond));
  CHECK(errc_of(refused.status()) == Errc::kDamaged);
  check_series(on.files(), 1, 30);
}

TEST_CASE("Bytes that are no whole records are refused, and nothing of them is recorded") {
  const TemporaryDirectory directory;
  PosixDisk disk;
  const RecordingFilesOptions options = recording_options(directory.file("out.dbn"), {});
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{55}, std::size_t{111}}) {
    const std::vector<std::byte> cut(bytes);
    const RecordBatch batch{dbn::kSchemaMbo, cut, feed_position(2)};
    CHECK(errc_of(prepared(disk, options)->append(batch)) == Errc::kRecordSize);
    CHECK(errc_of(prepared(disk, options)->append_state(batch)) == Errc::kRecordSize);
    CHECK_FALSE(std::filesystem::exists(options.path));
  }
}

}  // namespace lapwing
