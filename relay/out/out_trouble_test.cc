#include <catch2/catch.hpp>
#include <random>

#include "lapwing/error.h"
#include "relay/out/out_machine.h"
#include "testing/publisher_fixture.h"
#include "testing/relay_out_fixture.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

// A bus whose test publishes records of 56 bytes.
struct Feed {
  Feed() {
    options = options_for(directory);
    options.capacity = 4096;
    publisher = open_publisher(options);
  }
  void publish(Sequence count) {
    for (; count > 0; --count) REQUIRE(publisher->publish(record_of(++last)).ok());
  }
  RelayOutOptions out() const {
    RelayOutOptions made;
    made.directory = options.directory;
    return made;
  }

  TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  PublisherSetUp options;
  ClosingPublisher publisher;
  Sequence last = 0;
};

bool has_all(OutBench& out, const Feed& feed) {
  const Lane& lane = out.machine->log_lane();
  return out.machine->is_in_step() && out.machine->is_stored() && lane.last &&
         lane.last->sequence == feed.last;
}

}  // namespace

TEST_CASE("Under loss, delay, cuts and freezes, the stream has each record once and in order") {
  const auto seed = GENERATE(range(1u, 9u));
  INFO("seed " << seed);
  Feed feed;
  RelayNetwork network(seed);
  network.set_faults({.loss_percent = 5,
                      .duplicate_percent = 5,
                      .delay_ns_max = 20 * kMs,
                      .ack_loss_percent = 2,
                      .ack_delay_ns_max = 30 * kMs});
  OutBench out(network, feed.out());
  std::mt19937_64 random(seed);
  std::uint64_t frozen_until_ns = 0;
  const auto trouble = [&] {
    if (feed.last < 20'000) feed.publish(random() % 4);
    if (random() % 500 == 0) network.cut("origin");
    if (frozen_until_ns == 0 && random() % 2000 == 0) {
      network.freeze("origin");
      frozen_until_ns = network.now_ns() + random() % 5000 * kMs;
    }
    if (frozen_until_ns != 0 && network.now_ns() >= frozen_until_ns) {
      network.thaw("origin");
      frozen_until_ns = 0;
    }
    if (random() % 500 == 0) network.fail_appends(RelayAckResult::kTimedOut, 3);
    if (random() % 500 == 0) network.fail_appends(RelayAckResult::kNoSpace, 3);
  };
  REQUIRE(out.until([&] { return feed.last >= 20'000; }, trouble));
  network.thaw("origin");
  network.fail_appends(RelayAckResult::kNoSpace, 0);
  network.set_faults({});
  const bool is_complete = out.until([&] { return has_all(out, feed); });
  INFO(out.status.ToString());
  REQUIRE(is_complete);
  const RelayedList stream = stream_of(network);
  CHECK(runs_of(stream) == Runs{{1, feed.last}});
  require_announced(stream);
  CHECK(network.counts().cut > 0);
  CHECK(out.machine->counts().doubts > 1);
}

TEST_CASE("A stream that is restored from an older state gets what it lost, once") {
  Feed feed;
  RelayNetwork network(1);
  OutBench out(network, feed.out());
  feed.publish(1000);
  REQUIRE(out.until([&] { return has_all(out, feed); }));
  const auto copy = network.copy_stream();
  REQUIRE(out.until([&] { return has_all(out, feed) && feed.last >= 3000; },
                    [&] {
                      if (feed.last < 3000) feed.publish(10);
                    }));
  network.restore_stream(copy);
  REQUIRE(out.until([&] { return has_all(out, feed) && feed.last >= 4000; },
                    [&] {
                      if (feed.last < 4000) feed.publish(10);
                    }));
  CHECK(runs_of(stream_of(network)) == Runs{{1, feed.last}});
  CHECK(out.machine->role() == Standby::Role::kActive);
}

TEST_CASE("A stream that was deleted is made again, and continues with the next records") {
  Feed feed;
  RelayNetwork network(1);
  OutBench out(network, feed.out());
  feed.publish(1000);
  REQUIRE(out.until([&] { return has_all(out, feed); }));
  Listener listener(network, {RelaySubject::kLog, RelaySubject::kLive});
  network.delete_stream();
  REQUIRE(out.until([&] { return out.machine->counts().doubts > 1 && has_all(out, feed); },
                    [&] { feed.publish(feed.last < 2000 ? 10 : 0); }));
  feed.publish(100);
  REQUIRE(out.until([&] { return has_all(out, feed); }));
  const Runs runs = runs_of(stream_of(network));
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].first > 1000);
  CHECK(runs[0].last == feed.last);
  // Nothing was withheld from those who listened.
  std::vector<bool> came(feed.last + 1);
  for (const Run& run : runs_of(listener.take())) {
    for (Sequence n = run.first; n <= run.last; ++n) came[n] = true;
  }
  CHECK(std::count(came.begin() + 1001, came.end(), false) == 0);
}

TEST_CASE("While the stream stores nothing, live goes on, and then the stream catches up") {
  Feed feed;
  RelayNetwork network(1);
  OutBench out(network, feed.out());
  feed.publish(100);
  REQUIRE(out.until([&] { return has_all(out, feed); }));
  Listener listener(network, {RelaySubject::kLog, RelaySubject::kLive});
  network.hold_stream(true);
  std::uint64_t rest_ns = 0;
  std::uint64_t moved_ns = network.now_ns();
  Sequence newest = 100;
  out.run_for(8'000 * kMs, [&] {
    feed.publish(1);
    if (listener.newest() != newest) moved_ns = network.now_ns();
    newest = listener.newest();
    rest_ns = std::max(rest_ns, network.now_ns() - moved_ns);
  });
  CHECK(rest_ns < 1'000 * kMs);
  CHECK(newest + 10 > feed.last);
  CHECK(out.machine->counts().live > 0);
  network.hold_stream(false);
  REQUIRE(out.until([&] { return has_all(out, feed); }));
  CHECK(runs_of(stream_of(network)) == Runs{{1, feed.last}});
  CHECK_FALSE(out.machine->live_lane().is_open());
}

TEST_CASE("A stream without space gets what it lacks once there is some") {
  Feed feed;
  RelayNetwork network(1);
  OutBench out(network, feed.out());
  feed.publish(100);
  REQUIRE(out.until([&] { return has_all(out, feed); }));
  Listener listener(network, {RelaySubject::kLog, RelaySubject::kLive});
  network.fail_appends(RelayAckResult::kNoSpace, 1'000'000);
  out.run_for(10'000 * kMs, [&] { feed.publish(1); });
  CHECK(listener.newest() + 10 > feed.last);
  CHECK(runs_of(stream_of(network)) == Runs{{1, 100}});
  network.fail_appends(RelayAckResult::kNoSpace, 0);
  REQUIRE(out.until([&] { return has_all(out, feed); }));
  CHECK(runs_of(stream_of(network)) == Runs{{1, feed.last}});
}

TEST_CASE("Records further back than the stream holds are skipped there") {
  Feed feed;
  RelayNetwork network(1);
  RelayOutOptions options = feed.out();
  options.stream.bytes_max = 1000 * 56;
  {
    OutBench out(network, options);
    feed.publish(100);
    REQUIRE(out.until([&] { return has_all(out, feed); }));
  }
  feed.publish(5000);
  OutBench out(network, options);
  REQUIRE(out.until([&] { return has_all(out, feed); }));
  CHECK(out.machine->counts().skipped == 4000);
  CHECK(out.machine->counts().records == 1000);
}

TEST_CASE("Of two outs one sends, and the other one takes over when it is gone") {
  Feed feed;
  RelayNetwork network(1);
  OutBench first(network, feed.out(), "first");
  feed.publish(100);
  REQUIRE(first.until([&] { return has_all(first, feed); }));
  OutBench second(network, feed.out(), "second");
  const auto both = [&] { first.turn(); };
  second.run_for(5'000 * kMs, [&] {
    both();
    feed.publish(1);
  });
  REQUIRE(second.machine->role() == Standby::Role::kStandby);
  CHECK(second.machine->counts().messages == 0);
  REQUIRE(first.until([&] { return has_all(first, feed); }));
  network.refuse("first", true);
  network.cut("first");
  const std::uint64_t gone_ns = network.now_ns();
  REQUIRE(second.until([&] { return second.machine->role() == Standby::Role::kActive; },
                       [&] { feed.publish(1); }));
  CHECK(network.now_ns() - gone_ns < 2'000 * kMs);
  REQUIRE(second.until([&] { return has_all(second, feed); }));
  CHECK(second.machine->counts().takeovers == 1);
  CHECK(runs_of(stream_of(network)) == Runs{{1, feed.last}});

  // The first one returns, finds the tail moved, and stands by.
  network.refuse("first", false);
  REQUIRE(second.until(
      [&] {
        return first.machine->role() == Standby::Role::kStandby && has_all(second, feed) &&
               feed.last > 8'000;
      },
      [&] {
        both();
        if (feed.last <= 8'000) feed.publish(1);
      }));
  CHECK(second.machine->role() == Standby::Role::kActive);
  CHECK(runs_of(stream_of(network)) == Runs{{1, feed.last}});
}

TEST_CASE("An out whose appends are overtaken by another one steps back") {
  Feed feed;
  RelayNetwork network(1);
  OutBench first(network, feed.out(), "first");
  feed.publish(100);
  REQUIRE(first.until([&] { return has_all(first, feed); }));
  // The other one does not hear it, as after a partition.
  network.freeze("first");
  OutBench second(network, feed.out(), "second");
  feed.publish(100);
  REQUIRE(second.until([&] { return has_all(second, feed); }));
  network.thaw("first");
  feed.publish(100);
  REQUIRE(second.until(
      [&] { return first.machine->role() == Standby::Role::kStandby && has_all(second, feed); },
      [&] { first.turn(); }));
  CHECK(runs_of(stream_of(network)) == Runs{{1, feed.last}});
}

}  // namespace lapwing
