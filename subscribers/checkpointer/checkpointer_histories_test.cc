// Random histories: publishers that close, are killed and recovered, or lose power; journals that
// lag behind; checkpointers that end cleanly or are killed. The final state must be the fold of all
// durable records, each folded once.
#include <catch2/catch.hpp>
#include <memory>
#include <random>

#include "testing/checkpointer_fixture.h"
#include "testing/environment.h"

namespace lapwing {
namespace {

constexpr int kMomentsInHistory = 80;

class RandomHistory {
 public:
  explicit RandomHistory(std::uint64_t seed) : random_(seed) {
    options_ = options_for(bus_);
    options_.pending_bytes_max = 100 * 56;
    options_.durable_stall_ns = 2 * kMs;
    options_.every_records = 500;
    start();
  }

  void live() {
    following_ = std::make_unique<Following>(bus_, options_);
    for (int i = 0; i < kMomentsInHistory; ++i) {
      moment();
      pass(below(4));
    }
    if (!is_published_) start();
    bus_.publish(100);
    bus_.close();
    reference_.fold_through(bus_.head());
    REQUIRE(following_->until_folded(reference_.settled()));
    CHECK(following_->checkpointer->counters().resets == 0);
    REQUIRE(following_->checkpointer->finish().ok());
    CHECK(following_->checkpointer->committed()->sequence == reference_.settled());
    CHECK(following_->digest() == reference_.settled_digest());
    CHECK(digest_of(files_of(bus_).front()) == reference_.settled_digest());
  }

  int cuts = 0;

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  void pass(std::uint64_t turns) {
    for (; turns > 0; --turns) following_->turn();
  }

  void moment() {
    const std::uint64_t kind = below(12);
    if (kind == 0) return restart_checkpointer();
    if (!is_published_) return start();
    if (kind == 1) return end_session();
    if (kind < 4) return bus_.archive(archived_or_later());
    if (kind < 6) return bus_.archive_unsynced(archived_or_later());
    bus_.publish(1 + below(300));
  }
  Sequence archived_or_later() { return bus_.archived() + below(bus_.next() - bus_.archived()); }

  void restart_checkpointer() {
    CHECK(following_->checkpointer->counters().resets == 0);
    if (below(2) == 0) REQUIRE(following_->checkpointer->finish().ok());
    following_.reset();
    following_ = std::make_unique<Following>(bus_, options_);
  }

  void end_session() {
    is_published_ = false;
    is_dead_ = below(3) > 0;
    is_dead_ ? bus_.kill() : bus_.close();
  }
  // Starts the next publisher, which settles the last session's end.
  void start() {
    is_published_ = true;
    if (is_dead_ && below(2) == 0) {
      const Sequence durable = bus_.durable();
      bus_.cut(durable);
      reference_.fold_through(durable);
      reference_.lose_through(bus_.reserved());
      ++cuts;
    } else if (is_dead_) {
      bus_.recover();
    }
    is_dead_ = false;
    bus_.start();
    // Two consecutive voids are two losses, or one for a checkpointer that begins after them.
    bus_.publish(1 + below(50));
    bus_.archive(bus_.head());
  }

  std::mt19937_64 random_;
  TestBus bus_;
  CheckpointerSetUp options_;
  Reference reference_ = reference_of(bus_);
  std::unique_ptr<Following> following_;
  bool is_published_ = true;  // a publisher is alive
  bool is_dead_ = false;      // it was killed
};

}  // namespace

TEST_CASE("Each durable record is folded once, whatever happens to bus and checkpointer") {
  const std::uint64_t histories = count_from("LAPWING_CHECKPOINTER_HISTORIES", 10);
  const std::uint64_t first = test_seed();
  int cuts = 0;
  for (std::uint64_t seed = first; seed < first + histories; ++seed) {
    INFO("LAPWING_TEST_SEED=" << seed << " LAPWING_CHECKPOINTER_HISTORIES=1");
    RandomHistory history(seed);
    history.live();
    cuts += history.cuts;
  }
  CHECK((cuts > 0 || histories < 10));
}

}  // namespace lapwing
