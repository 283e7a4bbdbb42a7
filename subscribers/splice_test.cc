// The splice of journal and ring under random steps of everything that moves: publishing,
// archiving, joining from anywhere, reading one by one or in batches, deaths, recoveries and
// closes. Each seed is one history; what was delivered must be exactly what was published.
#include <catch2/catch.hpp>
#include <random>

#include "subscribers/test_bus.h"

namespace lapwing {
namespace {

class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed) { bus_.start(); }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
    if (bus_.server == nullptr) restart();
    const std::uint64_t deadline_ns = monotonic_ns() + 60'000'000'000;  // ends a hang
    while (expected_ < bus_.next() || !caught_up_) {
      take(400);
      REQUIRE(monotonic_ns() < deadline_ns);
    }
  }

  std::uint64_t kills = 0;
  std::uint64_t gaps = 0;
  std::uint64_t from_start = 0;

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  void step() {
    const std::uint64_t dice = below(1000);
    if (bus_.server == nullptr) return restart();
    if (dice < 500) return take(1 + below(300));
    if (dice < 800) return bus_.publish(below(30));
    if (dice < 930) return bus_.publish(below(700));
    if (dice < 980) return archive_some();
    if (dice < 990) return join();
    stop();
  }

  void archive_some() {
    const Sequence left = bus_.head() - bus_.archived();
    if (left > 0) bus_.archive(bus_.archived() + 1 + below(left));
  }

  // Another subscriber, or a first one, from a random place.
  void join() {
    const Sequence from = 1 + below(bus_.next());
    SubscriberOptions options = bus_.options(Start::at(from));
    options.reattach_ns = 60'000'000'000;
    subscriber_.emplace(options);
    expected_ = from;
    caught_up_ = false;
    ++from_start;
  }

  // Dies in the middle of things, or closes.
  void stop() {
    if (below(3) == 0) return bus_.close();
    bus_.publish_without_head(below(20));
    bus_.kill();
    recovered_ = false;
    ++kills;
  }
  void restart() {
    if (below(2) == 0) take(1 + below(100));
    if (!std::exchange(recovered_, true)) bus_.recover();
    bus_.start();
  }

  // Takes up to `count` items, one by one or in batches.
  void take(std::uint64_t count) {
    if (!subscriber_) return join();
    for (; count > 0; --count) {
      bus_.turn();
      if (below(5) == 0) take_batch();
      const Item item = subscriber_->poll();
      if (item.kind == ItemKind::kRecord) {
        check(item.sequence, subscriber_->record());
        ++expected_;
      }
      REQUIRE(item.kind != ItemKind::kLost);
      REQUIRE(item.kind != ItemKind::kReset);
      REQUIRE(item.kind != ItemKind::kEnded);
      if (item.kind == ItemKind::kCaughtUp) caught_up_ = true;
      if (item.kind == ItemKind::kGap) {
        REQUIRE(caught_up_);
        REQUIRE(item.gap.first == expected_);
        REQUIRE(item.gap.fillable);
        ++gaps;
      }
      if (subscriber_->counters().sessions == 0) continue;  // not joined yet
      REQUIRE(subscriber_->position().sequence == expected_ - 1);
    }
  }
  void take_batch() {
    batch_.resize((1 + below(200)) * 56);
    const std::size_t count = subscriber_->poll_batch(batch_);
    for (std::size_t i = 0; i < count; ++i, ++expected_) {
      check(expected_, std::span(batch_).subspan(i * 56, 56));
    }
  }
  void check(Sequence n, std::span<const std::byte> record) {
    REQUIRE(n == expected_);
    const std::vector<std::byte> expected = bus_.journal.record(n);
    REQUIRE(std::equal(record.begin(), record.end(), expected.begin(), expected.end()));
  }

  std::mt19937_64 random_;
  TestBus bus_;
  std::optional<Subscriber> subscriber_;
  std::vector<std::byte> batch_;
  Sequence expected_ = 1;
  bool caught_up_ = true;
  bool recovered_ = true;
};

TEST_CASE("Whatever happens in whatever order, each sequence is delivered once and in order") {
  const std::uint64_t first_seed = std::random_device()();
  std::uint64_t kills = 0;
  std::uint64_t gaps = 0;
  std::uint64_t joins = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + 8; ++seed) {
    INFO("seed " << seed);
    History history(seed);
    history.run(400);
    kills += history.kills;
    gaps += history.gaps;
    joins += history.from_start;
  }
  CHECK(kills > 0);  // or this has shown nothing
  CHECK(gaps > 0);
  CHECK(joins > 8);
}

}  // namespace
}  // namespace lapwing
