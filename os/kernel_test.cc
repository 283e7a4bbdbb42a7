#include "os/kernel.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/interprocess/mapped_region.hpp>
#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "lapwing/error.h"
#include "os/mapping.h"
#include "os/thread_words.h"
#include "testing/is_readable.h"
#include "testing/skip.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kHour = 3'600'000'000'000;

// A word with value 0 in shared memory, mapped for a reader and for a writer.
class SharedWord {
 public:
  SharedWord() {
    const UniqueFd file(memfd_create("word", MFD_CLOEXEC));
    REQUIRE(ftruncate(file.get(), kBytes) == 0);
    reader_ = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, file.get(), 0);
    writer_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    REQUIRE(reader_ != MAP_FAILED);
    REQUIRE(writer_ != MAP_FAILED);
  }
  ~SharedWord() {
    munmap(reader_, kBytes);
    munmap(writer_, kBytes);
  }
  SharedWord(const SharedWord&) = delete;
  SharedWord& operator=(const SharedWord&) = delete;

  const std::uint32_t* reader() const { return static_cast<const std::uint32_t*>(reader_); }
  std::uint32_t* writer() const { return static_cast<std::uint32_t*>(writer_); }

 private:
  static constexpr std::size_t kBytes = 4096;
  void* reader_ = nullptr;
  void* writer_ = nullptr;
};

TEST_CASE("A sleep on several words says which one was woken") {
  const SharedWord words[3];
  std::vector<FutexWord> slept_on;
  for (const SharedWord& word : words) slept_on.push_back({word.reader(), 0});
  const std::optional<std::size_t> timed_out = futex_wait_any(slept_on, kNsPerMs);
  if (!timed_out) LAPWING_SKIP("needs futex_waitv");
  CHECK(*timed_out == slept_on.size());

  std::thread sleeper([&] { CHECK(futex_wait_any(slept_on, kHour) == 1); });
  while (futex_wake_all(words[1].writer()) == 0) std::this_thread::yield();
  sleeper.join();

  slept_on[2].expected = 1;
  CHECK(futex_wait_any(slept_on, kHour) == slept_on.size());
}

TEST_CASE("Monotonic time does not go back, and wall time is of this century") {
  const std::uint64_t before = monotonic_ns();
  CHECK(monotonic_ns() >= before);
  CHECK(wall_ns() > 1'700'000'000'000'000'000);
}

TEST_CASE("A futex wait ends at once when the word has changed") {
  std::uint32_t word = 2;
  futex_wait(&word, 1, kHour);  // an hour's wait would look like a hang
  CHECK(word == 2);
}

TEST_CASE("A futex wait ends at its timeout, and not before") {
  const std::uint32_t word = 1;
  const std::uint64_t start = monotonic_ns();
  futex_wait(&word, 1, 20 * kNsPerMs);
  CHECK(monotonic_ns() - start >= 20 * kNsPerMs);
}

TEST_CASE("Waking a word that nobody sleeps on wakes nobody") {
  std::uint32_t word = 1;
  CHECK(futex_wake_all(&word) == 0);
}

TEST_CASE("A thread that sleeps on a read-only mapping is woken through a writable one") {
  const SharedWord word;
  StickyFlag woken;
  std::thread sleeper([&] {
    futex_wait(word.reader(), 0, kHour);
    woken.set();
  });
  // The sleeper is counted as woken only when the kernel reports it. Until then, it may not be
  // asleep yet.
  int woke = 0;
  while (woke == 0 && !woken.is_set()) woke = futex_wake_all(word.writer());
  sleeper.join();
  CHECK(woke == 1);
}

