// A recording in a series of files, interrupted before each of its disk operations. Either the
// process ends, the power is cut, or the operation fails. The next run always continues, and the
// files then contain the feed, each record once.
//
// LAPWING_RECORDER_STRIDE: interrupt it only at every N-th operation; 1 if unset.
#include <cerrno>
#include <string>

#include "testing/environment.h"
#include "testing/recorder_fixture.h"

namespace lapwing {
namespace {

constexpr Sequence kRecords = 1'500;
constexpr char kRoot[] = "/disk";
constexpr std::chrono::seconds kPeriod{1};  // 300 records

enum class Cut { kKill, kPower, kFault };

std::string series_path(FeedOf of, bool zstd) {
  return std::string(kRoot) + (of == FeedOf::kOrders ? "/es.dbn" : "/desk.records") +
         (zstd ? ".zst" : "");
}

Rotation rotation_of(bool by_time, bool zstd) {
  return by_time ? Rotation{.every = kPeriod} : Rotation{.bytes = zstd ? 3'000U : 16'000U};
}

void cut_short(SimDisk& disk, Cut cut) {
  if (cut == Cut::kPower) {
    disk.power_cut();
  } else {
    disk.kill();
  }
}

// After an interruption, the contents described by FILE.position are already in the files.
void check_position(SimDisk& disk, const RecordingFilesOptions& options) {
  const auto position = read_position(disk, options.path);
  if (!position.ok()) {
    REQUIRE(errc_of(position.status()) == Errc::kNotFound);
    return;
  }
  REQUIRE(position->records == position->position.sequence);
  Sequence believed = 0;
  for (const RecordedFile& file : read_series(disk, options.path)) {
    const bool grows = file.name == name_in_directory(file_path(options.path, *position));
    if (grows) REQUIRE(file.bytes >= position->bytes);
    if (!grows) REQUIRE(file.status.ok());
    believed += file.records.size();
  }
  REQUIRE(believed >= position->records);
}

}  // namespace

TEST_CASE("A recorder that is stopped before any of its operations continues exactly") {
  const FeedOf of = GENERATE(FeedOf::kOrders, FeedOf::kSignals);
  const bool zstd = GENERATE(false, true);
  const bool by_time = GENERATE(false, true);
  const Cut cut = GENERATE(Cut::kKill, Cut::kPower, Cut::kFault);
  const RecordingFilesOptions options =
      recording_options(series_path(of, zstd), rotation_of(by_time, zstd));
  const std::uint64_t stride = count_from("LAPWING_RECORDER_STRIDE", 1);
  std::uint64_t cuts = 0;
  std::uint64_t files = 0;
  for (std::uint64_t step = 0;; step += stride) {
    CAPTURE(static_cast<int>(of), zstd, by_time, static_cast<int>(cut), step);
    SimDisk disk(kRoot, 7 + step);
    SimRandom random(step);
    if (cut == Cut::kFault) {
      const SimOp kinds[] = {SimOp::kWrite, SimOp::kSync, SimOp::kName};
      disk.fail(kinds[step % 3], 1 + step / 3, EIO);
    } else {
      disk.stop_after(step);
    }
    const absl::Status first = record_up_to(disk, options, kRecords, random, of);
    if (cut == Cut::kFault ? step > 3 * disk.operations() : first.ok()) break;
    if (!first.ok()) {
      ++cuts;
      if (cut != Cut::kFault) cut_short(disk, cut);
      if (cut != Cut::kFault) check_position(disk, options);
    }
    const absl::Status second = record_up_to(disk, options, kRecords, random, of);
    INFO(second);
    REQUIRE(second.ok());
    const auto series = read_series(disk, options.path);
    check_series(series, 1, kRecords);
    files = series.size();
  }
  CHECK(cuts * stride > 50);
  CHECK(files > 2);
}

TEST_CASE("A recorder that is stopped repeatedly still records each record once") {
  const FeedOf of = GENERATE(FeedOf::kOrders, FeedOf::kSignals);
  const bool zstd = GENERATE(false, true);
  const Cut cut = GENERATE(Cut::kKill, Cut::kPower);
  const std::uint64_t stride = count_from("LAPWING_RECORDER_STRIDE", 1);
  for (std::uint64_t seed = 1; seed <= 40; seed += stride) {
    CAPTURE(static_cast<int>(of), zstd, static_cast<int>(cut), seed);
    SimDisk disk(kRoot, seed);
    SimRandom random(seed);
    const RecordingFilesOptions options =
        recording_options(series_path(of, zstd), rotation_of(seed % 2 == 0, zstd));
    for (int cuts = 0; cuts < 100; ++cuts) {
      disk.stop_after(random.below(60));
      if (record_up_to(disk, options, kRecords, random, of).ok()) break;
      cut_short(disk, cut);
      check_position(disk, options);
    }
    REQUIRE(record_up_to(disk, options, kRecords, random, of).ok());
    const auto files = read_series(disk, options.path);
    check_series(files, 1, kRecords);
    CHECK(files.size() > 2);
  }
}

TEST_CASE("A full disk stops a recording with a message, and with room it continues exactly") {
  const FeedOf of = GENERATE(FeedOf::kOrders, FeedOf::kSignals);
  const bool zstd = GENERATE(false, true);
  const RecordingFilesOptions options =
      recording_options(series_path(of, zstd), rotation_of(true, zstd));
  std::uint64_t full = 0;
  for (std::uint64_t capacity = 1'000; capacity < 80'000; capacity += 499) {
    CAPTURE(static_cast<int>(of), zstd, capacity);
    SimDisk disk(kRoot, capacity);
    SimRandom random(capacity);
    disk.set_capacity(capacity);
    const absl::Status first = record_up_to(disk, options, kRecords, random, of);
    if (!first.ok()) {
      ++full;
      INFO(first);
      REQUIRE(errc_of(first) == Errc::kNoSpace);
      REQUIRE(std::string(first.message()).find("can be read") == std::string::npos);
      const auto position = read_position(disk, options.path);
      if (position.ok() && position->began()) {
        REQUIRE(std::string(first.message())
                    .find("up to record " + std::to_string(position->position.sequence) +
                          ". Fix this and record") != std::string::npos);
      }
      REQUIRE_FALSE(record_up_to(disk, options, kRecords, random, of).ok());
    }
    disk.set_capacity(std::uint64_t{1} << 40);
    REQUIRE(record_up_to(disk, options, kRecords, random, of).ok());
    check_series(read_series(disk, options.path), 1, kRecords);
  }
  CHECK(full > 20);
}

}  // namespace lapwing
