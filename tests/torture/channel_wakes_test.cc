// No wake-up is lost: one process waits on a channel, and another makes its condition true at
// random moments, mostly just as the first one goes to sleep.
//
// They run in lockstep, so that a later cycle cannot repair a loss. After a lost wake-up the waiter
// sleeps until the clock ends its sleep, for kChannelSleepNsMax or until its deadline. The kernel
// reports this (the program is linked with --wrap=ppoll). The duration of a wait proves nothing,
// because either process may be preempted at any moment.
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "channel/side.h"
#include "lapwing/consumer.h"
#include "lapwing/detail/atomic_word.h"
#include "lapwing/duplex.h"
#include "lapwing/duplex_server.h"
#include "lapwing/listener.h"
#include "lapwing/producer.h"
#include "lapwing/wait_set.h"
#include "os/kernel.h"
#include "testing/child_process.h"
#include "testing/listening_child.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

// The earliest end of this process's last sleep that only the clock ended; 0 if there was none.
std::uint64_t clock_ended_ns = 0;

constexpr std::uint64_t kHangNs = 60'000 * kNsPerMs;
constexpr std::uint64_t kLongNs = 3'000 * kNsPerMs;  // deadline of most waits
constexpr std::uint64_t kThereNs = 10 * kNsPerMs;    // maximum time of an unnoticed condition
static_assert(kChannelSleepNsMax < kLongNs);

enum class Side { kEmpty, kFull };  // the awaited condition: a message, or room

struct Run {
  Side side;
  WaitStrategy wait;
  bool membarrier;
  std::uint64_t cycles;
  bool in_set = false;        // waits in a wait set
  bool serves = false;        // the waiter is a server that also has an idle client
  std::uint64_t stretch = 1;  // factor for the gaps of a waiter that spins first
};

// Shared by the two processes in addition to the channel.
struct Exchange {
  std::atomic<bool> ready{false};          // the waiter is at its first wait
  std::atomic<std::uint64_t> there_ns{0};  // when the condition of there_cycle became true
  std::atomic<std::uint64_t> there_cycle{0};
  std::atomic<std::uint64_t> taken{0};  // cycles whose wait has ended
  std::uint64_t timed_out = 0;          // correct timeouts: the condition was false
  std::uint64_t lost = 0;
  std::uint64_t there_ns_max = 0;  // before a wait ended
  ChannelCounters waiter{};
  ChannelCounters waker{};
  Complaint waiter_says{};
  Complaint waker_says{};
};

Deadline hang_deadline() {
  return std::chrono::nanoseconds(kHangNs);
}

// The waiting side: calls `wait` once per cycle with a deadline, and again after a timeout.
class Waiter {
 public:
  Waiter(const Run& run, Exchange& exchange) : run_(run), exchange_(exchange) {}

  template <typename Wait>
  int go(const Wait& wait) {
    exchange_.ready.store(true);
    for (std::uint64_t cycle = 1; cycle <= run_.cycles; ++cycle) {
      Result<> result = Errc::kTimedOut;
      while (result.error() == Errc::kTimedOut) {
        const std::uint64_t deadline_ns = monotonic_ns() + duration();
        clock_ended_ns = 0;
        result = wait(Deadline::at_monotonic_ns(deadline_ns));
        judge(cycle, result.error(), deadline_ns);
      }
      if (!result.ok()) return exchange_.waiter_says.say(name_of(result.error()));
      exchange_.taken.store(cycle);
    }
    return 0;
  }

 private:
  // Most deadlines are far; a few pass before the condition is true.
  std::uint64_t duration() { return random_() % 8 != 0 ? kLongNs : random_() % 40'000; }

  void judge(std::uint64_t cycle, Errc result, std::uint64_t deadline_ns) {
    const std::uint64_t end_ns = monotonic_ns();
    const bool there = exchange_.there_cycle.load() == cycle;
    const std::uint64_t there_ns = there ? exchange_.there_ns.load() : end_ns;
    const std::uint64_t for_ns = end_ns - std::min(end_ns, there_ns);
    exchange_.there_ns_max = std::max(exchange_.there_ns_max, for_ns);
    const bool passed_over = result == Errc::kTimedOut && there_ns + kThereNs < deadline_ns;
    const bool slept_through = there && there_ns < clock_ended_ns;
    if (passed_over || slept_through) ++exchange_.lost;
    if (result == Errc::kTimedOut) ++exchange_.timed_out;
  }

  const Run& run_;
  Exchange& exchange_;
  std::minstd_rand random_{static_cast<std::uint32_t>(getpid())};
};

// The other side: calls `act` once per cycle, which makes the waiter's condition true.
class Waker {
 public:
  Waker(const Run& run, Exchange& exchange) : run_(run), exchange_(exchange) {}

