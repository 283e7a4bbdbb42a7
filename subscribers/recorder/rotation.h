// Determines when a recording continues in a new file, and how its files are named.
//
//   es.dbn.zst is recorded into es.000001.20261120T143000Z.dbn.zst, es.000002.…
//
// The number orders the files, whatever their records' times. The time is the first record's
// (ts_recv; for bars ts_event). Both are inserted at the first dot in the path's file name.
//
// By time: a period begins at every multiple of `every` since 1970 in UTC, or each day,
// week or month at a time of day in a time zone. The first record in a later period than
// the file's begins a new file. So the same records produce the same files, whether they
// are read live or from the journal a day later. An out-of-order record of an earlier
// period stays in the open file.
//
// A record with a wrong time must not disturb the rotation. A time is far if it is more than
// kAheadNsMax after the period of the open file, or more than kBehindNsMax before it. A record with
// a far time or without a time goes to the open file. After kStrayRecordsMax consecutive far
// records, the feed's time is assumed to have moved, and the last of them begins a new file.
//
// By size: a new file begins when the file has reached `bytes`. The file may exceed this by the
// records that zstd holds back, at most 384 KiB.
//
// A venue's event (up to a record with flag LAST) is not split, unless it is longer than
// kEventRecordsMax. In a schema without such flags, every record is its own event.
//
// Thread safety: plain values and pure functions; Periods: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "lapwing/dbn.h"
#include "lapwing/recording.h"
#include "lapwing/schema.h"

namespace lapwing {

inline constexpr std::uint64_t kEventRecordsMax = 65'536;

// How far ahead a time may be, because a feed may be silent for a weekend and some holidays. Two
// periods if that is longer.
inline constexpr std::uint64_t kAheadNsMax = 7 * std::uint64_t{86'400'000'000'000};
// How far out of order records from several sources may be.
inline constexpr std::uint64_t kBehindNsMax = 600'000'000'000;
inline constexpr std::uint64_t kStrayRecordsMax = 16;

// The time range that one file of a series covers: [begin_ns, end_ns).
struct Period {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;

  friend bool operator==(const Period&, const Period&) = default;
};

// A record's time relative to the period of the open file.
enum class RecordTime {
  kOfThisFile,  // or slightly before it, out of order
  kOfLaterFile,
  kFar,
  kNone,
};

// The periods of a time-based rotation.
class Periods {
 public:
  // Errors: kInvalidArgument if the rotation's members contradict each other or exceed a limit, or
  // if the time zone cannot be loaded.
  static absl::StatusOr<Periods> of(const Rotation& rotation);

  bool on() const { return rotation_.by_time(); }
  // The period that contains a time (record_clock.h).
  Period period_of(std::uint64_t time_ns) const;
  // Classifies `time_ns` relative to a file that began at `began_ns`. If the file began without a
  // time, every time counts as later.
  RecordTime judge(std::uint64_t began_ns, std::uint64_t time_ns) const;

 private:
  Periods(const Rotation& rotation, const absl::TimeZone& zone)
      : rotation_(rotation), zone_(zone) {}
  absl::CivilDay first_day(absl::CivilDay day) const;
  absl::CivilDay next(absl::CivilDay first) const;
  absl::Time begin(absl::CivilDay first) const;

  Rotation rotation_;
  absl::TimeZone zone_;
  mutable std::uint64_t began_ns_ = dbn::kUndefTimestamp;  // period_ contains this time
  mutable Period period_ = {};
};

// Errors: kInvalidArgument, with the remedy: the name is unknown, or the machine has no time zones.
absl::StatusOr<absl::TimeZone> load_time_zone(const std::string& name);

// The path of file `number` in a series; without the time if it is undefined.
std::string part_path(const std::string& path, std::uint64_t number, std::uint64_t time_ns);
// True if a file with this name could belong to the series that `path` names.
bool is_part_name(const std::string& path, const std::string& name);

// Detects the last record of a venue's event. In a schema without events, every record is one.
class EventEnds {
 public:
  EventEnds() = default;
  explicit EventEnds(const Schema& schema);
  bool operator()(std::span<const std::byte> record) const;

 private:
  std::optional<std::uint32_t> flags_ = {};  // their offset
};

}  // namespace lapwing
