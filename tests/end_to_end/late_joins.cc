// Joins a bus from a snapshot repeatedly, at random moments while a publisher runs. Compares each
// join's state with that of a subscriber that has run since the start.
//
//   late_joins BUS JOINS SEED      prints JSON; exits with 1 after a difference or loss
//
// The reference folds every record and keeps the digest of its state at each multiple of
// kDigestEvery. A joiner continues from its snapshot until it has caught up and is at such a
// multiple, where it compares. Not thread-safe except where stated.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lapwing/load_state.h"
#include "lapwing/memory_state.h"
#include "lapwing/subscriber.h"
#include "testing/came.h"

namespace lapwing {
namespace {

constexpr Sequence kDigestEvery = 500;
constexpr int kJoinersAtOnce = 4;
constexpr Sequence kMomentMax = 4000;      // maximum number of records until the next join
constexpr std::chrono::minutes kHang{10};  // only ends a hang
constexpr std::chrono::milliseconds kStopLatency{100};

std::string text_of(const Result<Item>& item, const absl::Status& status) {
  if (!item.ok()) return std::string(status.message());
  return item->event == nullptr ? "" : item->event->text;
}

// The subscriber that has run since the start. It has its own thread; its functions may be called
// from any thread.
class Reference {
 public:
  explicit Reference(std::string bus) : bus_(std::move(bus)), thread_([this] { run(); }) {}
  ~Reference() {
    stop_ = true;
    thread_.join();
  }
  // Waits until it has reached `n`. Returns false if it has failed.
  bool await(Sequence n) {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return at_ >= n || !defect_.empty(); });
    return defect_.empty();
  }
  Sequence at() {
    const std::lock_guard lock(mutex_);
    return at_;
  }
  // The digest as of `n`, a multiple of kDigestEvery that has been awaited.
  std::uint64_t digest(Sequence n) {
    const std::lock_guard lock(mutex_);
    return digests_.at(n);
  }
  std::string defect() {
    const std::lock_guard lock(mutex_);
    return defect_;
  }

 private:
  void run() {
    SubscriberOptions options;
    options.directory = bus_;
    options.start = Start::oldest();
    auto subscriber = Subscriber::open(std::move(options));
    if (!subscriber.ok()) return fail(std::string(subscriber.status().message()));
    const auto fold = make_fold("orders", "dbn.mbo");
    MemoryState state((*fold)->shape());
    Sequence expected = 1;
    const Deadline deadline = kHang;
    while (!stop_) {
      const Result<Item> item = subscriber->next(kStopLatency);
      if (came(item) == ItemKind::kRecord && item->sequence == expected) {
        (*fold)->apply(item->sequence, item->record, state);
        if (expected % kDigestEvery == 0) publish(expected, state.digest());
        ++expected;
      } else if (came(item) == ItemKind::kRecord || came(item) == EventKind::kLost ||
                 came(item) == EventKind::kReset || came(item) == Came::kEnd ||
                 deadline.has_passed()) {
        return fail(absl::StrCat("the reference got ", item->sequence, " after ", expected - 1,
                                 ": ", text_of(item, subscriber->status())));
      }
    }
  }
  void publish(Sequence n, std::uint64_t digest) {
    const std::lock_guard lock(mutex_);
    digests_[n] = digest;
    at_ = n;
    moved_.notify_all();
  }
  void fail(std::string what) {
    const std::lock_guard lock(mutex_);
    defect_ = std::move(what);
    moved_.notify_all();
  }

  std::string bus_;
  std::mutex mutex_;
  std::condition_variable moved_;
  std::map<Sequence, std::uint64_t> digests_;  // the mutex protects these three
  Sequence at_ = 0;
  std::string defect_;
  std::atomic<bool> stop_{false};
  std::thread thread_;  // last, because it uses the others
};

// The results of all joiners, protected by a mutex.
struct Tally {
  std::mutex mutex;
  std::uint64_t joins = 0;
  std::uint64_t records = 0;  // after the state
  std::uint64_t entries = 0;
  std::set<Sequence> snapshots;  // as-of sequences of the states
  std::vector<std::string> defects;
};

// Runs one join, from its start until its state is compared. Returns the error.
std::string join(const std::string& bus, Reference& reference, Tally& tally) {
  SubscriberOptions options;
  options.directory = bus;
  options.start = Start::snapshot("orders");
  const Deadline deadline = kHang;
  auto loaded = load_state(options, deadline);
  if (!loaded.ok()) return std::string(loaded.status().message());
  while (loaded->as_of() % kDigestEvery != 0) {
    const Result<Item> item = loaded->next(deadline);
    if (came(item) == Came::kNothing || came(item) == Came::kEnd) {
      return absl::StrCat("ended at ", loaded->as_of(), ": ",
                          text_of(item, loaded->subscriber().status()));
    }
  }
  const SubscriberCounters counters = loaded->subscriber().counters();
  if (counters.state == 0) return absl::StrCat("not from a snapshot: ", loaded->origin());
  if (counters.lost > 0 || counters.duplicates > 0 || counters.out_of_order > 0) {
    return "records were lost, or came twice or out of order";
  }
  if (counters.state != loaded->subscriber().state_size()) return "an incomplete state";
  const Sequence as_of = loaded->as_of();
  if (!reference.await(as_of)) return "the reference has failed";
  if (loaded->state().digest() != reference.digest(as_of)) {
    return absl::StrCat("another state as of ", as_of, ", ", loaded->origin());
  }
  const std::lock_guard lock(tally.mutex);
  ++tally.joins;
  tally.records += counters.records;
  tally.entries += counters.state;
  tally.snapshots.insert(counters.first - 1);
  return "";
}

int run(const std::string& bus, std::uint64_t joins, std::uint64_t seed) {
  Tally tally;
  Reference reference(bus);
  std::atomic<std::uint64_t> begun{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kJoinersAtOnce; ++i) {
    threads.emplace_back(
        [&, random = std::mt19937_64(seed + static_cast<std::uint64_t>(i))]() mutable {
          while (begun++ < joins) {
            if (!reference.await(reference.at() + random() % kMomentMax)) return;
            const std::string defect = join(bus, reference, tally);
            if (defect.empty()) continue;
            const std::lock_guard lock(tally.mutex);
            tally.defects.push_back(defect);
          }
        });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string reference_defect = reference.defect();
  if (!reference_defect.empty()) tally.defects.push_back(reference_defect);
  std::cout << nlohmann::ordered_json{{"joins", tally.joins},
                                      {"snapshots", tally.snapshots.size()},
                                      {"newest",
                                       tally.snapshots.empty() ? 0 : *tally.snapshots.rbegin()},
                                      {"entries", tally.entries},
                                      {"records", tally.records},
                                      {"at", reference.at()},
                                      {"defects", tally.defects}}
                   .dump()
            << std::endl;
  return tally.defects.empty() && tally.joins == joins ? 0 : 1;
}

}  // namespace
}  // namespace lapwing

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: late_joins BUS JOINS SEED\n";
    return 2;
  }
  return lapwing::run(argv[1], std::strtoull(argv[2], nullptr, 10),
                      std::strtoull(argv[3], nullptr, 10));
}
