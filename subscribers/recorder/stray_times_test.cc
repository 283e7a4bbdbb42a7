// A series that rotates by time, with a feed in which some times are wrong.
#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

#include "testing/recorder_fixture.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kHourNs = 3'600'000'000'000;
constexpr std::uint64_t kYearNs = 365 * 24 * kHourNs;
constexpr std::uint64_t kMinuteNs = 60'000'000'000;
constexpr char kStrayRoot[] = "/disk";

using Times = std::vector<std::uint64_t>;

RecordingFilesOptions hourly(std::uint64_t bytes = 0) {
  return recording_options(std::string(kStrayRoot) + "/es.dbn", {bytes, std::chrono::hours(1)});
}

// One record per minute, each its own event.
Times minutes(std::uint64_t count) {
  Times times;
  for (std::uint64_t i = 0; i < count; ++i) times.push_back(kFeedBeginNs + i * kMinuteNs);
  return times;
}

absl::Status append_times(RecordingFiles& recording, const Times& times, Sequence first,
                          Sequence last) {
  std::string bytes;
  for (Sequence n = first; n <= last; ++n) {
    dbn::MboMsg record = mbo_record(n);
    record.ts_recv = times[n - 1];
    record.flags = dbn::kFlagLast;
    bytes.append(reinterpret_cast<const char*>(&record), sizeof record);
  }
  return recording.append(feed_batch(bytes, last));
}

// Records from the recording's position to the end, like record_up_to().
absl::Status record(Disk& disk, const RecordingFilesOptions& options, const Times& times,
                    SimRandom& random) {
  auto recording = RecordingFiles::prepare(disk, options);
  if (!recording.ok()) return recording.status();
  Sequence n = (*recording)->position() ? (*recording)->position()->sequence : 0;
  while (n < times.size()) {
    const Sequence end = std::min<Sequence>(times.size(), n + 1 + random.below(20));
    if (absl::Status done = append_times(**recording, times, n + 1, end); !done.ok()) return done;
    n = end;
    if (!random.chance(30)) continue;
    if (absl::Status done = (*recording)->commit(feed_position(n)); !done.ok()) return done;
  }
  return (*recording)->finish(feed_batch("", n));
}

struct NameAndRecords {
  std::string name;
  std::uint64_t start = 0;  // from the metadata
  std::vector<Sequence> records;

  friend bool operator==(const NameAndRecords&, const NameAndRecords&) = default;
};

std::vector<NameAndRecords> series(Disk& disk, const RecordingFilesOptions& options) {
  std::vector<NameAndRecords> files;
  for (RecordedFile& file : read_series(disk, options.path)) {
    INFO(file.name << ": " << file.status);
    REQUIRE(file.status.ok());
    files.push_back({file.name, file.metadata.start, std::move(file.records)});
  }
  return files;
}

std::vector<NameAndRecords> recorded_times(const Times& times,
                                           const RecordingFilesOptions& options = hourly()) {
  SimDisk disk(kStrayRoot, 1);
  SimRandom random(1);
  const absl::Status done = record(disk, options, times, random);
  INFO(done);
  REQUIRE(done.ok());
  return series(disk, options);
}

std::vector<std::string> names(const std::vector<NameAndRecords>& files) {
  std::vector<std::string> names;
  for (const NameAndRecords& file : files) names.push_back(file.name);
  return names;
}

const std::vector<std::uint64_t>& wrong_times() {
  constexpr auto kTimeMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  static const std::vector<std::uint64_t> times = {
      0,
      1,
      kTimeMax - 1,
      kTimeMax,
      kTimeMax + 1,  // NaT in pandas, read as an unsigned number
      dbn::kUndefTimestamp - 1,
      dbn::kUndefTimestamp,
      kFeedBeginNs - kYearNs,
      kFeedBeginNs + kYearNs,
      kFeedBeginNs + kAheadNsMax + 10 * kHourNs};
  return times;
}

// Interrupts a recording of these times before each operation. Compares the result of the next run
// with an uninterrupted recording.
void check_cuts(const Times& times, const RecordingFilesOptions& options) {
  const auto whole = recorded_times(times, options);
  REQUIRE(whole.size() > 2);
  std::uint64_t cuts = 0;
  for (std::uint64_t step = 0;; ++step) {
    CAPTURE(step);
    SimDisk disk(kStrayRoot, 7 + step);
    SimRandom random(step);
    disk.stop_after(step);
    const absl::Status first = record(disk, options, times, random);
    if (first.ok()) break;
    ++cuts;
    disk.kill();
    const absl::Status second = record(disk, options, times, random);
    INFO(second);
    REQUIRE(second.ok());
    REQUIRE(series(disk, options) == whole);
  }
  CHECK(cuts > 20);
}

}  // namespace

