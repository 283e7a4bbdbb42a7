// A wait set of many buses loses no wake-up. Sixteen publishers in separate processes publish at
// random moments, often just as the set goes to sleep, and some of them are killed.
//
// A set's sleep ends by itself after kParkNsMax, so a lost wake-up causes only a delay, which a
// test cannot distinguish from a busy machine. Here no sleep ends by itself: the program is linked
// with --wrap=syscall, which sets kSleepNs for every futex_waitv and counts how each one ended. A
// sleep ended by the clock is a lost wake-up. Only after a publisher was killed, which rings no
// bell, do sleeps have the set's own duration.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "lapwing/detail/atomic_word.h"
#include "lapwing/wait_set.h"
#include "os/kernel.h"
#include "os/waiter.h"
#include "testing/environment.h"
#include "testing/temporary_directory.h"
#include "tests/end_to_end/stream.h"

namespace lapwing {
namespace {

constexpr std::size_t kBuses = 16;
constexpr std::uint64_t kSleepNs = 10'000 * kNsPerMs;
static_assert(kSleepNs >= 100 * kParkNsMax);
constexpr std::uint64_t kEventToken = kBuses;  // token of the eventfd
constexpr std::uint32_t kPausesMax = 4000;     // about 100 us, the time that a set takes to sleep

// The sleeps of this process, which has one thread that sleeps on several futexes.
struct Sleeps {
  bool are_long = false;     // sleeps last kSleepNs
  bool are_refused = false;  // as by a kernel without futex_waitv
  std::uint64_t refused = 0;
  std::uint64_t by_bell = 0;
  std::uint64_t by_clock = 0;  // long sleeps ended by the clock
};
Sleeps sleeps;

// A command for a publisher, after a number of pauses.
struct Command {
  std::uint32_t pauses;
  std::uint32_t records;
  bool signals;  // signals the eventfd
};

// A bus, its publisher in another process, and its subscriber in the set.
class Bus {
 public:
  Bus(std::string directory, int event) : directory_(std::move(directory)), event_(event) {
    REQUIRE(pipe2(commands_, O_CLOEXEC) == 0);
    SubscriberOptions options;
    options.directory = directory_;
    options.wait = WaitStrategy::kPark;
    options.on_gap = OnGap::kSkip;
    subscriber.emplace(Subscriber::open(std::move(options)).value());
  }
  ~Bus() {
    publisher_.reset();
    for (const int end : commands_) ::close(end);
  }
  Bus(const Bus&) = delete;
  Bus& operator=(const Bus&) = delete;

  void start() {
    publisher_ = std::make_unique<PublisherProcess>([this](const std::function<void()>& ready) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      PublisherSetUp options = stream_options(directory_);
      options.journal = false;  // waiting for a journal would also sleep
      options.segment_bytes = PublisherOptions().segment_bytes;
      const ClosingPublisher publisher = open_publisher(options);
      ready();
      Command command{};
      while (::read(commands_[0], &command, sizeof command) == sizeof command) {
        for (std::uint32_t i = 0; i < command.pauses; ++i) spin_pause();
        if (command.signals) signal_eventfd(event_);
        publish_stream(*publisher, command.records);
      }
    });
  }
  void kill() { publisher_->kill(); }
  void tell(const Command& command) {
    REQUIRE(::write(commands_[1], &command, sizeof command) == sizeof command);
    expected += command.records;
  }

  // Makes one call on the subscriber, which is ready.
  void take() {
    const Result<Item> item = subscriber->next(Deadline::now());
    kind = came(item);
    if (came(item) == EventKind::kReset) last_ = item->sequence - 1;
    if (came(item) != ItemKind::kRecord) return;
    if (last_ != 0) REQUIRE(item->sequence == last_ + 1);
    last_ = item->sequence;
    ++taken;
  }

  std::optional<Subscriber> subscriber;
  Came kind = Came::kNothing;  // of the last item
  std::uint64_t expected = 0;  // number of records
  std::uint64_t taken = 0;

 private:
  const std::string directory_;
  const int event_;
  int commands_[2];
  Sequence last_ = 0;
  std::unique_ptr<PublisherProcess> publisher_;
};

enum class Beside { kNothing, kDescriptor };

class Torture {
 public:
  explicit Torture(Beside beside) : set_(WaitSet::open({.wait = WaitStrategy::kPark}).value()) {
    sleeps = {};
    for (std::size_t i = 0; i < kBuses; ++i) {
      buses_.push_back(std::make_unique<Bus>(directory_.file("bus" + std::to_string(i)), event_));
      buses_.back()->start();
    }
    for (std::size_t i = 0; i < kBuses; ++i) {
      REQUIRE(set_.add(*buses_[i]->subscriber, i).ok());
    }
    if (beside == Beside::kDescriptor) REQUIRE(set_.add_fd(event_, POLLIN, kEventToken).ok());
    for (const auto& bus : buses_) until([&] { return bus->kind == EventKind::kCaughtUp; });
    has_descriptor_ = beside == Beside::kDescriptor;
  }
  ~Torture() { ::close(event_); }
  Torture(const Torture&) = delete;
  Torture& operator=(const Torture&) = delete;

