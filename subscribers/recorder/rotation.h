// When a recording goes on in another file, and what its files are called.
//
//   es.dbn.zst is recorded into es.000001.20261120T143000Z.dbn.zst, es.000002.…
//
// The number orders them, whatever times the records carry; the time is that of the first record
// (ts_recv; of bars ts_event). A file's name ends where the path's first dot is and goes on there.
//
// By time: a period begins at every multiple of `every` since 1970 in UTC, or by the calendar of a
// time zone: each day, week or month at a time of day. The first record whose time lies in a later
// period than that of the file begins a file. So the same records make the same files, live or read
// from the journal a day later. A record of an earlier period, out of order, stays in the open
// file.
//
// A record with a wrong time must not end the rotation. A time is far if it is more than
// kAheadNsMax after the period of the open file, or more than kBehindNsMax before it. A record with
// a far time or without a time goes to the open file. After kStrayRecordsMax far records in a row
// the time of the feed has moved, ahead or back, and the last of them begins a file.
//
// By size: the file has reached `bytes`. Bytes that zstd keeps back, of 384 KiB of records at most,
// come on top.
//
// A venue's event (up to a record with flag LAST) is not cut in two, unless it is longer than
// kEventRecordsMax; of a schema without such flags every record is an event by itself.
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

// How far ahead a time may be: a feed may be silent for a weekend and some holidays. Two periods,
// if these are longer.
inline constexpr std::uint64_t kAheadNsMax = 7 * std::uint64_t{86'400'000'000'000};
// How far records of several sources may be out of order.
inline constexpr std::uint64_t kBehindNsMax = 600'000'000'000;
inline constexpr std::uint64_t kStrayRecordsMax = 16;

// The time that one file of a series is for: from `begin_ns` to before `end_ns`.
struct Period {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;

  friend bool operator==(const Period&, const Period&) = default;
};

// Where a record's time lies, seen from the period of the open file.
enum class RecordTime {
  kOfThisFile,  // or slightly before it, out of order
  kOfLaterFile,
  kFar,
  kNone,
};

// The periods of a rotation by time.
class Periods {
 public:
  // Errors: kInvalidArgument if the rotation's members contradict each other or a limit, or the time
  // zone cannot be loaded.
  static absl::StatusOr<Periods> of(const Rotation& rotation);

  bool on() const { return rotation_.by_time(); }
  // The period of a time (record_clock.h).
  Period period_of(std::uint64_t time_ns) const;
  // Where `time_ns` lies, seen from a file that began at `began_ns`. If the file began without a
  // time, every time is later.
  RecordTime judge(std::uint64_t began_ns, std::uint64_t time_ns) const;

 private:
  Periods(const Rotation& rotation, const absl::TimeZone& zone)
      : rotation_(rotation), zone_(zone) {}
  absl::CivilDay first_day(absl::CivilDay day) const;
  absl::CivilDay next(absl::CivilDay first) const;
  absl::Time begin(absl::CivilDay first) const;

  Rotation rotation_;
  absl::TimeZone zone_;
  mutable std::uint64_t began_ns_ = dbn::kUndefTimestamp;  // whose period was asked for last
  mutable Period period_ = {};
};

// Errors: kInvalidArgument, with the remedy: the name is unknown, or the machine has no time zones.
absl::StatusOr<absl::TimeZone> load_time_zone(const std::string& name);

// `path` and the name of its file `number`; without the time where that is undefined.
std::string part_path(const std::string& path, std::uint64_t number, std::uint64_t time_ns);
// Whether a file of that name could be one of `path`'s.
bool is_part_name(const std::string& path, const std::string& name);

// Whether a record is the last of its venue's event. Where a schema has no events, every one is.
class EventEnds {
 public:
  EventEnds() = default;
  explicit EventEnds(const Schema& schema);
  bool operator()(std::span<const std::byte> record) const;

 private:
  std::optional<std::uint32_t> flags_ = {};  // where they stand
};

}  // namespace lapwing