TEST_CASE("A few records with a wrong time go to the open file and do not change the rotation") {
  const std::uint64_t wrong = GENERATE_REF(from_range(wrong_times()));
  const std::uint64_t count = GENERATE(std::uint64_t{1}, kStrayRecordsMax - 1);
  CAPTURE(wrong, count);
  const Times right = minutes(300);
  Times times = right;
  times.insert(times.begin() + 70, count, wrong);
  const auto expected = recorded_times(right);
  const auto files = recorded_times(times);
  REQUIRE(expected.size() == 5);
  CHECK(names(files) == names(expected));
  for (std::size_t i = 0; i < files.size(); ++i) {
    CHECK(files[i].records.size() == expected[i].records.size() + (i == 1 ? count : 0));
  }
}

TEST_CASE("Repeated wrong times do not begin a file") {
  Times times;
  for (const std::uint64_t time : minutes(300)) {
    times.insert(times.end(), kStrayRecordsMax - 1, time + kYearNs);
    times.push_back(time);
  }
  const auto files = recorded_times(times);
  // The first record starts the series with a wrong time, which is detected when the first good
  // records arrive.
  CHECK(files.size() <= 2 + 5);
  times.erase(times.begin(), times.begin() + kStrayRecordsMax - 1);
  CHECK(names(recorded_times(times)) == names(recorded_times(minutes(300))));
}

TEST_CASE("A feed whose times shift forward or back begins a new file, and continues in it") {
  const bool is_ahead = GENERATE(true, false);
  Times times = minutes(60);
  for (const std::uint64_t time : minutes(120)) {
    times.push_back(is_ahead ? time + kYearNs : time - kYearNs);
  }
  const auto files = recorded_times(times);
  REQUIRE(files.size() == 3);
  CHECK(files[0].records.size() == 60 + kStrayRecordsMax - 1);
  CHECK(files[1].start == times[60 + kStrayRecordsMax - 1]);
  CHECK(files[2].records.size() == 60);
}

TEST_CASE("A series that begins with a wrong time returns to the right one") {
  Times times = minutes(300);
  times.front() = kFeedBeginNs + kYearNs;
  const auto files = recorded_times(times);
  REQUIRE(files.size() == 6);
  CHECK(files[0].records.size() == kStrayRecordsMax);
  CHECK(files[5].records.size() == 60);
}

TEST_CASE("A file that begins by size at a wrong time has the period of the previous one") {
  Times times;
  for (std::uint64_t i = 0; i < 6'000; ++i) {  // 336,000 bytes
    times.push_back(i % 7 == 3 ? kFeedBeginNs + kYearNs : kFeedBeginNs + i * kMinuteNs / 30);
  }
  const auto files = recorded_times(times, hourly(kRotateBytesMin));
  CHECK(files.size() == 7);  // 3:20 hours; 64 KiB are 39 minutes, so each full hour has two files
  for (const NameAndRecords& file : files) CHECK(file.start < times.back() + 1);
}

TEST_CASE("A recorder killed among records with wrong times writes the same files") {
  Times times;
  for (const std::uint64_t time : minutes(130)) {
    times.push_back(time);
    if (times.size() % 11 == 0) times.push_back(time + kYearNs);
    if (times.size() % 13 == 0) times.push_back(0);
  }
  times.insert(times.begin() + 60, kStrayRecordsMax - 1, kFeedBeginNs + kYearNs);
  times.insert(times.begin() + 120, kStrayRecordsMax + 10, kFeedBeginNs + kYearNs);
  check_cuts(times, hourly());
}

TEST_CASE("A killed recorder writes the same files by size and time") {
  Times times;
  for (std::uint64_t i = 0; i < 2'500; ++i) {
    times.push_back(i % 5 == 3 ? kFeedBeginNs + kYearNs : kFeedBeginNs + i * kMinuteNs / 10);
  }
  check_cuts(times, hourly(20'000));
}

}  // namespace lapwing
