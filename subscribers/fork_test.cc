// A forked child keeps nothing of its parent's readers that would outlive them, and nothing that
// reads unmapped memory.
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "lapwing/history.h"
#include "lapwing/load_state.h"
#include "lapwing/subscriber.h"
#include "testing/bus_checkpoints.h"
#include "testing/bus_fixture.h"
#include "testing/child_process.h"
#include "testing/control_fixture.h"
#include "testing/process_descriptors.h"
#include "testing/skip.h"

namespace lapwing {
namespace {

constexpr std::chrono::seconds kHang{60};

struct Record {
  std::uint64_t words[7];
};

bool is_forked(const absl::Status& status) {
  return errc_of(status) == Errc::kForked &&
         status.message().find("open another one here") != absl::string_view::npos;
}

// The line of the first call that does not return kForked in a child; 0 if all do.
int try_every_call(Subscriber& subscriber, const StoredPosition& position) {
  Record record{};
  std::vector<std::byte> rows(10 * sizeof record);
  if (!is_forked(subscriber.status())) return __LINE__;
  if (subscriber.read_one(record, Deadline::now()).error() != Errc::kForked) return __LINE__;
  if (subscriber.read_one(record, Deadline::never()).error() != Errc::kForked) return __LINE__;
  if (subscriber.read_one(std::span(rows).first(3), Deadline::now()).error() != Errc::kForked)
    return __LINE__;
  for (const std::size_t bytes : {rows.size(), std::size_t{3}, std::size_t{0}}) {
    if (subscriber.read(std::span(rows).first(bytes), Deadline::never()) != Errc::kForked)
      return __LINE__;
  }
  if (subscriber.next() != Errc::kForked) return __LINE__;
  if (subscriber.read_event() != Errc::kForked) return __LINE__;
  subscriber.interrupt();
  if (subscriber.read_one(record, Deadline::never()).error() != Errc::kForked) return __LINE__;
  if (!is_forked(subscriber.fd().status()) || subscriber.arm()) return __LINE__;
  if (subscriber.head() != 0 || subscriber.lag() != 0 || subscriber.durable() != 0) return __LINE__;
  if (subscriber.position() != position || !is_forked(subscriber.status())) return __LINE__;
  return 0;
}

// Reads records until `last` has been delivered, and every event before it.
void take_through(TestBus& bus, Subscriber& subscriber, Sequence last) {
  for (const Deadline deadline = kHang; !deadline.has_passed();) {
    bus.turn();
    const Result<Item> item = subscriber.next(Deadline::now());
    if (came(item) == ItemKind::kRecord && item->sequence == last) return;
    REQUIRE(came(item) != Came::kEnd);
  }
  FAIL("record " << last << " did not come");
}

TEST_CASE("Every call of a subscriber returns forked in a child, and its parent continues") {
  TestBus bus;
  bus.start();
  bus.publish(3000);
  Subscriber subscriber = open_subscriber(bus.options());
  Sequence taken = 0;
  SECTION("before its first call") {}
  SECTION("while it joins") {
    REQUIRE(came(subscriber.next(Deadline::now())) == Came::kNothing);
  }
  SECTION("in the journal") {
    take_through(bus, subscriber, taken = 7);
  }
  SECTION("in the ring") {
    take_through(bus, subscriber, taken = 2990);
  }
  SECTION("with a helper thread") {
    take_through(bus, subscriber, taken = 2990);
    REQUIRE(subscriber.fd().ok());
  }
  SECTION("with an event that is due") {
    take_through(bus, subscriber, taken = 3000);
    bus.publish(2 * TestBus::kCapacity);
    Record record{};
    while (subscriber.read_one(record, Deadline::now()).error() != Errc::kEventDue) bus.turn();
  }
  const StoredPosition position = subscriber.position();
  const Sequence last = bus.next() - 1;
  ChildProcess child([&] {
    if (const int line = try_every_call(subscriber, position); line != 0) return line;
    Subscriber moved = std::move(subscriber);
    if (!is_forked(moved.status())) return __LINE__;
    auto other = Subscriber::open(bus.options());
    if (!other.ok()) return __LINE__;
    moved = *std::move(other);
    return moved.status().ok() ? 0 : __LINE__;
  });
  CHECK(child.wait() == 0);
  CHECK(subscriber.position() == position);
  take_through(bus, subscriber, last);
  CHECK(subscriber.counters().records == last);
  CHECK(subscriber.status().ok());
}

TEST_CASE("A subscriber that has ended also returns forked in a child") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  SubscriberOptions options = bus.options();
  options.end_at_close = true;
  Subscriber subscriber = open_subscriber(options);
  take_through(bus, subscriber, 10);
  bus.close();
  Record record{};
  const Deadline deadline = kHang;
  while (subscriber.read_one(record, Deadline::now()).error() != Errc::kClosed &&
         !deadline.has_passed()) {
    if (subscriber.read_event().ok()) continue;
  }
  const StoredPosition position = subscriber.position();
  ChildProcess child([&] { return try_every_call(subscriber, position); });
  CHECK(child.wait() == 0);
  CHECK(subscriber.status().ok());
}

TEST_CASE("A child forked while another thread waits gets forked from the subscriber") {
  if (kThreadSanitizer) LAPWING_SKIP("the misuse is a data race, which a sanitizer reports");
  TestBus bus;
  bus.start();
  bus.publish(10);
  SubscriberOptions options = bus.options();
  options.wait = WaitStrategy::kPark;
  Subscriber subscriber = open_subscriber(options);
  take_through(bus, subscriber, 10);
  while (came(subscriber.next(Deadline::now())) != Came::kNothing) bus.turn();
  Result<Item> item;
  std::thread waiting([&] { item = subscriber.next(Deadline::never()); });
  const StoredPosition position = subscriber.position();
  for (Record record{}; subscriber.read_one(record, Deadline::now()).error() != Errc::kMisuse;)
    bus.turn();
  ChildProcess child([&] { return try_every_call(subscriber, position); });
  CHECK(child.wait() == 0);
  subscriber.interrupt();
  waiting.join();
  CHECK(item == Errc::kInterrupted);
}

TEST_CASE("A child has neither the descriptors nor the mappings of a subscriber") {
  TestBus bus;
  bus.start();
  bus.publish(3000);
  const std::set<int> before = descriptor_numbers();
  const std::string before_program = descriptors_of_program();
  Subscriber subscriber = open_subscriber(bus.options());
  take_through(bus, subscriber, 7);
  REQUIRE(subscriber.fd().ok());
  History history = *History::open(bus.directory());
  REQUIRE(descriptor_numbers().size() > before.size() + 3);
  REQUIRE(maps(".ring"));
  ChildProcess child([&] {
    if (!is_subset(descriptor_numbers(), before)) return 1;
    return maps(".ring") ? 2 : 0;
  });
  CHECK(child.wait() == 0);
  CHECK(descriptors_of_program() == before_program);
}

TEST_CASE("A child that destroys its parent's subscriber and history does not unmap them") {
  TestBus bus;
  bus.start();
  bus.publish(3000);
  bus.archive(3000);
  std::optional<Subscriber> subscriber;
  std::optional<History> history;
  SECTION("subscriber") {
    subscriber = open_subscriber(bus.options());
    take_through(bus, *subscriber, 7);
  }
  SECTION("history") {
    history = *History::open(bus.directory());
  }
  void* const place = mapping_of(".ring");
  REQUIRE(place != nullptr);
  ChildProcess child([&] {
    const PageInPlace page(place);
    if (!page.stands()) return 1;
    subscriber.reset();
    history.reset();
    return page.stands() ? 0 : 2;
  });
  CHECK(child.wait() == 0);
}

TEST_CASE("A subscriber that ends is gone for its publisher, although a child lives") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  std::optional<Subscriber> subscriber(open_subscriber(bus.options()));
  take_through(bus, *subscriber, 10);
  REQUIRE(bus.server->subscriber_count() == 1);
  const ChildProcess child([] {
    for (;;) pause();
    return 0;
  });
  subscriber.reset();
  for (const Deadline deadline = kHang; bus.server->subscriber_count() != 0;) {
    REQUIRE_FALSE(deadline.has_passed());
    bus.turn();
  }
  CHECK(kill(child.pid(), 0) == 0);
}

