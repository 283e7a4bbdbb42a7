// Joins a running stream at random moments: every sequence arrives once and in order, even with
// lapped records, kills and silences. Set LAPWING_JOINS=1000 for the full number.
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/posix_io.h"
#include "testing/closing_publisher.h"
#include "testing/environment.h"
#include "testing/ring_spec.h"
#include "testing/temporary_directory.h"
#include "tests/end_to_end/stream.h"

namespace lapwing {
namespace {

constexpr int kJoinersAtOnce = 4;
constexpr std::uint64_t kRecordsBeforeJoin = 30'000;  // maximum

SubscriberOptions from_oldest(const std::string& directory) {
  SubscriberOptions options;
  options.directory = directory;
  options.start = Start::oldest();
  options.flush_timeout = std::chrono::minutes(1);  // only ends a hang; a busy disk may be slow
  return options;
}

SubscriberOptions joiner_options(const std::string& directory, std::mt19937_64& random) {
  SubscriberOptions options = from_oldest(directory);
  constexpr WaitStrategy kStrategies[] = {WaitStrategy::kBusy, WaitStrategy::kBackoff,
                                          WaitStrategy::kPark};
  options.wait = kStrategies[random() % 3];
  return options;
}

// State shared by the threads of one round.
struct Round {
  std::atomic<Sequence> head{0};
  std::atomic<int> caught_up{0};
  std::atomic<bool> failed{false};
};

struct Joiner {
  std::string defect;
  std::uint64_t records = 0;
  bool lapped_during_join = false;
  SubscriberCounters counters;
};

// Joins when the stream has reached `moment`, then reads to the close.
Joiner join(const std::string& directory, Round& round, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Sequence moment = random() % kRecordsBeforeJoin;
  while (round.head.load() < moment && !round.failed) std::this_thread::yield();
  Proof proof(joiner_options(directory, random));
  Joiner joiner;
  const Sequence head_before = round.head.load();
  bool closed = false;
  for (bool caught_up = false; !closed && proof.defect.empty();) {
    const std::uint64_t way = random() % 4;
    Came item = Came::kNothing;
    if (way == 0) item = proof.next_batch(1 + random() % 500);
    if (way == 1) item = proof.take_next(far_deadline());
    if (item == Came::kNothing) item = proof.next(far_deadline());
    closed = item == EventKind::kClosed;
    if (item == EventKind::kCaughtUp && !std::exchange(caught_up, true)) {
      joiner.lapped_during_join = round.head.load() > head_before + kRingSlots;
      ++round.caught_up;
    }
    if (item == Came::kEnd || item == Came::kNothing) break;
  }
  if (!closed && proof.defect.empty()) proof.defect = "the stream did not end: " + proof.text;
  if (!proof.defect.empty()) round.failed = true;
  joiner.defect = proof.defect;
  joiner.records = proof.records;
  joiner.counters = proof.subscriber.counters();
  return joiner;
}

// Publishes in bursts until all joiners have caught up, then a while longer. Returns the last
// sequence.
Sequence run_stream(Publisher& publisher, Round& round, std::mt19937_64& random) {
  const Deadline deadline = far_deadline();
  while ((round.caught_up < kJoinersAtOnce || publisher.head() < kRecordsBeforeJoin) &&
         !round.failed && !deadline.has_passed()) {
    publish_stream(publisher, 1 + random() % 1500);
    round.head = publisher.head();
    std::this_thread::yield();
  }
  publish_stream(publisher, 3000);
  return publisher.head();
}

TEST_CASE("Every join of a running stream gets 1 to N, each once and in order, lapped or not") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  std::uint64_t lapped_during_join = 0;
  std::uint64_t gaps = 0;
  for (std::uint64_t joined = 0; joined < joins(100); joined += kJoinersAtOnce) {
    // On disk, with direct I/O if available; every second time in memory, which is faster.
    const TemporaryDirectory on_disk;
    const TestDirectory in_memory;
    const std::string directory =
        joined / kJoinersAtOnce % 2 == 0 ? on_disk.path() : in_memory.path();
    Round round;
    auto publisher = open_publisher(stream_options(directory));
    std::vector<Joiner> joiners(kJoinersAtOnce);
    std::vector<std::thread> threads;
    for (Joiner& joiner : joiners) {
      threads.emplace_back([&joiner, &round, &directory, own_seed = random()] {
        joiner = join(directory, round, own_seed);
      });
    }
    const Sequence last = run_stream(*publisher, round, random);
    REQUIRE(publisher->close().ok());
    for (std::thread& thread : threads) thread.join();
    for (const Joiner& joiner : joiners) {
      REQUIRE(joiner.defect == "");
      REQUIRE(joiner.records == last);
      REQUIRE(joiner.counters.records == last);
      REQUIRE(joiner.counters.first == 1);
      REQUIRE(joiner.counters.last == last);
      REQUIRE(joiner.counters.lost == 0);
      REQUIRE(joiner.counters.duplicates == 0);
      REQUIRE(joiner.counters.out_of_order == 0);
      lapped_during_join += joiner.lapped_during_join ? 1 : 0;
      gaps += joiner.counters.gaps;
    }
  }
  INFO(gaps << " gaps were filled");
  CHECK(lapped_during_join > 0);  // otherwise the test has proved nothing
}

TEST_CASE("With skip the reported gaps and the records are together exactly 1 to N") {
  const TemporaryDirectory directory;
  auto publisher = open_publisher(stream_options(directory.path()));
  SubscriberOptions options = from_oldest(directory.path());
  options.on_gap = OnGap::kSkip;
  Proof proof(options);
  proof.skips_gaps = true;
  REQUIRE(proof.until(EventKind::kCaughtUp));
  std::mt19937_64 random(5);
  for (int burst = 0; burst < 50; ++burst) {
    publish_stream(*publisher, random() % 4000);
    for (std::uint64_t taken = random() % 3000; taken > 0; --taken) proof.next(Deadline::now());
  }
  const Sequence last = publisher->head();
  REQUIRE(proof.until_sequence(last));
  CHECK(proof.defect == "");
  CHECK(proof.subscriber.counters().gaps > 0);
  CHECK(proof.records + proof.skipped == last);
  CHECK(proof.subscriber.counters().records == proof.records);
  CHECK(proof.subscriber.counters().lost == proof.skipped);
}

// A write queue whose syncs never complete once `hang` is set, like a disk that hangs.
class HangingQueue final : public WriteQueue {
 public:
  explicit HangingQueue(const std::atomic<bool>& hangs) : hangs_(&hangs) {}
  std::string description() const override { return "hanging"; }
  void register_memory(std::span<const std::byte> memory) override {
    queue_.register_memory(memory);
  }
  bool submit(const WriteRequest& request) override {
    if (!*hangs_ || request.kind != WriteRequest::Kind::kSync) return queue_.submit(request);
    ++hung_;
    return true;
  }
  std::size_t reap(std::span<WriteCompletion> out, std::uint64_t wait_ns) override {
    const std::size_t done = queue_.reap(out, 0);
    if (done == 0 && hung_ > 0) wait_readable(-1, std::min<std::uint64_t>(wait_ns, kNsPerMs));
    return done;
  }
  std::size_t in_flight() const override { return queue_.in_flight() + hung_; }

