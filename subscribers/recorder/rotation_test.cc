#include "subscribers/recorder/rotation.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <string>

#include "absl/time/time.h"
#include "lapwing/error.h"
#include "snapshot/schema/known_schemas.h"
#include "testing/recorder_fixture.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kNsPerHour = 3'600'000'000'000;
constexpr std::uint64_t kSecondNs = 1'000'000'000;

Periods periods_of(const Rotation& rotation) {
  auto periods = Periods::of(rotation);
  INFO(periods.status());
  REQUIRE(periods.ok());
  return *std::move(periods);
}

template <typename Record>
std::span<const std::byte> bytes_of(const Record& record) {
  return std::as_bytes(std::span(&record, 1));
}

}  // namespace

TEST_CASE("A file of a series is named by its number and the time of its first record") {
  CHECK(part_path("x/es.dbn.zst", 1, kFeedBeginNs) == "x/es.000001.20251120T150000Z.dbn.zst");
  CHECK(part_path("es.dbn", 1'234'567, kFeedBeginNs) == "es.1234567.20251120T150000Z.dbn");
  CHECK(part_path("es", 2, kFeedBeginNs) == "es.000002.20251120T150000Z");
  CHECK(part_path("a.b/.es.dbn", 2, kFeedBeginNs) == "a.b/.es.000002.20251120T150000Z.dbn");
  CHECK(part_path("es", 2, dbn::kUndefTimestamp - 1) == "es.000002.25540721T233433Z");
  CHECK(part_path("es.dbn.zst", 3, dbn::kUndefTimestamp) == "es.000003.dbn.zst");
}

