#include "subscribers/age_meter.h"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "lapwing/dbn.h"
#include "snapshot/schema/known_schemas.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kNow = 1'000'000'000;

struct Timed {
  std::uint64_t number;
  std::uint64_t sent;
};
LAPWING_RECORD(Timed, "desk.timed", 1, number, (sent, kPublishTime));

struct Untimed {
  std::uint64_t number;
  std::uint64_t sent;
};
LAPWING_RECORD(Untimed, "desk.untimed", 1, number, (sent, kTime));

template <typename Record>
RecordIdentity records_of_type() {
  RecordIdentity records;
  records.description = std::make_shared<const Schema>(schema_of<Record>());
  return records;
}

AgeMeter meter_of(std::uint32_t every) {
  AgeMeter meter(every);
  meter.attach(records_of_type<Timed>(), 1);
  return meter;
}

// Record n is n squared nanoseconds old, so a sum shows which records it includes.
void deliver(AgeMeter& meter, Sequence first, std::size_t count) {
  std::vector<Timed> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Sequence n = first + i;
    rows[i] = {n, kNow - n * n};
  }
  meter.measure(first, std::as_bytes(std::span(rows)), kNow);
}

void deliver(AgeMeter& meter, const Timed& record) {
  meter.measure(record.number, std::as_bytes(std::span(&record, 1)), kNow);
}

TEST_CASE("Every third record is measured, over calls of any size") {
  AgeMeter meter = meter_of(3);
  CHECK(meter.due() == 1);
  deliver(meter, 1, 5);
  CHECK(meter.due() == 7);
  CHECK(meter.ages()->age_ns.sum() == 1 + 16);
  deliver(meter, 6, 1);
  CHECK(meter.ages()->age_ns.count() == 2);
  deliver(meter, 7, 7);
  CHECK(meter.ages()->age_ns.count() == 5);
  CHECK(meter.ages()->age_ns.sum() == 1 + 16 + 49 + 100 + 169);
  CHECK(meter.due() == 16);
}

TEST_CASE("After a gap, the first record is measured, and the next ones count from there") {
  AgeMeter meter = meter_of(3);
  deliver(meter, 1, 1);
  deliver(meter, 200, 2);
  CHECK(meter.ages()->age_ns.sum() == 1 + 40'000);
  CHECK(meter.due() == 203);
  deliver(meter, 202, 2);
  CHECK(meter.ages()->age_ns.sum() == 1 + 40'000 + 203 * 203);
}

TEST_CASE("A time in the future is counted separately, and so is a missing time") {
  AgeMeter meter = meter_of(1);
  deliver(meter, Timed{1, kNow});
  CHECK(meter.ages()->age_ns.count() == 1);
  CHECK(meter.ages()->age_ns.counts().front() == 1);
  deliver(meter, Timed{2, kNow + 1});
  deliver(meter, Timed{3, 0});
  deliver(meter, Timed{4, dbn::kUndefTimestamp});
  deliver(meter, Timed{5, kNow - 1000});
  CHECK(meter.ages()->age_ns.count() == 2);
  CHECK(meter.ages()->age_ns.max() == 1000);
  CHECK(meter.ages()->negative == 1);
  CHECK(meter.ages()->unstamped == 2);
}

TEST_CASE("If nothing can be measured, nothing is due, and there are no ages") {
  AgeMeter off(0);
  off.attach(records_of_type<Timed>(), 1);
  AgeMeter undescribed(1);
  undescribed.attach({}, 1);
  AgeMeter untimed(1);
  untimed.attach(records_of_type<Untimed>(), 1);
  AgeMeter detached(1);
  for (AgeMeter* meter : {&off, &undescribed, &untimed, &detached}) {
    CHECK(meter->due() == AgeMeter::kNothingDue);
    deliver(*meter, 1, 10);
    CHECK_FALSE(meter->ages());
  }
}

TEST_CASE("The first record of another session is measured, and earlier ages are kept") {
  AgeMeter meter = meter_of(100);
  deliver(meter, 1, 50);
  meter.attach(records_of_type<Timed>(), 1);
  CHECK(meter.due() == 1);
  deliver(meter, 2, 3);
  CHECK(meter.ages()->age_ns.sum() == 1 + 4);
  meter.attach({}, 1);
  deliver(meter, 5, 300);
  CHECK(meter.ages()->age_ns.count() == 2);
}

TEST_CASE("For restamped records, only ts_recv is the time of publishing") {
  RecordIdentity mbo;
  mbo.description = std::make_shared<const Schema>(*known_schema(dbn::kSchemaMbo));
  AgeMeter feed(1);
  feed.attach(mbo, 1);
  CHECK(feed.due() == AgeMeter::kNothingDue);
  mbo.is_restamped = true;
  AgeMeter restamped(1);
  restamped.attach(mbo, 50);
  REQUIRE(restamped.due() == 50);
  dbn::MboMsg record{};
  record.hd.ts_event = 1;
  record.ts_recv = kNow - 300;
  for (const Sequence n : {49U, 50U}) {
    restamped.measure(n, std::as_bytes(std::span(&record, 1)), kNow);
  }
  CHECK(restamped.ages()->age_ns.sum() == 300);
  RecordIdentity untimed = records_of_type<Untimed>();
  untimed.is_restamped = true;
  AgeMeter without(1);
  without.attach(untimed, 1);
  CHECK(without.due() == AgeMeter::kNothingDue);
}

}  // namespace
}  // namespace lapwing