TEST_CASE("A child can continue at its parent's position with its own subscriber") {
  TestBus bus;
  bus.start();
  bus.publish(100);
  Subscriber subscriber = open_subscriber(bus.options());
  take_through(bus, subscriber, 40);
  const auto read_on = [&] {
    auto own = Subscriber::open(bus.options(Start::after(subscriber.position())));
    if (!own.ok()) return 1;
    Sequence last = 40;
    for (const Deadline deadline = kHang; last < 100 && !deadline.has_passed();) {
      const Result<Item> item = own->next(deadline);
      if (came(item) != ItemKind::kRecord) continue;
      if (item->sequence != last + 1) return 2;
      last = item->sequence;
    }
    return last == 100 && own->status().ok() ? 0 : 3;
  };
  CHECK(run_in_child(read_on, [&] { bus.turn(); }) == 0);
  take_through(bus, subscriber, 100);
}

TEST_CASE("Every call of a history returns forked in a child, and its parent continues") {
  TestBus bus;
  bus.start();
  bus.publish(300);
  bus.archive(300);
  History history = *History::open(bus.directory());
  std::vector<std::byte> rows(100 * sizeof(Record));
  REQUIRE(history.read(1, rows)->count == 100);
  ChildProcess child([&] {
    if (history.read(101, rows).error() != Errc::kForked) return __LINE__;
    if (history.read(0, rows).error() != Errc::kForked) return __LINE__;
    if (!is_forked(history.find_time(0).status())) return __LINE__;
    if (!is_forked(history.map(1).status())) return __LINE__;
    if (!is_forked(history.status())) return __LINE__;
    if (history.info().record_bytes != 0 || history.info().archived != 0) return __LINE__;
    auto own = History::open(bus.directory());
    if (!own.ok() || own->read(101, rows)->count != 100) return __LINE__;
    history = *std::move(own);
    return history.read(201, rows)->count == 100 ? 0 : __LINE__;
  });
  CHECK(child.wait() == 0);
  CHECK(history.read(101, rows)->count == 100);
  CHECK(history.status().ok());
}

