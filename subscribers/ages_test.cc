// Tests a subscriber that measures record ages: which records it measures in each way of reading,
// and that measuring does not make it miss anything.
#include <catch2/catch.hpp>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "lapwing/error.h"
#include "lapwing/subscriber.h"
#include "os/kernel.h"
#include "snapshot/schema/field_reader.h"
#include "subscribers/subscriber_access.h"
#include "testing/bus_fixture.h"
#include "testing/child_process.h"
#include "testing/waiting_call.h"

namespace lapwing {
namespace {

constexpr std::uint32_t kSentAt = 8;

struct AgedRecord {
  std::uint64_t words[7];
};
static_assert(sizeof(AgedRecord) == 56);

Schema timed() {
  return {"desk.timed",
          1,
          sizeof(AgedRecord),
          {{"number", FieldType::kUInt64, 0, 8},
           {"sent", FieldType::kUInt64, kSentAt, 8, FieldUnit::kUtcNs, FieldRole::kPublishTime},
           {"rest", FieldType::kBytes, 16, 40}}};
}

void describe(TestBus& bus, const Schema& schema) {
  bus.schema = {schema.name, schema.hash()};
  bus.described_as = schema.text();
}

SubscriberOptions measuring(const TestBus& bus, std::uint32_t every) {
  SubscriberOptions options = bus.options();
  options.measure_every = every;
  return options;
}

// The bytes of a bus's records are practically random, and so are their publish times. Some are in
// the distant past, and most are in the future.
void check_measured(const Subscriber& subscriber, const TestBus& bus,
                    const std::vector<Sequence>& chosen) {
  std::uint64_t past = 0;
  for (const Sequence n : chosen) {
    if (load_at<std::uint64_t>(bus.journal.record(n), kSentAt) <= wall_ns()) ++past;
  }
  const std::optional<Ages> ages = subscriber.ages();
  REQUIRE(ages);
  CHECK(ages->age_ns.count() == past);
  CHECK(ages->negative == chosen.size() - past);
  CHECK(ages->unstamped == 0);
}

// The sequences first, first + every … last.
std::vector<Sequence> every_nth(Sequence first, std::uint64_t every, Sequence last) {
  std::vector<Sequence> chosen;
  for (Sequence n = first; n <= last; n += every) chosen.push_back(n);
  return chosen;
}

enum class Way { kTake, kTakeBytes, kWait, kRead, kInTurn };

// Reads in one way, or in all ways by turns, until record `last` has been read.
class Reading {
 public:
  Reading(TestBus& bus, Subscriber& subscriber, Way way)
      : bus_(bus), subscriber_(subscriber), way_(way) {}

  void until(Sequence last) {
    for (const Deadline deadline = std::chrono::seconds(60); last_ < last;) {
      bus_.turn();
      step();
      REQUIRE_FALSE(deadline.has_passed());
    }
  }

 private:
  void step() {
    const auto way = way_ == Way::kInTurn ? static_cast<Way>(turn_++ % 4) : way_;
    if (way == Way::kWait) {
      const Result<Item> item = subscriber_.next(Deadline::now());
      if (came(item) == ItemKind::kRecord) last_ = item->sequence;
      return;
    }
    if (way == Way::kRead) {
      const Result<Batch> batch = subscriber_.read(rows_, Deadline::now());
      if (batch->count > 0) last_ = batch->first + batch->count - 1;
      return;
    }
    AgedRecord record{};
    const Result<Sequence> taken =
        way == Way::kTake
            ? subscriber_.read_one(record, Deadline::now())
            : subscriber_.read_one(std::as_writable_bytes(std::span(&record, 1)), Deadline::now());
    if (taken.ok()) last_ = *taken;
    if (taken.error() == Errc::kEventDue) REQUIRE(subscriber_.read_event().ok());
  }

