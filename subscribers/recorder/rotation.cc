#include "subscribers/recorder/rotation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "lapwing/error.h"
#include "os/path.h"
#include "os/utc_time.h"
#include "snapshot/schema/record_clock.h"

namespace lapwing {
namespace {

constexpr char kWellKnownZone[] = "America/Chicago";
constexpr char kTimeForm[] = "%Y%m%dT%H%M%SZ";
constexpr std::size_t kDateDigits = 8;
constexpr std::size_t kTimeDigits = 6;
constexpr std::size_t kNumberDigitsMin = 6;

// A path up to the first dot in its name, and the rest. A dot at the beginning
// of the name does not count.
struct SplitPath {
  std::string stem;
  std::string suffix;
};

SplitPath split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  const std::size_t dot = path.find('.', name + 1);
  if (dot == std::string::npos) return {path, ""};
  return {path.substr(0, dot), path.substr(dot)};
}

// Removes the leading digits from `text`, and returns their number.
std::size_t take_digits(absl::string_view& text) {
  const std::size_t all = text.size();
  while (!text.empty() && absl::ascii_isdigit(static_cast<unsigned char>(text[0]))) {
    text.remove_prefix(1);
  }
  return all - text.size();
}

}  // namespace

absl::StatusOr<absl::TimeZone> load_time_zone(const std::string& name) {
  absl::TimeZone zone;
  if (!name.empty() && absl::LoadTimeZone(name, &zone)) return zone;
  const bool has_zones = absl::LoadTimeZone(kWellKnownZone, &zone);
  return make_error(
      Errc::kInvalidArgument,
      has_zones ? absl::StrCat("time zone \"", name,
                               "\" is unknown. Use a name of the IANA database, for example ",
                               kWellKnownZone, ", or UTC.")
                : absl::StrCat("time zone \"", name, "\" cannot be loaded: this machine has no ",
                               "database of time zones. Install the package tzdata, or use UTC."));
}

absl::StatusOr<Periods> Periods::of(const Rotation& rotation) {
  const bool is_by_calendar = rotation.calendar != Rotation::Calendar::kNone;
  if (rotation.every.count() < 0) {
    return make_error(Errc::kInvalidArgument,
                      "the period of a rotation must not be negative; 0 means no rotation");
  }
  if (is_by_calendar && rotation.every.count() != 0) {
    return make_error(Errc::kInvalidArgument,
                      "a rotation has both a fixed period (Rotation::every) and a calendar. Set "
                      "only one of them.");
  }
  if (!is_by_calendar && (rotation.at.count() != 0 || rotation.time_zone != "UTC")) {
    return make_error(Errc::kInvalidArgument,
                      "a rotation has a time of day or a time zone, but no calendar: fixed periods "
                      "begin in UTC. Use a rotation by days, weeks or months.");
  }
  if (rotation.at < std::chrono::minutes(0) || rotation.at >= std::chrono::days(1) ||
      !rotation.week_begin.ok()) {
    return make_error(Errc::kInvalidArgument,
                      "a rotation needs a time of day from 00:00 to 23:59, and a day of the week");
  }
  absl::StatusOr<absl::TimeZone> zone = load_time_zone(rotation.time_zone);
  if (!zone.ok()) return zone.status();
  return Periods(rotation, *zone);
}

Period Periods::period_of(std::uint64_t time_ns) const {
  if (rotation_.calendar == Rotation::Calendar::kNone) {
    const auto every_ns = static_cast<std::uint64_t>(rotation_.every.count());
    const std::uint64_t begin_ns = time_ns / every_ns * every_ns;
    return {begin_ns, begin_ns + every_ns};
  }
  const absl::Time time = utc_time(time_ns);
  absl::CivilDay first = first_day(absl::ToCivilDay(time, zone_));
  while (begin(first) > time) first = first_day(first - 1);
  while (begin(next(first)) <= time) first = next(first);
  // There are no records before 1970.
  const auto to_ns = [](absl::Time at) {
    return static_cast<std::uint64_t>(absl::ToUnixNanos(std::max(at, absl::UnixEpoch())));
  };
  return {to_ns(begin(first)), to_ns(begin(next(first)))};
}

