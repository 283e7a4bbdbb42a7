// Only the doorbell wakes a parked subscriber.
//
// A park ends by itself after kParkNsMax, so a bell that never rings causes only a delay, which a
// test cannot distinguish from a busy machine. Here no park ends by itself: the program is linked
// with --wrap=syscall, which sets kSleepNs for every sleep on a shared futex and counts how each
// one ended. A sleep ended by the clock is a lost wake-up.
//
// Publisher and reader run in lockstep: a record is published only when the reader sleeps, and the
// next one only after it has been taken.
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "lapwing/subscriber.h"
#include "os/kernel.h"
#include "os/unique_fd.h"
#include "os/waiter.h"
#include "proto/ring_layout.h"
#include "proto/ring_words.h"
#include "publisher/file_thread.h"
#include "publisher/publisher_set_up.h"
#include "snapshot/bus_directory.h"
#include "testing/closing_publisher.h"
#include "testing/environment.h"
#include "testing/temporary_directory.h"
#include "tests/end_to_end/stream.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kSleepNs = 10'000 * kNsPerMs;
static_assert(kSleepNs >= 100 * kParkNsMax);

// This process's sleeps on shared futexes, which are those of the only reader.
struct Sleeps {
  std::atomic<bool> asleep{false};  // from before the system call
  std::atomic<std::uint64_t> by_bell{0};
  std::atomic<std::uint64_t> by_clock{0};
};
Sleeps sleeps;

void forget_sleeps() {
  sleeps.asleep = false;
  sleeps.by_bell = 0;
  sleeps.by_clock = 0;
}