  TestBus& bus_;
  Subscriber& subscriber_;
  const Way way_;
  std::size_t turn_ = 0;
  std::vector<std::byte> rows_ = std::vector<std::byte>(50 * sizeof(AgedRecord));
  Sequence last_ = 0;
};

TEST_CASE("Every Nth record is measured, in every way of reading") {
  const std::uint32_t every = GENERATE(1u, 2u, 7u, 100u, 5000u);
  const Way way = GENERATE(Way::kTake, Way::kTakeBytes, Way::kWait, Way::kRead, Way::kInTurn);
  CAPTURE(every, static_cast<int>(way));
  TestBus bus;
  describe(bus, timed());
  bus.start();
  bus.publish(1500);  // the first of them are only in the journal
  bus.archive(1500);
  Subscriber subscriber = open_subscriber(measuring(bus, every));
  Reading reading(bus, subscriber, way);
  reading.until(1500);
  for (Sequence last = 1501; last < 1540; ++last) {
    bus.publish(1);
    reading.until(last);
  }
  bus.publish(700);
  reading.until(bus.head());
  check_measured(subscriber, bus, every_nth(1, every, bus.head()));
  CHECK(subscriber.counters().records == bus.head());
  CHECK(subscriber.counters().out_of_order == 0);
}

TEST_CASE("A wait for a measured record gets it, in every way to wait") {
  const WaitStrategy wait =
      GENERATE(WaitStrategy::kBusy, WaitStrategy::kBackoff, WaitStrategy::kPark);
  TestBus bus;
  describe(bus, timed());
  bus.start();
  bus.publish(10);
  SubscriberOptions options = measuring(bus, 1);
  options.wait = wait;
  Trace trace(bus, options);
  REQUIRE(trace.until(EventKind::kCaughtUp));
  trace.until_quiet();
  AgedRecord record{};
  for (Sequence n = 11; n < 15; ++n) {
    CHECK(trace.subscriber.read_one(record, std::chrono::microseconds(200)).error() ==
          Errc::kTimedOut);
    bus.publish(1);
    const Result<Sequence> taken = trace.subscriber.read_one(record, std::chrono::seconds(60));
    CHECK(taken.ok());
    CHECK(*taken == n);
    CHECK(std::memcmp(&record, bus.journal.record(n).data(), sizeof record) == 0);
    bus.beat();
  }
  check_measured(trace.subscriber, bus, every_nth(1, 1, 14));
}

TEST_CASE("A record that arrives while a call spins is measured like any other") {
  TestBus bus;
  describe(bus, timed());
  bus.start();
  bus.publish(10);
  SubscriberOptions options = measuring(bus, 1);
  options.wait = WaitStrategy::kBusy;
  Trace trace(bus, options);
  REQUIRE(trace.until(EventKind::kCaughtUp));
  trace.until_quiet();
  for (Sequence n = 11; n < 15; ++n) {
    AgedRecord record{};
    const Result<Sequence> taken =
        while_it_waits([&] { return trace.subscriber.read_one(record, std::chrono::seconds(60)); },
                       [&] { bus.publish(1); });
    REQUIRE(taken.ok());
    CHECK(*taken == n);
    bus.beat();
  }
  check_measured(trace.subscriber, bus, every_nth(1, 1, 14));
}

TEST_CASE("The path is open for records between two measured ones") {
  TestBus bus;
  describe(bus, timed());
  bus.start();
  bus.publish(10);
  Trace trace(bus, measuring(bus, 7));  // 1, 8, 15 …
  REQUIRE(trace.until(EventKind::kCaughtUp));
  trace.until_quiet();
  const detail::ReadPath& path = SubscriberAccess::path(trace.subscriber);
  CHECK(path.limit == 15);
  bus.publish(5);
  AgedRecord record{};
  for (Sequence n = 11; n < 15; ++n) {
    CHECK(path.next < path.limit);
    CHECK(*trace.subscriber.read_one(record, Deadline::now()) == n);
  }
  CHECK(path.next == path.limit);
  CHECK(*trace.subscriber.read_one(record, Deadline::now()) == 15);
  CHECK(path.limit == 22);
}

TEST_CASE("While every record is measured, a subscriber that finds none still does its upkeep") {
  TestBus bus;
  describe(bus, timed());
  bus.start();
  bus.publish(10);
  Trace trace(bus, measuring(bus, 1));
  REQUIRE(trace.until(EventKind::kCaughtUp));
  trace.until_quiet();
  CHECK(trace.subscriber.live());
  bus.publish(1);
  CHECK_FALSE(trace.subscriber.live());
  REQUIRE(trace.until_record(11));
  CHECK(trace.subscriber.live());
  bus.kill();
  SECTION("in calls that do not wait") {
    REQUIRE(trace.until(EventKind::kPublisherGone));
  }
  SECTION("in short waits") {
    AgedRecord record{};
    Result<Sequence> taken;
    const Deadline deadline = std::chrono::seconds(60);
    do {
      taken = trace.subscriber.read_one(record, std::chrono::microseconds(20));
    } while (taken.error() == Errc::kTimedOut && !deadline.has_passed());
    CHECK(taken.error() == Errc::kEventDue);
  }
  SECTION("in a wait set") {
    WaitSource* const source = SubscriberAccess::wait_source(trace.subscriber);
    const Deadline deadline = std::chrono::seconds(60);
    while (!source->is_ready() && !deadline.has_passed()) continue;
    AgedRecord record{};
    CHECK(trace.subscriber.read_one(record, Deadline::now()).error() == Errc::kEventDue);
  }
}

TEST_CASE("A wait set finds a record that is measured, and leaves it to the call") {
  TestBus bus;
  describe(bus, timed());
  bus.start();
  bus.publish(10);
  const std::uint32_t every = GENERATE(1u, 3u);
  Trace trace(bus, measuring(bus, every));
  REQUIRE(trace.until(EventKind::kCaughtUp));
  trace.until_quiet();
  WaitSource* const source = SubscriberAccess::wait_source(trace.subscriber);
  for (Sequence n = 11; n < 20; ++n) {
    CHECK_FALSE(source->is_ready());
    bus.publish(1);
    CHECK(source->is_ready());
    CHECK(source->is_ready());
    AgedRecord record{};
    CHECK(*trace.subscriber.read_one(record, Deadline::now()) == n);
  }
  check_measured(trace.subscriber, bus, every_nth(1, every, 19));
}

TEST_CASE("A forked child has the ages as of the fork") {
  TestBus bus;
  describe(bus, timed());
  bus.start();
  bus.publish(10);
  Trace trace(bus, measuring(bus, 1));
  REQUIRE(trace.until_record(10));
  ChildProcess child([&] {
    const std::optional<Ages> ages = trace.subscriber.ages();
    return ages && ages->age_ns.count() + ages->negative == 10 ? 0 : 1;
  });
  CHECK(child.wait() == 0);
}

TEST_CASE("After a skipped gap, the first record is measured") {
  TestBus bus(false);
  describe(bus, timed());
  bus.start();
  Trace trace(bus, measuring(bus, 100));
  bus.publish(10);
  REQUIRE(trace.until_record(10));
  bus.publish(2000);
  REQUIRE(trace.until(EventKind::kGap));
  REQUIRE(trace.until(ItemKind::kRecord));
  const Sequence resumed = trace.subscriber.counters().last;
  REQUIRE(resumed > 101);
  REQUIRE(trace.until_record(2010));
  std::vector<Sequence> chosen = every_nth(resumed, 100, 2010);
  chosen.push_back(1);
  check_measured(trace.subscriber, bus, chosen);
}

TEST_CASE(
    "The count restarts in each session, even with restarted sequences, and the ages include all") {
  TestBus bus(false);  // without a journal, each session is its own history
  describe(bus, timed());
  bus.start();
  Trace trace(bus, measuring(bus, 7));
  bus.publish(20);
  REQUIRE(trace.until_record(20));
  bus.close();
  REQUIRE(trace.until(EventKind::kClosed));
  bus.start();
  bus.publish(10);
  REQUIRE(trace.until(EventKind::kReset));
  REQUIRE(trace.until_record(10));
  check_measured(trace.subscriber, bus, {1, 8, 15, 1, 8});
}

TEST_CASE("Records without a time of publishing are not measured, and no age is 0 for that") {
  TestBus bus(false);
  std::uint32_t every = 1;
  SECTION("not described") {}
  SECTION("another time") {
    Schema schema = timed();
    schema.fields[1].role = FieldRole::kTime;
    describe(bus, schema);
  }
  SECTION("not asked for") {
    describe(bus, timed());
    every = 0;
  }
  bus.start();
  bus.publish(10);
  Trace trace(bus, measuring(bus, every));
  CHECK_FALSE(trace.subscriber.ages());
  REQUIRE(trace.until_record(10));
  CHECK_FALSE(trace.subscriber.ages());
}

TEST_CASE("Ages stay when the next session's records have no time of publishing") {
  TestBus bus(false);
  describe(bus, timed());
  bus.start();
  bus.publish(10);
  Trace trace(bus, measuring(bus, 2));
  REQUIRE(trace.until_record(10));
  bus.close();
  REQUIRE(trace.until(EventKind::kClosed));
  bus.schema = "bytes";
  bus.described_as = "";
  bus.start();
  bus.publish(20);
  REQUIRE(trace.until_record(20));
  check_measured(trace.subscriber, bus, every_nth(1, 2, 10));
}

}  // namespace
}  // namespace lapwing
