#include "subscribers/recorder/rotation.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <string>

#include "snapshot/schema/known_schemas.h"
#include "testing/recorder_fixture.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kHourNs = 3'600'000'000'000;
constexpr std::uint64_t kSecondNs = 1'000'000'000;

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

TEST_CASE("The names of a series' files are known again, and no others") {
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

TEST_CASE("A period is over with the first record of a later one, on the clock's boundaries") {
  const Periods hourly({0, std::chrono::hours(1)});
  const std::uint64_t began = kFeedBeginNs + 20 * 60 * kSecondNs;
  CHECK(hourly.period_of(began) == Period{kFeedBeginNs, kFeedBeginNs + kHourNs});
  CHECK(hourly.judge(began, kFeedBeginNs + kHourNs - 1) == RecordTime::kOfThisFile);
  CHECK(hourly.judge(began, kFeedBeginNs + kHourNs) == RecordTime::kOfLaterFile);
  CHECK(hourly.judge(began, kFeedBeginNs + 30 * kHourNs) == RecordTime::kOfLaterFile);
  CHECK(hourly.judge(began, kFeedBeginNs - 1) == RecordTime::kOfThisFile);
  CHECK(hourly.judge(dbn::kUndefTimestamp, began) == RecordTime::kOfLaterFile);
  CHECK(hourly.judge(dbn::kUndefTimestamp, dbn::kUndefTimestamp) == RecordTime::kNone);
  CHECK(hourly.on());
  CHECK_FALSE(Periods({.bytes = 1}).on());
}

TEST_CASE("A time far beyond the open period, or far before it, is not believed at once") {
  const Periods hourly({0, std::chrono::hours(1)});
  const std::uint64_t end = kFeedBeginNs + kHourNs;
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

TEST_CASE("With long periods a silence of two of them is believed") {
  constexpr std::uint64_t kMonthNs = 30 * 24 * kHourNs;
  const Periods monthly({0, std::chrono::hours(30 * 24)});
  const std::uint64_t end = monthly.period_of(kFeedBeginNs).end_ns;
  CHECK(monthly.judge(kFeedBeginNs, end + 2 * kMonthNs) == RecordTime::kOfLaterFile);
  CHECK(monthly.judge(kFeedBeginNs, end + 2 * kMonthNs + 1) == RecordTime::kFar);
}

TEST_CASE("An event ends with flag LAST, a trade by itself") {
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