TEST_CASE("The names of a series' files are recognized, and no others") {
  const std::string path = "x/es.dbn.zst";
  for (const std::uint64_t number : {1ULL, 999'999ULL, 1'000'000ULL}) {
    for (const std::uint64_t time : {kFeedBeginNs, dbn::kUndefTimestamp}) {
      CHECK(is_part_name(path, name_in_directory(part_path(path, number, time))));
    }
  }
  for (const char* name : {"es.dbn.zst", "es.dbn.zst.position", "es.00001.dbn.zst", "es.000001.dbn",
                           "es2.000001.dbn.zst", "es.000001.old.dbn.zst",
                           "es.000001.20251120T150000Z.dbn.zst.new", "es.000001x.dbn.zst"}) {
    CAPTURE(name);
    CHECK_FALSE(is_part_name(path, name));
  }
}

TEST_CASE("A period ends with the first record of a later one, at the clock's boundaries") {
  const Periods hourly = periods_of({0, std::chrono::hours(1)});
  const std::uint64_t began = kFeedBeginNs + 20 * 60 * kSecondNs;
  CHECK(hourly.period_of(began) == Period{kFeedBeginNs, kFeedBeginNs + kNsPerHour});
  CHECK(hourly.judge(began, kFeedBeginNs + kNsPerHour - 1) == RecordTime::kOfThisFile);
  CHECK(hourly.judge(began, kFeedBeginNs + kNsPerHour) == RecordTime::kOfLaterFile);
  CHECK(hourly.judge(began, kFeedBeginNs + 30 * kNsPerHour) == RecordTime::kOfLaterFile);
  CHECK(hourly.judge(began, kFeedBeginNs - 1) == RecordTime::kOfThisFile);
  CHECK(hourly.judge(dbn::kUndefTimestamp, began) == RecordTime::kOfLaterFile);
  CHECK(hourly.judge(dbn::kUndefTimestamp, dbn::kUndefTimestamp) == RecordTime::kNone);
  CHECK(hourly.on());
  CHECK_FALSE(periods_of({.bytes = 1}).on());
}

TEST_CASE("A time far beyond the open period, or far before it, is not trusted at once") {
  const Periods hourly = periods_of({0, std::chrono::hours(1)});
  const std::uint64_t end = kFeedBeginNs + kNsPerHour;
  CHECK(hourly.judge(kFeedBeginNs, end + kAheadNsMax) == RecordTime::kOfLaterFile);
  CHECK(hourly.judge(kFeedBeginNs, end + kAheadNsMax + 1) == RecordTime::kFar);
  CHECK(hourly.judge(kFeedBeginNs, kFeedBeginNs - kBehindNsMax) == RecordTime::kOfThisFile);
  CHECK(hourly.judge(kFeedBeginNs, kFeedBeginNs - kBehindNsMax - 1) == RecordTime::kFar);
  CHECK(hourly.judge(kFeedBeginNs, 1) == RecordTime::kFar);
  const std::uint64_t time_max = std::numeric_limits<std::int64_t>::max();
  CHECK(hourly.judge(kFeedBeginNs, time_max - 1) == RecordTime::kFar);
  for (const std::uint64_t none :
       {std::uint64_t{0}, time_max, time_max + 1, dbn::kUndefTimestamp - 1, dbn::kUndefTimestamp}) {
    CAPTURE(none);
    CHECK(hourly.judge(kFeedBeginNs, none) == RecordTime::kNone);
  }
}

TEST_CASE("With long periods, a silence of two of them is trusted") {
  constexpr std::uint64_t kMonthNs = 30 * 24 * kNsPerHour;
  const Periods monthly = periods_of({0, std::chrono::hours(30 * 24)});
  const std::uint64_t end = monthly.period_of(kFeedBeginNs).end_ns;
  CHECK(monthly.judge(kFeedBeginNs, end + 2 * kMonthNs) == RecordTime::kOfLaterFile);
  CHECK(monthly.judge(kFeedBeginNs, end + 2 * kMonthNs + 1) == RecordTime::kFar);
}

namespace {

constexpr char kChicago[] = "America/Chicago";

// Parses "2026-03-08T17:00:00-05:00"; returns ns.
std::uint64_t ns_of(const std::string& rfc3339) {
  absl::Time time;
  std::string error;
  INFO(rfc3339 << ": " << error);
  REQUIRE(absl::ParseTime(absl::RFC3339_full, rfc3339, &time, &error));
  return static_cast<std::uint64_t>(absl::ToUnixNanos(time));
}

// Checks that one of the rotation's periods is [begin, end), from its first nanosecond to its last.
void check_period(const Rotation& rotation, const std::string& begin, const std::string& end) {
  const Periods periods = periods_of(rotation);
  const Period period{ns_of(begin), ns_of(end)};
  CAPTURE(begin, end);
  CHECK(periods.period_of(period.begin_ns) == period);
  CHECK(periods.period_of((period.begin_ns + period.end_ns) / 2) == period);
  CHECK(periods.period_of(period.end_ns - 1) == period);
  CHECK(periods.period_of(period.begin_ns - 1).end_ns == period.begin_ns);
  CHECK(periods.period_of(period.end_ns).begin_ns == period.end_ns);
  CHECK(periods.judge(period.begin_ns, period.end_ns - 1) == RecordTime::kOfThisFile);
  CHECK(periods.judge(period.begin_ns, period.end_ns) == RecordTime::kOfLaterFile);
}

}  // namespace

TEST_CASE("A day begins at its time in its zone, and has 23 or 25 hours when clocks change") {
  const Rotation at_five{
      .calendar = Rotation::Calendar::kDay, .at = std::chrono::hours(17), .time_zone = kChicago};
  check_period(at_five, "2026-01-05T17:00:00-06:00", "2026-01-06T17:00:00-06:00");
  check_period(at_five, "2026-03-07T17:00:00-06:00", "2026-03-08T17:00:00-05:00");  // 23 hours
  check_period(at_five, "2026-10-31T17:00:00-05:00", "2026-11-01T17:00:00-06:00");  // 25 hours
  check_period({.calendar = Rotation::Calendar::kDay, .time_zone = kChicago},
               "2026-03-08T00:00:00-06:00", "2026-03-09T00:00:00-05:00");
  check_period({.calendar = Rotation::Calendar::kDay}, "2026-03-08T00:00:00Z",
               "2026-03-09T00:00:00Z");
}

TEST_CASE(
    "A skipped time of day is the moment of the change, and of a doubled one the first counts") {
  const Rotation at_half_past_two{
      .calendar = Rotation::Calendar::kDay, .at = std::chrono::minutes(150), .time_zone = kChicago};
  check_period(at_half_past_two, "2026-03-07T02:30:00-06:00", "2026-03-08T03:00:00-05:00");
  check_period(at_half_past_two, "2026-03-08T03:00:00-05:00", "2026-03-09T02:30:00-05:00");
  const Rotation at_half_past_one{
      .calendar = Rotation::Calendar::kDay, .at = std::chrono::minutes(90), .time_zone = kChicago};
  check_period(at_half_past_one, "2026-10-31T01:30:00-05:00", "2026-11-01T01:30:00-05:00");
  check_period(at_half_past_one, "2026-11-01T01:30:00-05:00", "2026-11-02T01:30:00-06:00");
  // Samoa had no 30 December 2011.
  check_period({.calendar = Rotation::Calendar::kDay, .time_zone = "Pacific/Apia"},
               "2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00");
}

TEST_CASE("A week begins on Monday or the given day, and a month on its first") {
  using Calendar = Rotation::Calendar;
  check_period({.calendar = Calendar::kWeek}, "2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z");
  check_period({.calendar = Calendar::kWeek,
                .at = std::chrono::hours(17),
                .week_begin = std::chrono::Sunday,
                .time_zone = kChicago},
               "2026-10-25T17:00:00-05:00", "2026-11-01T17:00:00-06:00");
  check_period({.calendar = Calendar::kMonth, .time_zone = "Asia/Tokyo"},
               "2026-02-01T00:00:00+09:00", "2026-03-01T00:00:00+09:00");
  check_period({.calendar = Calendar::kMonth, .at = std::chrono::hours(17), .time_zone = kChicago},
               "2026-12-01T17:00:00-06:00", "2027-01-01T17:00:00-06:00");
}

TEST_CASE("A contradictory rotation is refused") {
  using Calendar = Rotation::Calendar;
  const auto refusal = [](const Rotation& rotation) {
    const absl::Status refused = Periods::of(rotation).status();
    CHECK(errc_of(refused) == Errc::kInvalidArgument);
    return std::string(refused.message());
  };
  CHECK(refusal({.every = std::chrono::hours(-1)}).find("negative") != std::string::npos);
  CHECK(refusal({.every = std::chrono::hours(1), .calendar = Calendar::kDay}).find("both") !=
        std::string::npos);
  CHECK(refusal({.at = std::chrono::hours(17)}).find("no calendar") != std::string::npos);
  CHECK(refusal({.time_zone = kChicago}).find("no calendar") != std::string::npos);
  CHECK(refusal({.calendar = Calendar::kDay, .at = std::chrono::hours(24)}).find("23:59") !=
        std::string::npos);
  for (const char* zone : {"", "America/Chicgo", "CST", "../zoneinfo", "/etc/passwd"}) {
    const std::string message = refusal({.calendar = Calendar::kDay, .time_zone = zone});
    CAPTURE(message);
    CHECK(
        message.find("is unknown. Use a name of the IANA database, for example America/Chicago") !=
        std::string::npos);
  }
}

TEST_CASE("An event ends with flag LAST, and a trade is an event by itself") {
  dbn::MboMsg mbo{};
  dbn::Mbp1Msg mbp{};
  const dbn::TradeMsg trade{};
  const EventEnds mbo_ends(*known_schema(dbn::kSchemaMbo));
  const EventEnds mbp_ends(*known_schema(dbn::kSchemaMbp1));
  CHECK_FALSE(mbo_ends(bytes_of(mbo)));
  CHECK_FALSE(mbp_ends(bytes_of(mbp)));
  CHECK(EventEnds(*known_schema(dbn::kSchemaTrades))(bytes_of(trade)));
  CHECK(EventEnds(*known_schema("dbn.tbbo"))(bytes_of(mbp)));
  mbo.flags = mbp.flags = dbn::kFlagLast | dbn::kFlagSnapshot;
  CHECK(mbo_ends(bytes_of(mbo)));
  CHECK(mbp_ends(bytes_of(mbp)));
}

}  // namespace lapwing