  // Makes some publishers publish, and takes everything.
  void round() {
    for (std::uint32_t i = 1 + random_() % 4; i > 0; --i) {
      const bool signals = has_descriptor_ && random_() % 4 == 0;
      buses_[random_() % kBuses]->tell({static_cast<std::uint32_t>(random_()) % kPausesMax,
                                        static_cast<std::uint32_t>(1 + random_() % 3), signals});
      signals_expected_ += signals;
    }
    until([&] {
      for (const auto& bus : buses_) {
        if (bus->taken < bus->expected) return false;
      }
      return signals_taken_ == signals_expected_;
    });
  }

  // Kills a publisher, and replaces it on the same bus.
  void kill_one() {
    Bus& bus = *buses_[random_() % kBuses];
    sleeps.are_long = false;
    bus.kill();
    until([&] { return bus.kind == EventKind::kPublisherGone; });
    bus.start();
    bus.tell({0, 1, false});
    until([&] { return bus.taken == bus.expected; });
    sleeps.are_long = true;
    ++kills;
  }

  std::uint64_t records() const {
    std::uint64_t sum = 0;
    for (const auto& bus : buses_) sum += bus->taken;
    return sum;
  }

  std::uint64_t rounds = 0;
  std::uint64_t kills = 0;

 private:
  template <typename Condition>
  void until(const Condition& condition) {
    while (!condition()) {
      const Result<Ready> ready = set_.wait(far_deadline());
      REQUIRE(ready.ok());
      if (ready->token == kEventToken) {
        std::uint64_t count = 0;
        REQUIRE(::read(event_, &count, sizeof count) == sizeof count);
        signals_taken_ += count;
      } else {
        buses_[ready->token]->take();
        REQUIRE(buses_[ready->token]->kind != Came::kEnd);
      }
      REQUIRE(sleeps.by_clock == 0);
    }
  }

  const TemporaryDirectory directory_;
  const int event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);  // inherited by the children
  std::vector<std::unique_ptr<Bus>> buses_;
  WaitSet set_;
  bool has_descriptor_ = false;
  std::uint64_t signals_expected_ = 0;
  std::uint64_t signals_taken_ = 0;
  std::minstd_rand random_{static_cast<std::uint32_t>(test_seed())};
};

std::uint64_t wakes() {
  return count_from("LAPWING_SET_WAKES", 10'000);
}

void report(const Torture& torture) {
  std::printf("%llu records taken, %llu sleeps ended by a wake-up, %llu publishers killed\n",
              static_cast<unsigned long long>(torture.records()),
              static_cast<unsigned long long>(sleeps.by_bell),
              static_cast<unsigned long long>(torture.kills));
}

TEST_CASE("A set of sixteen buses is woken for every record, while publishers are killed") {
  constexpr std::uint64_t kRoundsPerKill = 200;
  Torture torture(Beside::kNothing);
  sleeps.are_long = true;
  while (torture.records() < wakes()) {
    torture.round();
    if (++torture.rounds % kRoundsPerKill == 0) torture.kill_one();
  }
  report(torture);
  CHECK(sleeps.by_clock == 0);
  CHECK(sleeps.by_bell >= torture.rounds / 10);
  CHECK(torture.kills > 0);
}

TEST_CASE("A set of sixteen buses and a descriptor is woken for every record and every signal") {
  Torture torture(Beside::kDescriptor);
  sleeps.are_long = true;
  while (torture.records() < wakes()) {
    torture.round();
    ++torture.rounds;
  }
  report(torture);
  CHECK(sleeps.by_clock == 0);
  CHECK(sleeps.by_bell >= torture.rounds / 10);
}

TEST_CASE("Without futex_waitv a set of sixteen buses takes every record all the same") {
  Torture torture(GENERATE(Beside::kNothing, Beside::kDescriptor));
  sleeps.are_refused = true;
  while (torture.records() < wakes() / 100) torture.round();
  CHECK(sleeps.refused > 0);  // otherwise the test is void: the set never tried to sleep
}

}  // namespace
}  // namespace lapwing

extern "C" {
long __real_syscall(long number, ...);

// The linker's replacement for syscall, with which a set sleeps on futexes.
long __wrap_syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  const bool sleep = number == SYS_futex_waitv;
  if (sleep && lapwing::sleeps.are_refused) {
    ++lapwing::sleeps.refused;
    errno = ENOSYS;
    return -1;
  }
  const std::uint64_t until_ns = lapwing::monotonic_ns() + lapwing::kSleepNs;
  const timespec far{static_cast<time_t>(until_ns / 1'000'000'000),
                     static_cast<long>(until_ns % 1'000'000'000)};
  const bool is_long = sleep && lapwing::sleeps.are_long;
  if (is_long) arguments[3] = reinterpret_cast<long>(&far);
  const long result = __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                                     arguments[4], arguments[5]);
  if (!sleep) return result;
  const int error = errno;
  if (result >= 0 || error == EAGAIN) ++lapwing::sleeps.by_bell;
  if (is_long && result < 0 && error == ETIMEDOUT) ++lapwing::sleeps.by_clock;
  errno = error;
  return result;
}
}
