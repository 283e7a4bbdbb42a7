// Getting the folded state in one call: as of the join, from any source, and continued afterwards.
#include "lapwing/load_state.h"

#include <array>
#include <catch2/catch.hpp>
#include <utility>

#include "lapwing/error.h"
#include "testing/bus_checkpoints.h"
#include "testing/bus_fixture.h"
#include "testing/far_deadline.h"

namespace lapwing {
namespace {

// Calls load_state() on a bus that was closed, so that it gets all records.
LoadedState load_closed(const TestBus& bus, const std::shared_ptr<TestFold>& fold) {
  auto loaded = load_state(bus.options(Start::snapshot(fold)), kHang);
  REQUIRE(loaded.ok());
  return *std::move(loaded);
}

TEST_CASE("The state is the checkpoint and everything after it, up to the join") {
  const Sequence as_of = GENERATE(as<Sequence>{}, 1, 300, 1700, 5000);
  TestBus bus;
  const auto fold = std::make_shared<TestFold>();
  bus.start();
  bus.publish(5000);
  bus.archive(5000);
  const std::string path = write_checkpoint(bus, *fold, as_of);
  bus.close();
  const LoadedState loaded = load_closed(bus, fold);
  CHECK(loaded.as_of() == 5000);
  CHECK(loaded.settled());
  CHECK(loaded.state().digest() == state_of(*fold, bus, 5000).digest());
  CHECK(loaded.origin().find(path) != std::string::npos);
}

TEST_CASE(
    "Without a checkpoint all existing records are folded, and the others are lost to the state") {
  const bool pruned = GENERATE(false, true);
  TestBus bus;
  const auto fold = std::make_shared<TestFold>();
  bus.start();
  bus.publish(5000);
  bus.archive(5000);
  if (pruned) bus.prune_below_segment(2);
  bus.close();
  const LoadedState loaded = load_closed(bus, fold);
  MemoryState expected(fold->shape());
  if (pruned) fold->lose({1, 2048, 2049, GapCause::kPruned, false}, expected);
  for (Sequence n = pruned ? 2049 : 1; n <= 5000; ++n) {
    fold->apply(n, bus.journal.record(n), expected);
  }
  CHECK(loaded.state().digest() == expected.digest());
  CHECK(loaded.origin().find("no checkpoint in") != std::string::npos);
}

TEST_CASE("A void after the checkpoint is lost to the state") {
  TestBus bus;
  const auto fold = std::make_shared<TestFold>();
  bus.start();
  bus.publish(500);
  bus.archive(500);
  write_checkpoint(bus, *fold, 400);
  bus.kill();
  bus.cut(500);
  bus.start();
  const Sequence first = bus.next();
  bus.publish(20);
  bus.close();
  const LoadedState loaded = load_closed(bus, fold);
  MemoryState expected = state_of(*fold, bus, 500);
  fold->lose({501, first - 1, first, GapCause::kVoid, false}, expected);
  for (Sequence n = first; n < first + 20; ++n) fold->apply(n, bus.journal.record(n), expected);
  CHECK(loaded.as_of() == first + 19);
  CHECK(loaded.state().digest() == expected.digest());
}

TEST_CASE("Records after the call are taken item by item, and events also by take_event") {
  const bool by_take = GENERATE(false, true);
  TestBus bus;
  const auto fold = std::make_shared<TestFold>();
  bus.start();
  bus.publish(2000);
  bus.archive(2000);
  write_checkpoint(bus, *fold, 1500);
  bus.close();
  LoadedState loaded = load_closed(bus, fold);
  bus.start();
  bus.publish(700);
  const Deadline deadline = kHang;
  const auto step = [&] {
    bus.turn();
    std::array<std::byte, 56> record;
    if (!by_take) {
      (void)loaded.next(Deadline::now());
    } else if (loaded.read_one(record, Deadline::now()).error() == Errc::kEventDue) {
      REQUIRE(loaded.read_event().ok());
    }
  };
  while (loaded.as_of() < 2700 && !deadline.has_passed()) step();
  CHECK(loaded.state().digest() == state_of(*fold, bus, 2700).digest());

  SECTION("another journal begins with nothing, and without what came before it") {
    bus.fail_journal();
    bus.close();
    bus.start();
    bus.publish(100);
    while (loaded.as_of() != 100 && !deadline.has_passed()) step();
    MemoryState expected(fold->shape());
    fold->lose(kMissingBeginning, expected);
    for (Sequence n = 1; n <= 100; ++n) fold->apply(n, bus.journal.record(n), expected);
    CHECK(loaded.state().digest() == expected.digest());
  }
  SECTION("what is lost is lost to it") {
    bus.publish(5000);
    bus.prune_below_segment(6);
    while (loaded.as_of() < 7700 && !deadline.has_passed()) step();
    MemoryState expected = state_of(*fold, bus, 2700);
    const SubscriberCounters& counters = loaded.subscriber().counters();
    REQUIRE(counters.lost > 0);
    fold->lose({2701, 2700 + counters.lost, 0, GapCause::kPruned, false}, expected);
    for (Sequence n = 2701 + counters.lost; n <= 7700; ++n) {
      fold->apply(n, bus.journal.record(n), expected);
    }
    CHECK(loaded.state().digest() == expected.digest());
  }
}

// Its first record takes until `until_ns`.
struct SlowFold : TestFold {
  void apply(Sequence sequence, std::span<const std::byte> record,
             FoldState& state) const override {
    while (monotonic_ns() < until_ns) continue;
    TestFold::apply(sequence, record, state);
  }
  std::uint64_t until_ns = 0;
};

TEST_CASE("A state that is incomplete at the deadline is not returned, however large it is") {
  TestBus bus;
  bus.start();
  bus.publish(5000);
  bus.close();
  const auto fold = std::make_shared<SlowFold>();
  fold->until_ns = monotonic_ns() + 200'000'000;
  const auto late =
      load_state(bus.options(Start::snapshot(fold)), Deadline::at_monotonic_ns(fold->until_ns));
  CHECK(errc_of(late.status()) == Errc::kTimedOut);
}

TEST_CASE("A state is requested as a whole, and not returned after the deadline") {
  TestBus bus;
  CHECK(errc_of(load_state(bus.options(Start::oldest()), Deadline::now()).status()) ==
        Errc::kInvalidArgument);
  SubscriberOptions continued = bus.options(Start::snapshot());
  continued.start = Start::after({});
  CHECK(errc_of(load_state(continued, Deadline::now()).status()) == Errc::kInvalidArgument);
  CHECK(errc_of(load_state(bus.options(Start::snapshot()), Deadline::now()).status()) ==
        Errc::kTimedOut);
  SubscriberOptions impatient = bus.options(Start::snapshot());
  impatient.reattach = {};
  CHECK(errc_of(load_state(impatient, kHang).status()) == Errc::kNoBus);
}

}  // namespace
}  // namespace lapwing