TEST_CASE("An eventfd is readable from its signal until it is drained") {
  const UniqueFd fd = make_eventfd().value();
  CHECK_FALSE(is_readable(fd.get()));
  signal_eventfd(fd.get());
  signal_eventfd(fd.get());
  CHECK(is_readable(fd.get()));
  drain_eventfd(fd.get());
  CHECK_FALSE(is_readable(fd.get()));
  drain_eventfd(fd.get());  // does not block
  CHECK((fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("A signal to an eventfd whose counter is full neither blocks nor is lost") {
  const UniqueFd fd = make_eventfd().value();
  const std::uint64_t full = UINT64_MAX - 1;
  REQUIRE(write(fd.get(), &full, sizeof full) == sizeof full);
  signal_eventfd(fd.get());
  CHECK(is_readable(fd.get()));
}

TEST_CASE("Random ids differ and are not zero") {
  const Id128 first = random_id().value();
  const Id128 second = random_id().value();
  CHECK(first != second);
  CHECK_FALSE(first.is_zero());
}

TEST_CASE("The boot id is the kernel's, without its dashes") {
  std::string text;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
  std::erase(text, '-');
  CHECK(boot_id().value().hex() == text);
}

TEST_CASE("The private membarrier is to be had") {
  const absl::Status status = register_membarrier_private();
  INFO(status);
  REQUIRE(status.ok());
  membarrier_private();
}

// The memory that two processes share in the test below, with one cache line per word.
struct Crossing {
  alignas(128) std::atomic<std::uint32_t> round{0};  // the round to play
  alignas(128) std::atomic<std::uint32_t> left{0};   // the last round in which each side stored
  alignas(128) std::atomic<std::uint32_t> right{0};
  alignas(128) std::atomic<std::uint32_t> played{0};  // the last round that the right side played
  std::atomic<bool> over{false};                      // valid once `round` was stored
  std::atomic<bool> right_missed{false};  // whether it did not see the left side's store
};

// Returns false if the other side has not stored `value` within a minute, and so has ended.
bool await(const std::atomic<std::uint32_t>& word, std::uint32_t value) {
  const std::uint64_t deadline_ns = monotonic_ns() + 60'000 * kNsPerMs;
  for (int spins = 1; word.load() != value; ++spins) {
    if (spins % 1024 != 0) continue;
    if (monotonic_ns() > deadline_ns) return false;
    sched_yield();  // the other side may need this processor
  }
  return true;
}

// Makes the two sides meet at a different time in each round.
void stagger(std::uint32_t steps) {
  for (std::uint32_t i = 0; i < steps; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
}

// The processors that this process may run on.
std::vector<std::size_t> processors() {
  cpu_set_t set;
  REQUIRE(sched_getaffinity(0, sizeof set, &set) == 0);
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) result.push_back(i);
  }
  return result;
}

bool run_on(const std::vector<std::size_t>& allowed) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const std::size_t processor : allowed) CPU_SET(processor, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

// Stores, then loads, with only a compiler barrier between the two.
void play_right(Crossing& crossing) {
  for (std::uint32_t round = 1;; ++round) {
    if (!await(crossing.round, round) || crossing.over) return;
    stagger(round * 7919 % 4096);
    crossing.right.store(round, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const bool missed = crossing.left.load(std::memory_order_relaxed) != round;
    crossing.right_missed.store(missed, std::memory_order_relaxed);
    crossing.played.store(round);
  }
}

TEST_CASE("The membarrier between processes is a barrier for the one that does not call it") {
  constexpr std::uint32_t kRounds = 40'000;
  const std::vector<std::size_t> allowed = processors();
  if (allowed.size() < 2) LAPWING_SKIP("needs a second processor to run on");
  const absl::Status status = register_membarrier_global();
  INFO(status);
  REQUIRE(status.ok());
  void* const memory =
      mmap(nullptr, sizeof(Crossing), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  Crossing& crossing = *new (memory) Crossing;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!run_on({allowed.back()}) || !register_membarrier_global().ok()) _exit(1);
    play_right(crossing);
    _exit(0);
  }
  REQUIRE(run_on({allowed.front()}));
  std::uint32_t left_missed = 0;
  std::uint32_t right_missed = 0;
  std::uint32_t both_missed = 0;
  // Plays more rounds until the two sides have met, because other processes may use the processors.
  const std::uint64_t deadline_ns = monotonic_ns() + 60'000 * kNsPerMs;
  std::uint32_t round = 1;
  for (; round <= kRounds ||
         ((left_missed == 0 || right_missed == 0) && monotonic_ns() < deadline_ns);
       ++round) {
    crossing.round.store(round);
    stagger(round * 104'729 % 512);
    crossing.left.store(round, std::memory_order_relaxed);
    membarrier_global();
    const bool missed = crossing.right.load(std::memory_order_relaxed) != round;
    REQUIRE(await(crossing.played, round));
    left_missed += missed;
    right_missed += crossing.right_missed;
    both_missed += missed && crossing.right_missed;
  }
  crossing.over = true;
  crossing.round.store(round);
  REQUIRE(run_on(allowed));
  int exit_status = -1;
  REQUIRE(waitpid(child, &exit_status, 0) == child);
  munmap(memory, sizeof(Crossing));
  INFO(left_missed << " rounds missed on the left, " << right_missed << " on the right");
  CHECK(exit_status == 0);
  CHECK(both_missed == 0);
  CHECK(left_missed > 0);  // otherwise the two sides never met
  CHECK(right_missed > 0);
}

TEST_CASE("A mapping that the kernel refuses is an error that names the file") {
  const UniqueFd fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
  REQUIRE(fd.valid());
  const auto region = map_file(fd.get(), MapAccess::kReadOnly, 4096, "/dev/null");
  CHECK(errc_of(region.status()) == Errc::kSystem);
  CHECK_THAT(std::string(region.status().message()), Catch::Contains("4096 bytes of /dev/null"));
}

}  // namespace
}  // namespace lapwing
