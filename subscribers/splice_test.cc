// Tests the splice of journal and ring under random sequences of everything that can change:
// publishing, archiving, pruning, joins, reads, dropped clients, silences, deaths, recoveries,
// power cuts, failed journals and closes. Subscribers join anywhere or from a snapshot, and read
// one by one or in batches. Checkpoints are written, removed and damaged. Each seed is one history.
// A one-number model, the sequence that must come next, determines what may be delivered. Wrong,
// repeated or missing items fail the test.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "testing/bus_checkpoints.h"
#include "testing/bus_fixture.h"
#include "testing/environment.h"

namespace lapwing {
namespace {

// Counts the events that a history should include.
struct Events {
  std::uint64_t kills = 0;
  std::uint64_t cuts = 0;
  std::uint64_t drops = 0;
  std::uint64_t silences = 0;
  std::uint64_t resets = 0;
  std::uint64_t joins = 0;
  std::uint64_t resumes = 0;
  std::uint64_t gaps = 0;
  std::uint64_t losses = 0;
  std::uint64_t checkpoints = 0;
  std::uint64_t snapshots = 0;     // joins that began with a snapshot …
  std::uint64_t no_snapshots = 0;  // … or without one

  bool all_came() const {
    return std::ranges::all_of(std::array{kills, cuts, drops, silences, resets, joins, resumes,
                                          gaps, losses, checkpoints, snapshots, no_snapshots},
                               [](std::uint64_t count) { return count > 0; });
  }
};

constexpr std::uint64_t kHistoriesMin = 12;
constexpr std::uint64_t kHistoriesMax = 20 * kHistoriesMin;

class History {
 public:
  History(std::uint64_t seed, Events& events) : random_(seed), events_(events) { bus_.start(); }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
    bus_.beating = true;
    if (bus_.server == nullptr) restart();
    if (!subscriber_) join();
    const std::uint64_t deadline_ns = monotonic_ns() + 60'000'000'000;  // ends a hang
    while (expected_ < bus_.next() || !caught_up_) {
      take(400);
      REQUIRE(monotonic_ns() < deadline_ns);
    }
    check_counters();
  }

 private:
  enum class Death { kNone, kKilled, kClosed };

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  void step() {
    if (bus_.server == nullptr) return restart();
    if (below(5) == 0) bus_.beating = true;
    const std::uint64_t dice = below(1020);
    if (dice < 500) return take(1 + below(300));
    if (dice < 780) return bus_.publish(below(30));
    if (dice < 910) return bus_.publish(below(700));
    if (dice < 950) return archive_some();
    if (dice < 957) return prune_some();
    if (dice < 965) return join();
    if (dice < 975) return resume();
    if (dice < 983) return drop();
    if (dice < 986) return fail_journal();
    if (dice < 989) return fall_silent();
    if (dice < 993) return stop();
    checkpoint();
  }

  void archive_some() {
    if (failed_) return;
    const Sequence left = bus_.head() - bus_.archived();
    if (left == 0) return;
    const Sequence through = bus_.archived() + 1 + below(left);
    below(2) == 0 ? bus_.archive(through) : bus_.archive_unsynced(through);
  }
  void prune_some() {
    const JournalGeometry& geometry = bus_.journal.geometry();
    const std::uint64_t lowest = geometry.segment_of(bus_.oldest);
    const std::uint64_t segments = geometry.segment_of(bus_.durable() + 1) - lowest;
    if (failed_ || segments == 0 || segments > 100) return;  // a journal cannot begin in a void
    bus_.prune_below_segment(lowest + 1 + below(segments));
    pruned_below_ = std::max(pruned_below_, bus_.oldest);
  }
  void fail_journal() {
    if (!std::exchange(failed_, true)) bus_.fail_journal();
  }
  // The publisher is alive, but has closed this client's socket.
  void drop() {
    bus_.kill();
    bus_.open_socket();
    ++events_.drops;
  }