TEST_CASE("A child has a loaded state as of the fork, and gets forked if it continues") {
  TestBus bus;
  const auto fold = std::make_shared<TestFold>();
  bus.start();
  bus.publish(500);
  bus.archive(500);
  write_checkpoint(bus, *fold, 300);
  bus.close();
  std::optional<LoadedState> loaded(
      *load_state(bus.options(Start::snapshot(fold)), Deadline(kHang)));
  const std::uint64_t digest = loaded->state().digest();
  ChildProcess child([&] {
    Record record{};
    std::vector<std::byte> rows(10 * sizeof record);
    if (came(loaded->next(Deadline::never())) != Came::kEnd) return __LINE__;
    if (loaded->read_one(record, Deadline::now()).error() != Errc::kForked) return __LINE__;
    if (loaded->read(rows, Deadline::now()).error() != Errc::kForked) return __LINE__;
    if (!is_forked(loaded->fd().status()) || loaded->arm()) return __LINE__;
    if (!is_forked(loaded->subscriber().status())) return __LINE__;
    if (loaded->as_of() != 500 || loaded->state().digest() != digest) return __LINE__;
    loaded.reset();
    return 0;
  });
  CHECK(child.wait() == 0);
  CHECK(loaded->state().digest() == digest);
}

}  // namespace
}  // namespace lapwing