// The first day of the day, week or month that contains `day`.
absl::CivilDay Periods::first_day(absl::CivilDay day) const {
  switch (rotation_.calendar) {
    case Rotation::Calendar::kWeek: {
      // Both count days from Monday, which is 1 in the standard library.
      const unsigned days_ago = (static_cast<unsigned>(absl::GetWeekday(day)) + 1 + 7 -
                                 rotation_.week_begin.iso_encoding()) %
                                7;
      return day - days_ago;
    }
    case Rotation::Calendar::kMonth:
      return absl::CivilDay(absl::CivilMonth(day));
    default:
      return day;
  }
}

absl::CivilDay Periods::next(absl::CivilDay first) const {
  switch (rotation_.calendar) {
    case Rotation::Calendar::kWeek:
      return first + 7;
    case Rotation::Calendar::kMonth:
      return absl::CivilDay(absl::CivilMonth(first) + 1);
    default:
      return first + 1;
  }
}

// The time at which the period with this first day begins.
absl::Time Periods::begin(absl::CivilDay first) const {
  const absl::TimeZone::TimeInfo info =
      zone_.At(absl::CivilSecond(first) + rotation_.at / std::chrono::seconds(1));
  return info.kind == absl::TimeZone::TimeInfo::SKIPPED ? info.trans : info.pre;
}

RecordTime Periods::judge(std::uint64_t began_ns, std::uint64_t time_ns) const {
  if (!is_time(time_ns)) return RecordTime::kNone;
  if (!is_time(began_ns)) return RecordTime::kOfLaterFile;
  if (began_ns != began_ns_) {
    period_ = period_of(began_ns);
    began_ns_ = began_ns;
  }
  if (time_ns >= period_.end_ns) {
    const std::uint64_t ahead_ns_max =
        std::max(kAheadNsMax, 2 * (period_.end_ns - period_.begin_ns));
    return time_ns - period_.end_ns > ahead_ns_max ? RecordTime::kFar : RecordTime::kOfLaterFile;
  }
  const bool is_behind = time_ns < period_.begin_ns && period_.begin_ns - time_ns > kBehindNsMax;
  return is_behind ? RecordTime::kFar : RecordTime::kOfThisFile;
}

std::string part_path(const std::string& path, std::uint64_t number, std::uint64_t time_ns) {
  const SplitPath parts = split(path);
  const std::string numbered = absl::StrFormat("%s.%06d", parts.stem, number);
  if (time_ns == dbn::kUndefTimestamp) return numbered + parts.suffix;
  const std::string time = absl::FormatTime(kTimeForm, utc_time(time_ns), absl::UTCTimeZone());
  return absl::StrCat(numbered, ".", time, parts.suffix);
}

bool is_part_name(const std::string& path, const std::string& name) {
  const SplitPath parts = split(name_in_directory(path));
  absl::string_view rest = name;
  if (!absl::ConsumePrefix(&rest, parts.stem + ".")) return false;
  if (!absl::ConsumeSuffix(&rest, parts.suffix)) return false;
  if (take_digits(rest) < kNumberDigitsMin) return false;
  if (rest.empty()) return true;
  return absl::ConsumePrefix(&rest, ".") && take_digits(rest) == kDateDigits &&
         absl::ConsumePrefix(&rest, "T") && take_digits(rest) == kTimeDigits && rest == "Z";
}

EventEnds::EventEnds(const Schema& schema) {
  constexpr std::array<std::string_view, 4> kOfEvents = {dbn::kSchemaMbo, dbn::kSchemaMbp1,
                                                         "dbn.mbp-10", "dbn.cmbp-1"};
  const Field* const flags = schema.find("flags");
  if (flags == nullptr || std::ranges::find(kOfEvents, schema.name) == kOfEvents.end()) return;
  flags_ = flags->offset;
}

bool EventEnds::operator()(std::span<const std::byte> record) const {
  return !flags_ || (static_cast<std::uint8_t>(record[*flags_]) & dbn::kFlagLast) != 0;
}

}  // namespace lapwing