  // The publisher's service thread is stopped for a while; publishing continues.
  void fall_silent() {
    bus_.beating = false;
    store_heartbeat(bus_.ring->words(), 1);
    ++events_.silences;
  }

  // The publisher dies at any time, or closes.
  void stop() {
    if (below(3) == 0) {
      bus_.close();
      death_ = Death::kClosed;
      return;
    }
    bus_.publish_without_head(below(20));
    bus_.kill();
    death_ = Death::kKilled;
    ++events_.kills;
  }
  void restart() {
    if (below(2) == 0) take(1 + below(100));
    if (std::exchange(death_, Death::kNone) == Death::kKilled) settle();
    if (std::exchange(failed_, false)) other_history_ = true;
    bus_.beating = true;
    bus_.start();
  }
  void settle() {
    if (failed_) {
      REQUIRE(bus_.ring->unlink().ok());
    } else if (below(3) == 0) {
      voids_.push_back({bus_.journal.current_journal_id(), bus_.durable() + 1, bus_.reserved()});
      bus_.cut(bus_.durable());
      ++events_.cuts;
    } else {
      bus_.recover();
    }
  }

  // Acts like a checkpointer: brings its state up to a durable sequence, writes it, and removes old
  // checkpoints. Sometimes it damages the one it wrote.
  void checkpoint() {
    const Sequence first = bus_.ring->header().session_first_sequence;
    if (failed_ || bus_.durable() < first) return;
    const Sequence as_of = first + below(bus_.durable() - first + 1);
    if (as_of <= kept_at_ && kept_journal_ == bus_.journal.current_journal_id()) return;
    fold_through(as_of);
    const std::string path = write_checkpoint(bus_, *fold_, kept_, identity_at(bus_, as_of));
    digests_[as_of] = kept_.digest();
    files_.push_back(path);
    if (below(4) == 0) flip_bit(path, below(std::filesystem::file_size(path)), 5);
    while (files_.size() > 2) {
      std::filesystem::remove(files_.front());
      files_.erase(files_.begin());
    }
    ++events_.checkpoints;
  }
  void fold_through(Sequence as_of) {
    const Id128 journal = bus_.journal.current_journal_id();
    if (journal != std::exchange(kept_journal_, journal)) {
      kept_ = MemoryState(fold_->shape());
      kept_at_ = 0;
      digests_.clear();
    }
    while (kept_at_ < as_of) {
      const Sequence n = kept_at_ + 1;
      const auto gone = std::find_if(voids_.begin(), voids_.end(), [&](const Void& there) {
        return there.journal == journal && n >= there.first && n <= there.last;
      });
      if (gone == voids_.end()) {
        fold_->apply(n, bus_.journal.record(n), kept_);
        kept_at_ = n;
      } else {
        fold_->lose({n, gone->last, gone->last + 1, GapCause::kVoid, false}, kept_);
        kept_at_ = gone->last;
      }
    }
  }

  // Joins the first or another subscriber from a snapshot.
  void join_snapshot() {
    attach(bus_.options(Start::snapshot(fold_)));
    other_history_ = false;
    expected_ = 1;  // there is no position until the state is complete
    joined_ = MemoryState(fold_->shape());
    ++events_.joins;
  }
  void take_entry(std::span<const std::byte> entry) {
    std::byte key[2];
    fold_->key_of(entry, key);
    joined_.put(key, entry);
  }
  void take_snapshot(Sequence as_of) {
    REQUIRE(expected_ == 1);
    REQUIRE(digests_.count(as_of) == 1);
    REQUIRE(joined_.digest() == digests_[as_of]);
    REQUIRE(joined_.size() == subscriber_->state_size());
    expected_ = as_of + 1;
    ++events_.snapshots;
  }
  // The subscriber begins with the oldest retained record, without an event for missing ones.
  void take_no_snapshot(Sequence oldest) {
    REQUIRE(joined_.size() == 0);
    expected_ = oldest;
    begins_late_ = true;
    ++events_.no_snapshots;
  }