  template <typename Act>
  int go(const Act& act) {
    if (!await([&] { return exchange_.ready.load(); })) return 1;
    for (std::uint64_t cycle = 1; cycle <= run_.cycles; ++cycle) {
      const Gap gap = next_gap();
      if (!await([&] { return exchange_.taken.load() == cycle - 1; })) {
        return exchange_.waker_says.say("cycle " + std::to_string(cycle - 1) + " was never taken");
      }
      pass(gap);
      const Result<> result = act();
      if (!result.ok()) return exchange_.waker_says.say(name_of(result.error()));
      exchange_.there_ns.store(monotonic_ns());
      exchange_.there_cycle.store(cycle);
    }
    // If this side ended now, the waiter could detect that instead of its condition.
    return await([&] { return exchange_.taken.load() == run_.cycles; })
               ? 0
               : exchange_.waker_says.say("the last cycle was never taken");
  }

 private:
  struct Gap {
    std::uint64_t turns = 0;  // of a loop, for times shorter than a reading of the clock
    std::uint64_t ns = 0;
  };

  // Most gaps end while the waiter is going to sleep, which takes long if it spins first.
  Gap next_gap() {
    const std::uint64_t kind = random_();
    const std::uint64_t chosen = random_();
    if (run_.wait == WaitStrategy::kBackoff) {
      return {0, chosen % (kind % 16 == 0 ? 40 * kNsPerMs : run_.stretch * 3 * kNsPerMs)};
    }
    if (kind % 256 == 0) return {0, chosen % (2 * kNsPerMs)};
    switch (kind % 4) {
      case 0:
        return {0, chosen % 40'000};
      case 1:
        return {0, chosen % 4'000};
      default:
        return {chosen % 400, 0};
    }
  }

  static void pass(const Gap& gap) {
    for (volatile std::uint64_t turn = 0; turn < gap.turns;) turn = turn + 1;
    if (gap.ns >= kNsPerMs) wait_readable(-1, gap.ns);
    if (gap.ns == 0 || gap.ns >= kNsPerMs) return;
    const std::uint64_t until_ns = monotonic_ns() + gap.ns;
    while (monotonic_ns() < until_ns) spin_pause();
  }

  template <typename Condition>
  static bool await(const Condition& condition) {
    const Deadline deadline = hang_deadline();
    for (std::uint32_t turns = 0; !condition(); ++turns) {
      spin_pause();
      if (turns % 1024 != 1023) continue;
      std::this_thread::yield();
      if (deadline.has_passed()) return false;
    }
    return true;
  }

  const Run& run_;
  Exchange& exchange_;
  std::minstd_rand random_{static_cast<std::uint32_t>(getpid())};
};

ChannelOptions options_of(const Run& run) {
  ChannelOptions options{.capacity = 1024, .message_bytes_max = 48};
  options.wait = run.wait;
  options.membarrier = run.membarrier;
  return options;
}

// The wait set of a waiter that uses one.
template <typename Add>
std::optional<WaitSet> set_for(const Run& run, const Add& add) {
  if (!run.in_set) return std::nullopt;
  std::optional<WaitSet> set(WaitSet::open({.wait = run.wait}).value());
  add(*set).IgnoreError();  // without it, the set would never be ready
  return set;
}

int produce(const Run& run, const std::string& path, Exchange& exchange) {
  run_on_processor(0);
  auto producer = ChannelProducer::connect(path, options_of(run), hang_deadline());
  if (!producer.ok()) return exchange.waker_says.say(std::string(producer.status().message()));
  int code = 0;
  if (run.side == Side::kEmpty) {
    code = Waker(run, exchange).go([&] { return producer->try_send({}, 1); });
    exchange.waker = producer->counters();
  } else {
    while (producer->try_send({}, 1).ok()) {
    }
    std::optional<WaitSet> set =
        set_for(run, [&](WaitSet& made) { return made.add(*producer, 0, 1).status(); });
    code = Waiter(run, exchange).go([&](Deadline deadline) {
      if (!set) return producer->send({}, 1, deadline);
      const Errc waited = set->wait(deadline).error();
      return waited == Errc::kOk ? producer->try_send({}, 1) : waited;
    });
    exchange.waiter = producer->counters();
  }
  (void)producer->drain(hang_deadline());
  return code;
}

int consume(const Run& run, ChannelListener& listener, Exchange& exchange) {
  run_on_processor(1);
  auto consumer = ChannelConsumer::accept(listener, options_of(run), hang_deadline());
  if (!consumer.ok()) return exchange.waker_says.say(std::string(consumer.status().message()));
  int code = 0;
  if (run.side == Side::kEmpty) {
    std::optional<WaitSet> set =
        set_for(run, [&](WaitSet& made) { return made.add(*consumer, 1).status(); });
    code = Waiter(run, exchange).go([&](Deadline deadline) {
      if (set) {
        const Errc waited = set->wait(deadline).error();
        if (waited != Errc::kOk) return waited;
      }
      const Errc result = set ? consumer->try_peek().error() : consumer->peek(deadline).error();
      return result == Errc::kOk ? consumer->release().error() : result;
    });
    exchange.waiter = consumer->counters();
  } else {
    code = Waker(run, exchange).go([&] {
      const Errc result = consumer->peek(hang_deadline()).error();
      return result == Errc::kOk ? consumer->release().error() : result;
    });
    exchange.waker = consumer->counters();
    while (consumer->try_peek().error() == Errc::kOk) {
      if (!consumer->release().ok()) return exchange.waker_says.say("no release");
    }
  }
  (void)consumer->peek(hang_deadline());  // the producer ends first
  return code;
}

// Waits for a one-way message from a client, or for the client to take one that it has.
int serve(const Run& run, ChannelListener& listener, Exchange& exchange) {
  run_on_processor(1);
  auto server = DuplexServer::open(std::move(listener), {.channel = options_of(run)});
  if (!server.ok()) return exchange.waiter_says.say(std::string(server.status().message()));
  ClientId client = 0;
  for (int connected = 0; connected < 2; ++connected) {  // the idle one first
    client = server->wait(hang_deadline())->client;
  }
  const auto send_one = [&] {
    const bool sent = server->try_send(client, {}, 1).ok() &&
                      server->try_send(client, {}, 1) == Errc::kWouldBlock;
    return sent ? Errc::kOk : Errc::kMisuse;
  };
  if (run.side == Side::kFull && send_one() != Errc::kOk) return exchange.waiter_says.say("full");
  const ServerEvent::Kind wanted =
      run.side == Side::kEmpty ? ServerEvent::Kind::kMessage : ServerEvent::Kind::kRoom;
  const int code = Waiter(run, exchange).go([&](Deadline deadline) {
    const Result<ServerEvent> event = server->wait(deadline);
    if (!event.ok()) return event.error();
    if (event->kind != wanted || event->client != client) return Errc::kMisuse;
    return run.side == Side::kEmpty ? Errc::kOk : send_one();
  });
  exchange.waiter = server->counters(client);
  while (server->clients() > 0) (void)server->wait(hang_deadline());  // they end first
  return code;
}

int be_served(const Run& run, const std::string& path, Exchange& exchange) {
  run_on_processor(0);
  ChannelOptions options = options_of(run);
  options.call_window = 1;
  const auto idle = Duplex::connect(path, options, hang_deadline());
  auto client = Duplex::connect(path, options, hang_deadline());
  if (!idle.ok() || !client.ok()) return exchange.waker_says.say("no connection");
  const int code = Waker(run, exchange).go([&] {
    return run.side == Side::kEmpty ? client->try_send({}, 1)
                                    : client->next(hang_deadline()).error();
  });
  exchange.waker = client->counters();
  return code;
}

// The events that must occur for a run to be meaningful.
struct Seen {
  std::uint64_t sleeps = 0;
  std::uint64_t wakes = 0;
  std::uint64_t timed_out = 0;

  // It slept often, was woken often, and sometimes timed out. How often a waiter actually sleeps
  // depends on the machine: between one wait in five and nearly all.
  bool is_enough(const Run& run) const {
    const bool parks = run.wait == WaitStrategy::kPark;
    const std::uint64_t often = parks ? run.cycles / 50 : 0;
    return sleeps > often && wakes > often && (!parks || timed_out > 0);
  }
};

void run_once(const Run& run, Seen& seen) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("channel.sock");
  const Shared<Exchange> exchange;
  ChildProcess consumer = listening_child(path, [&](ChannelListener& listener) {
    return run.serves ? serve(run, listener, *exchange) : consume(run, listener, *exchange);
  });
  ChildProcess producer(
      [&] { return run.serves ? be_served(run, path, *exchange) : produce(run, path, *exchange); });
  const int producer_code = producer.wait();
  const int consumer_code = consumer.wait();
  const auto shown = [](std::uint64_t count) { return static_cast<unsigned long long>(count); };
  std::printf(
      "%s, %s, %s%s: %llu cycles, %llu sleeps, %llu wakes, %llu waits timed out rightly; "
      "unnoticed for %.1f us at most\n",
      run.side == Side::kEmpty ? "empty" : "full",
      run.wait == WaitStrategy::kPark ? "park" : "backoff",
      run.membarrier ? "membarrier" : "fences",
      run.in_set   ? ", in a set"
      : run.serves ? ", a server"
                   : "",
      shown(exchange->taken.load()), shown(exchange->waiter.sleeps), shown(exchange->waker.wakes),
      shown(exchange->timed_out), static_cast<double>(exchange->there_ns_max) / 1000);
  INFO("the waiter says: " << exchange->waiter_says.text);
  INFO("the waker says: " << exchange->waker_says.text);
  CHECK(producer_code == 0);
  CHECK(consumer_code == 0);
  CHECK(exchange->lost == 0);
  CHECK(exchange->taken.load() == run.cycles);
  seen.sleeps += exchange->waiter.sleeps;
  seen.wakes += exchange->waker.wakes;
  seen.timed_out += exchange->timed_out;
}

// On a busy machine a run may prove nothing, because a waiter that spins and yields first rarely
// sleeps. The run is repeated with longer gaps until enough has been seen.
void check(const Run& run) {
  constexpr std::uint64_t kStretchMax = 256;
  constexpr std::uint64_t kCyclesMin = 20;
  Seen seen;
  Run next = run;
  for (; next.stretch <= kStretchMax && !seen.is_enough(run); next.stretch *= 2) {
    if (run.wait == WaitStrategy::kBackoff) {
      next.cycles = std::max(kCyclesMin, run.cycles / next.stretch);
    }
    run_once(next, seen);
  }
  INFO(seen.sleeps << " sleeps, " << seen.wakes << " wakes, " << seen.timed_out << " timed out");
  if (!seen.is_enough(run))
    FAIL("void: the waiter slept, was woken or timed out too seldom to show anything");
}

}  // namespace
}  // namespace lapwing