 private:
  PosixWriteQueue queue_;
  const std::atomic<bool>* hangs_;
  std::size_t hung_ = 0;
};

// In a child process: publishes `count` records. The last ones never become durable.
void publish_without_sync(const std::string& directory, std::uint64_t count,
                          const std::function<void()>& ready) {
  static std::atomic<bool> hangs{false};
  PublisherSetUp options = stream_options(directory);
  options.make_queue = [] { return std::make_unique<HangingQueue>(hangs); };
  static ClosingPublisher publisher = open_publisher(options);
  const std::uint64_t durable = count / 2;
  publish_stream(*publisher, durable);
  if (!publisher->flush(far_deadline()).ok()) _exit(1);
  hangs = true;
  publish_stream(*publisher, count - durable);
  ready();
}

// True if the subscriber is attached and waits for a flush that does not complete.
bool waits_for_flush(Proof& proof) {
  while (proof.subscriber.head() == kNoSequence) {
    if (proof.next(std::chrono::milliseconds(1)) != Came::kNothing) return false;
  }
  return proof.next(std::chrono::milliseconds(5)) == Came::kNothing;
}

TEST_CASE(
    "A join whose publisher is killed during the flush gets 1 to N, now and after it returns") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (std::uint64_t joined = 0; joined < joins(20); ++joined) {
    const TemporaryDirectory directory;
    const std::uint64_t count = 10 + random() % 3000;
    PublisherProcess dying(
        [&](const auto& ready) { publish_without_sync(directory.path(), count, ready); });
    Proof proof(joiner_options(directory.path(), random));
    REQUIRE(waits_for_flush(proof));
    dying.kill();
    REQUIRE(proof.until(EventKind::kPublisherGone));
    CHECK(proof.defect == "");
    REQUIRE(proof.last == count);  // no published record is missing
    auto publisher = open_publisher(stream_options(directory.path()));
    REQUIRE(publisher->first() == count + 1);
    publish_stream(*publisher, 2000);
    REQUIRE(proof.until_sequence(count + 2000));
    CHECK(proof.defect == "");
    CHECK(proof.sessions == 2);
    CHECK(proof.gone == 1);
    CHECK(proof.subscriber.counters().lost == 0);
  }
}