// Returns false if a wake-up has been lost first, or after the time that a lost one takes.
template <typename Condition>
bool await(const Condition& condition) {
  const std::uint64_t deadline_ns = monotonic_ns() + 2 * kSleepNs;
  while (!condition()) {
    if (sleeps.by_clock > 0 || monotonic_ns() >= deadline_ns) return false;
    wait_readable(-1, 20'000);
  }
  return sleeps.by_clock == 0;
}

enum class Manner { kWait, kDescriptor };

// A subscriber on its own thread, which reads records until the bus is closed.
class Reader {
 public:
  Reader(const std::string& directory, Manner manner)
      : thread_([this, directory, manner] { run(directory, manner); }) {}
  ~Reader() {
    stop_ = true;
    thread_.join();
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Sequence taken() const { return taken_; }
  bool closed() const { return closed_; }
  bool ended() const { return ended_; }  // no bus in these tests gives a reason to end

 private:
  void run(const std::string& directory, Manner manner) {
    SubscriberOptions options;
    options.directory = directory;
    options.wait = WaitStrategy::kPark;
    options.on_gap = OnGap::kSkip;
    Subscriber subscriber = Subscriber::open(std::move(options)).value();
    while (!stop_ && !closed_ && !ended_) {
      const Result<Item> item = manner == Manner::kWait
                                    ? subscriber.next(std::chrono::nanoseconds(kSleepNs))
                                    : wait_for_descriptor(subscriber);
      if (came(item) == ItemKind::kRecord) taken_ = item->sequence;
      closed_ = came(item) == EventKind::kClosed;
      ended_ = came(item) == Came::kEnd;
    }
  }

  static Result<Item> wait_for_descriptor(Subscriber& subscriber) {
    const auto fd = subscriber.fd();
    const Result<Item> item = subscriber.next(Deadline::now());
    const bool nothing = came(item) == Came::kNothing;
    if (nothing && fd.ok() && subscriber.arm()) wait_readable(*fd, kSleepNs);
    return item;
  }

  std::atomic<Sequence> taken_{0};
  std::atomic<bool> closed_{false};
  std::atomic<bool> ended_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// Page 1 of a ring, writable for the test.
class WritableWords {
 public:
  explicit WritableWords(const std::string& bus) {
    const std::string ring = read_bus_description(bus).value().ring_path;
    REQUIRE(chmod(ring.c_str(), 0600) == 0);
    const UniqueFd fd(open(ring.c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(fd.valid());
    REQUIRE(chmod(ring.c_str(), 0400) == 0);
    page_ = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), kPageBytes);
    REQUIRE(page_ != MAP_FAILED);
  }
  ~WritableWords() { munmap(page_, kPageBytes); }
  WritableWords(const WritableWords&) = delete;
  WritableWords& operator=(const WritableWords&) = delete;

  RingWords& words() const { return *static_cast<RingWords*>(page_); }

 private:
  void* page_;
};

ClosingPublisher open_bus(const std::string& directory) {
  PublisherSetUp options = stream_options(directory);
  options.journal = false;  // waiting for a journal would also sleep on a futex
  options.segment_bytes = PublisherOptions().segment_bytes;
  forget_sleeps();
  return open_publisher(options);
}

// Publishes `count` records, each when the reader sleeps, and closes when it sleeps again. Every
// sixteenth record is so late that the service thread sleeps as well.
void hand_over(Publisher& publisher, const Reader& reader, std::uint64_t count) {
  REQUIRE(await([&] { return sleeps.asleep.load() || reader.ended(); }));
  REQUIRE_FALSE(reader.ended());
  for (Sequence n = 1; n <= count; ++n) {
    if (n % 16 == 0) wait_readable(-1, 2 * kIdleAfterNs);
    publish_stream(publisher, 1);
    INFO("record " << n << " of " << count
                   << "; sleeps that the bell has ended: " << sleeps.by_bell);
    REQUIRE(await([&] { return reader.taken() == n; }));
    REQUIRE(await([] { return sleeps.asleep.load(); }));
  }
  CHECK(sleeps.by_bell >= count);
  CHECK(publisher.counters().idle_wakes > 0);
  REQUIRE(publisher.close().ok());
  CHECK(publisher.counters().doorbells >= count);
  REQUIRE(await([&] { return reader.closed(); }));
  CHECK(sleeps.by_clock == 0);
  std::printf("%llu records and the close taken, %llu sleeps ended by the bell\n",
              static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(sleeps.by_bell.load()));
}

std::uint64_t handovers() {
  return count_from("LAPWING_HANDOVERS", 1000);
}

TEST_CASE("A parked subscriber is woken by the bell for every record, and for the close") {
  const TemporaryDirectory directory;
  const auto publisher = open_bus(directory.file("bus"));
  const Manner manner = GENERATE(Manner::kWait, Manner::kDescriptor);
  const Reader reader(directory.file("bus"), manner);
  hand_over(*publisher, reader, handovers());
}

TEST_CASE("A doorbell that wraps from its last number to 0 still wakes") {
  const TemporaryDirectory directory;
  const auto publisher = open_bus(directory.file("bus"));
  const WritableWords ring(directory.file("bus"));
  const std::uint32_t start = UINT32_MAX - 20;
  ring.words().doorbell.value = start;  // no reader is attached, so nothing rings
  const Reader reader(directory.file("bus"), Manner::kWait);
  hand_over(*publisher, reader, 100);
  CHECK(load_bell(doorbell_address(ring.words())) < 1000);
  CHECK(ring.words().doorbell.value < start);  // including the upper half of the word
}

TEST_CASE("A waiter is woken by the bell alone, wherever the bell's number is") {
  forget_sleeps();
  constexpr Sequence kRounds = 2000;
  const std::uint32_t start = GENERATE(0U, UINT32_MAX - kRounds / 2);
  RingWords words{};
  store_ring_state(words, RingState::kRunning);
  words.doorbell.value = start;
  std::atomic<Sequence> seen{0};
  std::thread sleeper([&] {
    Waiter waiter(WaitStrategy::kPark);
    while (seen < kRounds) {
      waiter.turn(words, seen, UINT64_MAX);
      seen = load_head(words);
    }
  });
  bool taken = true;
  for (Sequence n = 1; n <= kRounds && taken; ++n) {
    taken = await([] { return sleeps.asleep.load(); });
    store_head(words, n);
    bump_bell(doorbell_address(words));
    futex_wake_all(doorbell_address(words));
    taken = taken && await([&] { return seen == n; });
  }
  store_head(words, kRounds);
  sleeper.join();
  CHECK(taken);
  CHECK(sleeps.by_clock == 0);
  CHECK(sleeps.by_bell >= kRounds);
  CHECK(load_bell(doorbell_address(words)) == start + static_cast<std::uint32_t>(kRounds));
}

}  // namespace
}  // namespace lapwing

extern "C" {
long __real_syscall(long number, ...);

// The linker's replacement for syscall, with which the bus sleeps on a futex.
long __wrap_syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  const bool one = number == SYS_futex && static_cast<int>(arguments[1]) == FUTEX_WAIT;
  const bool either = number == SYS_futex_waitv;  // the bell first, then the interrupt
  const bool sleep = one || either;
  const std::uint64_t until_ns = (either ? lapwing::monotonic_ns() : 0) + lapwing::kSleepNs;
  const timespec far{static_cast<time_t>(until_ns / 1'000'000'000),
                     static_cast<long>(until_ns % 1'000'000'000)};
  if (sleep) {
    arguments[3] = reinterpret_cast<long>(&far);
    lapwing::sleeps.asleep = true;
  }
  const long result = __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                                     arguments[4], arguments[5]);
  if (!sleep) return result;
  const int error = errno;
  lapwing::sleeps.asleep = false;
  if (result == 0 || error == EAGAIN) ++lapwing::sleeps.by_bell;
  if (result != 0 && error == ETIMEDOUT) ++lapwing::sleeps.by_clock;
  errno = error;
  return result;
}
}