extern "C" {
int __real_ppoll(pollfd* entries, nfds_t count, const timespec* timeout, const sigset_t* mask);

// The linker's replacement for ppoll, with which the channel sleeps.
int __wrap_ppoll(pollfd* entries, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  const std::uint64_t end_ns = lapwing::monotonic_ns() +
                               static_cast<std::uint64_t>(timeout->tv_sec) * 1'000'000'000 +
                               static_cast<std::uint64_t>(timeout->tv_nsec);
  const int ready = __real_ppoll(entries, count, timeout, mask);
  if (ready == 0) lapwing::clock_ended_ns = end_ns;
  return ready;
}
}

namespace lapwing {

TEST_CASE("No wake-up is lost, whatever is waited for and with whichever barrier") {
  const std::uint64_t cycles = count_from("LAPWING_WAKES", 100'000);
  for (const Side side : {Side::kEmpty, Side::kFull}) {
    for (const bool membarrier : {true, false}) {
      check({side, WaitStrategy::kPark, membarrier, cycles / 2});
      check({side, WaitStrategy::kBackoff, membarrier, cycles / 200});  // it spins for long first
      check({side, WaitStrategy::kPark, membarrier, cycles / 4, true});
      check({side, WaitStrategy::kPark, membarrier, cycles / 4, false, true});
    }
  }
}

}  // namespace lapwing
