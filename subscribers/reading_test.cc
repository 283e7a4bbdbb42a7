// The three ways to read, and the causes that end a wait.
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "lapwing/subscriber.h"
#include "testing/bus_checkpoints.h"
#include "testing/bus_fixture.h"
#include "testing/environment.h"
#include "testing/far_deadline.h"
#include "testing/skip.h"
#include "testing/waiting_call.h"

namespace lapwing {
namespace {

struct Record {
  std::uint64_t words[7];
};
static_assert(sizeof(Record) == 56);

bool is_published(const TestBus& bus, Sequence n, const void* bytes) {
  return std::memcmp(bytes, bus.journal.record(n).data(), 56) == 0;
}

// Takes records up to the next event, which is not consumed.
Errc take_all(TestBus& bus, Subscriber& subscriber, Sequence& last) {
  Record record{};
  for (;;) {
    bus.turn();
    const Result<Sequence> taken = subscriber.read_one(record, Deadline::now());
    if (taken.error() == Errc::kWouldBlock) return taken.error();
    if (taken.error() != Errc::kOk) return taken.error();
    REQUIRE(*taken == last + 1);
    REQUIRE(is_published(bus, *taken, &record));
    last = *taken;
  }
}

Event next_event(TestBus& bus, Subscriber& subscriber) {
  for (const Deadline deadline = kHang; !deadline.has_passed();) {
    bus.turn();
    const Result<Item> item = subscriber.next(Deadline::now());
    if (item->event != nullptr) return *item->event;
    REQUIRE(came(item) == Came::kNothing);
  }
  FAIL("no event came");
  return {};
}

TEST_CASE("The first event describes the following records") {
  TestBus bus;
  bus.start();
  bus.publish(5);
  Subscriber subscriber = open_subscriber(bus.options());
  CHECK(subscriber.record_bytes() == 0);
  const Event first = next_event(bus, subscriber);
  CHECK(first.kind == EventKind::kSession);
  CHECK(first.is_first_session);
  CHECK(first.sequence == 1);
  CHECK(first.record_bytes == 56);
  CHECK(first.schema_name == "bytes");
  CHECK(first.session_id == bus.ring->header().session_id);
  CHECK(first.journal_id == bus.journal.current_journal_id());
  CHECK(subscriber.record_bytes() == 56);
}

TEST_CASE("take returns only records, and leaves an event where it is") {
  TestBus bus;
  bus.start();
  bus.publish(100);
  Subscriber subscriber = open_subscriber(bus.options());
  Sequence last = 0;
  Record record{};
  while (subscriber.read_one(record, Deadline::now()).error() != Errc::kEventDue) bus.turn();
  CHECK(subscriber.read_one(record, Deadline::now()).error() ==
        Errc::kEventDue);  // until it is read
  CHECK(next_event(bus, subscriber).kind == EventKind::kSession);
  CHECK(take_all(bus, subscriber, last) == Errc::kEventDue);
  CHECK(last == 100);
  CHECK(subscriber.position().sequence == 100);
  CHECK(next_event(bus, subscriber).kind == EventKind::kCaughtUp);
  CHECK(take_all(bus, subscriber, last) == Errc::kWouldBlock);
  bus.publish(3);
  CHECK(take_all(bus, subscriber, last) == Errc::kWouldBlock);
  CHECK(last == 103);
  CHECK(subscriber.counters().records == 103);
  CHECK(subscriber.head() == 103);
  CHECK(subscriber.lag() == 0);
  bus.publish(4);
  CHECK(subscriber.lag() == 4);
}

TEST_CASE("take refuses memory of another size than a record, without a loss") {
  TestBus bus;
  bus.start();
  bus.publish(3);
  Subscriber subscriber = open_subscriber(bus.options());
  REQUIRE(next_event(bus, subscriber).kind == EventKind::kSession);
  std::vector<std::byte> memory(80);
  for (const std::size_t size : {std::size_t{0}, std::size_t{55}, std::size_t{57}, memory.size()}) {
    CHECK(subscriber.read_one(std::span(memory).first(size), Deadline::now()).error() ==
          Errc::kRecordSize);
  }
  CHECK(subscriber.position().sequence == 0);
  Sequence last = 0;
  CHECK(take_all(bus, subscriber, last) == Errc::kEventDue);
  CHECK(last == 3);
}

TEST_CASE("read returns rows with their first sequence and count, or one event") {
  TestBus bus;
  bus.start();
  bus.publish(3000);
  Subscriber subscriber = open_subscriber(bus.options());
  std::vector<std::byte> rows(100 * 56 + 55);  // room for 100 and part of one
  std::vector<EventKind> events;
  Sequence last = 0;
  for (const Deadline deadline = kHang; last < 3010 && !deadline.has_passed();) {
    bus.turn();
    const Result<Batch> batch = subscriber.read(rows, Deadline::now());
    if (batch.error() == Errc::kWouldBlock) continue;
    REQUIRE(batch.ok());
    if (came(batch).is_event()) {
      CHECK(batch->count == 0);
      events.push_back(batch->event->kind);
      if (events.back() == EventKind::kCaughtUp) bus.publish(10);
      continue;
    }
    REQUIRE(came(batch) == ItemKind::kRecord);
    REQUIRE(batch->first == last + 1);
    REQUIRE(batch->count <= 100);
    REQUIRE(batch->row_bytes == 56);
    for (std::size_t i = 0; i < batch->count; ++i) {
      REQUIRE(is_published(bus, batch->first + i, rows.data() + i * 56));
    }
    last += batch->count;
    REQUIRE(subscriber.position().sequence == last);
  }
  CHECK(last == 3010);
  CHECK(events == std::vector{EventKind::kSession, EventKind::kCaughtUp});
}

TEST_CASE("read returns the size of a row if the memory is smaller, and consumes nothing") {
  TestBus bus;
  bus.start();
  bus.publish(3);
  Subscriber subscriber = open_subscriber(bus.options());
  std::vector<std::byte> rows(55);
  while (!came(subscriber.read(rows, Deadline::now())).is_event())
    bus.turn();  // an event needs no memory
  for (int i = 0; i < 3; ++i) {
    bus.turn();
    const Result<Batch> batch = subscriber.read(rows, Deadline::now());
    CHECK(batch.error() == Errc::kTooSmall);
    CHECK(batch->row_bytes == 56);
  }
  CHECK(subscriber.position().sequence == 0);
  Sequence last = 0;
  CHECK(take_all(bus, subscriber, last) == Errc::kEventDue);
  CHECK(last == 3);
  // An event is delivered no matter how small the memory is.
  CHECK(subscriber.read(rows, Deadline::now())->event->kind == EventKind::kCaughtUp);
}

TEST_CASE("After a clean close a subscriber with end_at_close ends without an error") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  SubscriberOptions options = bus.options();
  options.end_at_close = true;
  Subscriber subscriber = open_subscriber(options);
  Record record{};
  Sequence last = 0;
  REQUIRE(next_event(bus, subscriber).kind == EventKind::kSession);
  REQUIRE(take_all(bus, subscriber, last) == Errc::kEventDue);
  REQUIRE(next_event(bus, subscriber).kind == EventKind::kCaughtUp);
  bus.close();
  CHECK(next_event(bus, subscriber).kind == EventKind::kClosed);
  CHECK(subscriber.read_one(record, Deadline::never()).error() == Errc::kClosed);
  CHECK(subscriber.read_one(record, Deadline::never()).error() == Errc::kClosed);
  CHECK(subscriber.status().ok());
  CHECK(last == 10);
}

// Interrupts a call that waits.
template <typename Call>
void interrupt_ends(Subscriber& subscriber, const Call& call) {
  CHECK(while_it_waits(call, [&] { subscriber.interrupt(); }) == Errc::kInterrupted);
}

TEST_CASE("interrupt ends the wait under way, in every phase and every way to wait, or the next") {
  TestBus bus;
  SubscriberOptions options = bus.options();
  options.wait = GENERATE(WaitStrategy::kBusy, WaitStrategy::kBackoff, WaitStrategy::kPark);
  Subscriber subscriber = open_subscriber(options);
  Record record{};
  const auto take = [&] { return subscriber.read_one(record, kHang).error(); };
  interrupt_ends(subscriber, take);  // there is no bus yet
  bus.start();
  REQUIRE(next_event(bus, subscriber).kind == EventKind::kSession);
  REQUIRE(next_event(bus, subscriber).kind == EventKind::kCaughtUp);
  interrupt_ends(subscriber, take);
  std::vector<std::byte> rows(560);
  interrupt_ends(subscriber, [&] { return subscriber.read(rows, kHang).error(); });
  subscriber.interrupt();
  subscriber.interrupt();
  CHECK(take() == Errc::kInterrupted);
  CHECK(subscriber.read_one(record, std::chrono::milliseconds(1)).error() ==
        Errc::kTimedOut);  // only once
  bus.publish(1);
  CHECK(take() == Errc::kOk);
}

TEST_CASE("A call that overlaps one that waits is misuse, and disturbs nothing") {
  if (kThreadSanitizer) LAPWING_SKIP("the misuse is a data race, which a sanitizer reports");
  TestBus bus;
  SubscriberOptions options = bus.options();
  options.wait = WaitStrategy::kPark;
  Subscriber subscriber = open_subscriber(options);
  bus.start();
  REQUIRE(next_event(bus, subscriber).kind == EventKind::kSession);
  REQUIRE(next_event(bus, subscriber).kind == EventKind::kCaughtUp);
  Record record{};
  Result<Sequence> waited;
  std::thread waiting([&] { waited = subscriber.read_one(record, kHang); });
  Record another{};
  Errc overlapped = Errc::kOk;
  for (const Deadline deadline = kHang; overlapped != Errc::kMisuse && !deadline.has_passed();) {
    overlapped = subscriber.read_one(another, Deadline::now()).error();
  }
  CHECK(overlapped == Errc::kMisuse);
  bus.publish(1);
  bump_bell(doorbell_address(bus.ring->words()));
  futex_wake_all(doorbell_address(bus.ring->words()));
  waiting.join();
  CHECK(waited.ok());
  CHECK(*waited == 1);
  CHECK(is_published(bus, 1, &record));
}

TEST_CASE("A deadline is not a number, and one beyond the clock never passes") {
  STATIC_REQUIRE_FALSE(std::is_convertible_v<std::uint64_t, Deadline>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Deadline, int>);
  CHECK(Deadline(std::chrono::hours::max()).is_never());
  CHECK(Deadline(std::chrono::seconds(-1)) == Deadline::now());
  CHECK(Deadline::now().has_passed());
  CHECK_FALSE(Deadline::never().has_passed());
  CHECK_FALSE(Deadline(std::chrono::hours(1)).has_passed());
  CHECK(Deadline(std::chrono::steady_clock::now()).has_passed());
}

TEST_CASE("Contradictory options are refused when it is opened") {
  CHECK(errc_of(Subscriber::open({}).status()) == Errc::kInvalidArgument);
  SubscriberOptions options{.directory = "./nowhere"};
  options.start.position = StoredPosition{};  // with a start that is not after()
  CHECK(errc_of(Subscriber::open(options).status()) == Errc::kInvalidArgument);
}

TEST_CASE("A start refuses members that its kind does not use, and takes one fold") {
  const auto refusal = [](const Start& start) {
    const absl::Status status =
        Subscriber::open({.directory = "./nowhere", .start = start}).status();
    CHECK(errc_of(status) == Errc::kInvalidArgument);
    return std::string(status.message());
  };
  const auto says = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const auto fold = std::make_shared<TestFold>();
  for (const Start& whole :
       {Start::live(), Start::oldest(), Start::sequence(7), Start::time(7), Start::snapshot(),
        Start::snapshot(kFoldLatest), Start::snapshot(fold), Start::after({})}) {
    CHECK(Subscriber::open({.directory = "./nowhere", .start = whole}).ok());
    Start numbered = whole;
    numbered.value = 8;
    if (whole.value == 0)
      CHECK(says(refusal(numbered), "Start::value is 8, but only Start::sequence()"));
    Start named = whole;
    named.fold = kFoldOrders;
    if (whole.kind != Start::Kind::kSnapshot) {
      CHECK(says(refusal(named), "Start::fold or own_fold is set, but only"));
    } else if (whole.own_fold != nullptr) {
      CHECK(says(refusal(named), "fold (orders) and own_fold ("));
    }
    Start folded = whole;
    folded.own_fold = fold;
    if (whole.kind != Start::Kind::kSnapshot) {
      CHECK(says(refusal(folded), "Start::fold or own_fold is set, but only"));
    } else if (!whole.fold.empty()) {
      CHECK(says(refusal(folded), "fold (latest) and own_fold ("));
    }
  }
}

}  // namespace
}  // namespace lapwing