  // Joins the first or another subscriber at a random sequence.
  void join() {
    if (below(2) == 0) return join_snapshot();
    expected_ = 1 + below(bus_.next());
    other_history_ = false;  // it has no earlier history
    attach(bus_.options(Start::sequence(expected_)));
    ++events_.joins;
  }
  // Restarts the same subscriber with its stored position.
  void resume() {
    if (!subscriber_ || subscriber_->counters().sessions == 0) return;
    if (subscriber_->position().journal_id.is_zero() || begins_late_) return;
    SubscriberOptions options = bus_.options();
    options.start = Start::after(subscriber_->position());
    REQUIRE(options.start.position->sequence == expected_ - 1);
    attach(options);
    ++events_.resumes;
  }
  void attach(SubscriberOptions options) {
    if (subscriber_) check_counters();
    skips_ = below(3) == 0;
    options.on_gap = skips_ ? OnGap::kSkip : OnGap::kFill;
    options.reattach = std::chrono::nanoseconds(60'000'000'000);
    subscriber_.emplace(open_subscriber(options));
    caught_up_ = begins_late_ = false;
    records_ = lost_ = gaps_ = filled_ = fill_through_ = 0;
  }

  // Takes up to `count` items, one by one or in batches.
  void take(std::uint64_t count) {
    if (!subscriber_) return join();
    for (; count > 0; --count) {
      bus_.turn();
      if (below(5) == 0) {
        take_batch();
      } else if (const Result<Item> item = subscriber_->next(Deadline::now());
                 came(item) == ItemKind::kRecord) {
        take_record(item->sequence, item->record);
      } else if (came(item) == ItemKind::kState) {
        take_entry(item->record);
      } else if (item->event != nullptr) {
        take_event(*item->event);
      }
      if (subscriber_->counters().sessions == 0 || begins_late_) continue;  // not joined yet
      REQUIRE(subscriber_->position().sequence == expected_ - 1);
    }
  }
  void take_batch() {
    batch_.resize((1 + below(200)) * 56);
    const Result<Batch> batch = subscriber_->read(batch_, Deadline::now());
    if (batch->event) take_event(*batch->event);
    if (batch->count == 0) return;
    const std::span<const std::byte> rows(batch_);
    for (std::size_t i = 0; i < batch->count; ++i) {
      const auto row = rows.subspan(i * batch->row_bytes, batch->row_bytes);
      if (came(batch) == ItemKind::kState) {
        take_entry(row);
      } else {
        take_record(batch->first + i, row);
      }
    }
  }
  // Takes the first item after kNoSnapshot. Earlier records are no longer retained.
  void begin_late(Sequence n) {
    if (!std::exchange(begins_late_, false)) return;
    REQUIRE(n >= expected_);
    expected_ = n;
  }
  void take_record(Sequence n, std::span<const std::byte> record) {
    begin_late(n);
    REQUIRE(n == expected_);
    const std::vector<std::byte> bytes = bus_.journal.record(n);
    REQUIRE(std::equal(record.begin(), record.end(), bytes.begin(), bytes.end()));
    if (n <= fill_through_) ++filled_;
    ++records_;
    ++expected_;
  }

  void take_event(const Event& event) {
    INFO(name_of(event.kind) << " " << event.sequence << ", gap " << event.gap.first << ".."
                             << event.gap.last << " " << name_of(event.gap.cause) << ": "
                             << event.text);
    REQUIRE(event.kind != Came::kEnd);
    if (event.kind == EventKind::kCaughtUp) {
      REQUIRE_FALSE(caught_up_);
      caught_up_ = true;
    }
    if (event.kind == EventKind::kSnapshotComplete) take_snapshot(event.sequence);
    if (event.kind == EventKind::kNoSnapshot) take_no_snapshot(event.sequence);
    if (event.kind == EventKind::kSession && !event.is_first_session) {
      if (begins_late_) expected_ = std::max(expected_, event.sequence);
      REQUIRE(event.sequence == expected_);
    }
    if (event.kind == EventKind::kLost || event.kind == EventKind::kGap)
      begin_late(event.gap.first);
    if (event.kind == EventKind::kReset) begins_late_ = false;
    if (event.kind == EventKind::kGap) take_gap(event.gap);
    if (event.kind == EventKind::kLost) take_loss(event.gap);
    if (event.kind == EventKind::kReset) take_reset(event.sequence);
  }
  void take_gap(const Gap& gap) {
    REQUIRE(caught_up_);
    REQUIRE(gap.first == expected_);
    REQUIRE(gap.cause == GapCause::kLapped);
    ++gaps_;
    ++events_.gaps;
    if (!skips_) {
      fill_through_ = gap.last;
      return;
    }
    lost_ += gap.count();
    expected_ = gap.resume;
  }
  void take_loss(const Gap& gap) {
    REQUIRE(gap.first == expected_);
    if (gap.cause == GapCause::kPruned) {
      REQUIRE(gap.last < pruned_below_);
    } else if (gap.cause == GapCause::kVoid) {
      REQUIRE(in_void(gap.first, gap.last));
    } else {
      REQUIRE(gap.cause == GapCause::kLapped);
      REQUIRE((failed_ || other_history_));
    }
    lost_ += gap.count();
    expected_ = gap.last + 1;
    ++events_.losses;
  }
  // Another history begins only after a failed journal, or if no journal contains the stored
  // position. In the latter case, a power cut removed it, or it was in the ring of a session that
  // was closed without its journal.
  void take_reset(Sequence begins) {
    const bool not_kept = records_ == 0 && (in_void(expected_ - 1, expected_ - 1) ||
                                            (failed_ && death_ == Death::kClosed));
    REQUIRE((std::exchange(other_history_, false) || not_kept));
    expected_ = begins;
    fill_through_ = 0;
    ++events_.resets;
  }

  struct Void {
    Id128 journal;
    Sequence first;
    Sequence last;
  };
  bool in_void(Sequence first, Sequence last) const {
    return std::any_of(voids_.begin(), voids_.end(), [&](const Void& there) {
      return first >= there.first && last <= there.last;
    });
  }

  void check_counters() const {
    const SubscriberCounters& counters = subscriber_->counters();
    REQUIRE(counters.records == records_);
    REQUIRE(counters.gaps == gaps_);
    REQUIRE(counters.filled == filled_);
    REQUIRE(counters.duplicates == 0);
    REQUIRE(counters.out_of_order == 0);
    REQUIRE(counters.lost == lost_);
  }

  std::mt19937_64 random_;
  Events& events_;
  TestBus bus_;
  bool failed_ = false;         // the journal of the current or last session
  bool other_history_ = false;  // has begun but was not reported yet
  Death death_ = Death::kNone;
  std::vector<Void> voids_;
  Sequence pruned_below_ = 1;

  // The checkpointer's state.
  std::shared_ptr<TestFold> fold_ = std::make_shared<TestFold>();
  MemoryState kept_{fold_->shape()};
  Sequence kept_at_ = 0;
  Id128 kept_journal_;
  std::map<Sequence, std::uint64_t> digests_;  // of its checkpoints for this journal
  std::vector<std::string> files_;

  std::optional<Subscriber> subscriber_;
  std::vector<std::byte> batch_;
  bool skips_ = false;
  bool caught_up_ = true;
  bool begins_late_ = false;  // no snapshot, and nothing delivered after it yet
  MemoryState joined_{fold_->shape()};
  Sequence expected_ = 1;
  std::uint64_t records_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t gaps_ = 0;
  std::uint64_t filled_ = 0;
  Sequence fill_through_ = 0;
};

TEST_CASE("In any order of operations, each sequence is delivered or lost once, in order") {
  const std::uint64_t first_seed = test_seed();
  Events events;
  for (std::uint64_t i = 0; i < kHistoriesMin || !events.all_came(); ++i) {
    REQUIRE(i < kHistoriesMax);  // otherwise one of these events no longer occurs
    INFO("seed " << first_seed + i);
    History(first_seed + i, events).run(400);
  }
}

}  // namespace
}  // namespace lapwing