TEST_CASE("A join that is never answered ends in time, says what to do, and leaves nothing open") {
  const TemporaryDirectory directory;
  PublisherProcess silent(
      [&](const auto& ready) { publish_without_sync(directory.path(), 3000, ready); });
  const std::size_t before = open_descriptors();
  SubscriberOptions options = from_oldest(directory.path());
  options.flush_timeout = std::chrono::milliseconds(50);
  const bool stopped = GENERATE(false, true);  // a disk that hangs, or a stopped process
  if (stopped) silent.signal(SIGSTOP);
  auto subscriber = Subscriber::open(options);
  REQUIRE(subscriber.ok());
  const Result<Item> item = subscriber->next(far_deadline());
  REQUIRE(came(item) == Came::kEnd);
  CHECK(errc_of(subscriber->status()) == Errc::kNoAnswer);
  CHECK(std::string(subscriber->status().message()).find("join again") != std::string::npos);
  CHECK(open_descriptors() == before);
}

TEST_CASE("A publisher that is killed again and again leaves every subscriber with 1 to N") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const TemporaryDirectory directory;
  Proof proof(joiner_options(directory.path(), random));
  const std::uint64_t kills = std::max<std::uint64_t>(joins(100) / 10, 3);
  for (std::uint64_t kill = 0; kill < kills; ++kill) {
    PublisherProcess process([&](const auto& ready) {
      auto publisher = open_publisher(stream_options(directory.path()));
      ready();
      for (;;) publish_stream(*publisher, 100);
    });
    // Follow it for a random time, sometimes from far behind.
    const Sequence enough = proof.last + random() % 20'000;
    while (proof.last < enough && proof.defect.empty()) proof.next(far_deadline());
    process.kill();
    REQUIRE(proof.until(EventKind::kPublisherGone));
    REQUIRE(proof.defect == "");
  }
  auto publisher = open_publisher(stream_options(directory.path()));
  CHECK(publisher->first() == proof.last + 1);  // the delivered records were recovered
  publish_stream(*publisher, 5000);
  const Sequence last = publisher->head();
  REQUIRE(publisher->close().ok());
  REQUIRE(proof.until(EventKind::kClosed));
  CHECK(proof.defect == "");
  CHECK(proof.last == last);
  CHECK(proof.gone == kills);
  CHECK(proof.sessions == kills + 1);
  CHECK(proof.subscriber.counters().sessions == kills + 1);

  Proof history(joiner_options(directory.path(), random));  // and so is the journal
  REQUIRE(history.until(EventKind::kClosed));
  CHECK(history.defect == "");
  CHECK(history.records == last);
  CHECK(history.sessions == kills + 1);
}

TEST_CASE(
    "Sequences go on through restarts in one process, and through a journal that starts anew") {
  const TemporaryDirectory directory;
  SubscriberOptions options = from_oldest(directory.path());
  Proof proof(options);
  for (Sequence session = 0; session < 3; ++session) {
    auto publisher = open_publisher(stream_options(directory.path()));
    REQUIRE(publisher->first() == session * 3000 + 1);
    publish_stream(*publisher, 3000);
    REQUIRE(publisher->close().ok());
    REQUIRE(proof.until(EventKind::kClosed));
    REQUIRE(proof.last == (session + 1) * 3000);
  }
  CHECK(proof.defect == "");
  CHECK(proof.sessions == 3);
  std::filesystem::remove_all(directory.path() + "/journal");
  auto publisher = open_publisher(stream_options(directory.path()));
  publish_stream(*publisher, 10);
  REQUIRE(proof.until(EventKind::kReset));
  proof.last = 0;
  REQUIRE(proof.until_sequence(10));
  CHECK(proof.defect == "");
}

}  // namespace
}  // namespace lapwing
