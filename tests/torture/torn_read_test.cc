// No reader ever accepts a record that is torn, stale or out of order, regardless of the writer.
//
// Short by default; LAPWING_TORTURE_SECONDS is the time for the whole program. The writer continues
// until every reader has taken records and has been lapped in the middle of a copy. A run without
// that proves nothing, and fails as void.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>

#include "lapwing/detail/atomic_word.h"
#include "lapwing/detail/slot_words.h"
#include "proto/slot_form.h"
#include "proto/slot_stamp.h"
#include "tests/torture/torn_read_oracle.h"

namespace lapwing::torture {
namespace {

constexpr double kSecondsDefault = 3;
constexpr double kRuns = 8;  // sizes × threads and processes
constexpr double kVoidSeconds = 120;
constexpr std::size_t kReadersMax = 3;
constexpr std::uint64_t kDiscardedMin = 3;  // copies of each reader invalidated by a lap
constexpr std::uint64_t kRecordsMin = 300;

using Tallies = Tally[kReadersMax];

double now_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds_per_run() {
  const char* const wanted = std::getenv("LAPWING_TORTURE_SECONDS");
  return (wanted != nullptr ? std::atof(wanted) : kSecondsDefault) / kRuns;
}

bool is_wrong(const Tally& tally) {
  return tally.torn != 0 || tally.backwards != 0 || tally.corrupt != 0;
}

// Ends a run after its minimum time, when every reader has seen the required events.
struct Enough {
  const Tallies& tallies;
  std::size_t readers;
  double start = now_seconds();

  bool operator()() const {
    const double elapsed = now_seconds() - start;
    if (elapsed > kVoidSeconds) return true;
    if (elapsed < seconds_per_run()) return false;
    for (std::size_t i = 0; i < readers; ++i) {
      if (is_wrong(tallies[i])) return true;
      if (tallies[i].discarded < kDiscardedMin || tallies[i].records < kRecordsMin) return false;
    }
    return true;
  }
};

unsigned long long count(const std::atomic<std::uint64_t>& counter) {
  return counter.load();
}

void check(const Tallies& tallies, std::size_t readers) {
  for (std::size_t i = 0; i < readers; ++i) {
    const Tally& tally = tallies[i];
    std::printf("  reader %zu: %llu records, %llu laps, %llu copies discarded, %llu torn\n", i + 1,
                count(tally.records), count(tally.laps), count(tally.discarded), count(tally.torn));
    CHECK(tally.torn == 0);
    CHECK(tally.backwards == 0);
    CHECK(tally.corrupt == 0);
    if (tally.records == 0) FAIL("void: this reader took no record");
    if (tally.discarded == 0) FAIL("void: this reader was never lapped in the middle of a copy");
  }
}

// The product's protocol with moves that may linger.
template <typename Moves>
struct RightProtocol {
  static void store_slot(std::byte* slot, Sequence n, const std::byte* record,
                         std::size_t record_bytes) {
    SlotProtocol<Moves>::store(slot, n, record, record_bytes);
  }
  static SlotReadResult load_slot(const std::byte* slot, Sequence n, std::byte* record,
                                  std::size_t record_bytes) {
    return SlotProtocol<Moves>::load(slot, n, record, record_bytes);
  }
};
// Called as the product calls it.
template <>
struct RightProtocol<WordMoves> : SlotForm {};

template <template <typename> class Protocol>
void run_threads(Geometry geometry, std::size_t readers, Tallies& tallies,
                 const std::function<bool()>& enough) {
  const RingMemory ring = RingMemory::create(geometry);  // one mapping, seen by ThreadSanitizer
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < readers; ++i) {
    threads.emplace_back(
        [&, i] { read_records<Protocol>(ring, Catch::rngSeed() + i + 1, tallies[i]); });
  }
  write_records<Protocol>(ring, Catch::rngSeed(), enough);
  for (std::thread& thread : threads) thread.join();
}

// noexcept: a failing child ends here instead of continuing with its parent's tests.
[[noreturn]] void read_in_child(const RingMemory& ring, std::size_t reader, Tally& tally) noexcept {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const RingMemory mine = ring.map_again();
  read_records<RightProtocol>(mine, Catch::rngSeed() + reader + 1, tally);
  _exit(0);
}

void run_processes(Geometry geometry, std::size_t readers, Tallies& tallies) {
  const RingMemory ring = RingMemory::create(geometry);
  std::vector<pid_t> children;
  for (std::size_t i = 0; i < readers; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) read_in_child(ring, i, tallies[i]);
    children.push_back(child);
  }
  write_records<RightProtocol>(ring, Catch::rngSeed(), Enough{tallies, readers});
  for (const pid_t child : children) {
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
}

// Tallies shared with a forked reader.
class SharedTallies {
 public:
  SharedTallies()
      : page_(mmap(nullptr, sizeof(Tallies), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                   0)) {
    REQUIRE(page_ != MAP_FAILED);
    new (page_) Tallies;
  }
  ~SharedTallies() { munmap(page_, sizeof(Tallies)); }
  SharedTallies(const SharedTallies&) = delete;
  SharedTallies& operator=(const SharedTallies&) = delete;
  Tallies& get() { return *static_cast<Tallies*>(page_); }

 private:
  void* page_;
};

struct Size {
  Geometry geometry;
  std::size_t readers;
};

Size any_size() {
  return GENERATE(Size{{32, 8}, 1}, Size{{32, 56}, 2}, Size{{32, 80}, 3}, Size{{8, 4088}, 1});
}

void announce(const char* who, const Size& size) {
  std::printf("%s, records of %u bytes, seed %u\n", who, size.geometry.record_bytes,
              Catch::rngSeed());
}

TEST_CASE("Threads over one mapping take no torn record") {
  const Size size = any_size();
  announce("threads", size);
  Tallies tallies;
  run_threads<RightProtocol>(size.geometry, size.readers, tallies, Enough{tallies, size.readers});
  check(tallies, size.readers);
}

TEST_CASE("Processes over two mappings take no torn record") {
  const Size size = any_size();
  announce("processes", size);
  SharedTallies tallies;
  run_processes(size.geometry, size.readers, tallies.get());
  check(tallies.get(), size.readers);
}

// Omits R3.
template <typename Moves>
struct ReadsWithoutLookingAgain : RightProtocol<Moves> {
  static SlotReadResult load_slot(const std::byte* slot, Sequence n, std::byte* record,
                                  std::size_t record_bytes) {
    const Word* const words = reinterpret_cast<const Word*>(slot);
    const Word before = detail::load(words[0], std::memory_order_acquire);
    if (before != ready_stamp(n)) return judge_stamp(before, n);
    Moves::load_words(words + 1, record, record_bytes);
    return {SlotRead::kRecord, before};
  }
};

// Omits W1.
template <typename Moves>
struct WritesWithoutOddStamp : RightProtocol<Moves> {
  static void store_slot(std::byte* slot, Sequence n, const std::byte* record,
                         std::size_t record_bytes) {
    Word* const words = reinterpret_cast<Word*>(slot);
    Moves::store_words(words + 1, record, record_bytes);
    detail::store(words[0], ready_stamp(n), std::memory_order_release);
  }
};

// Stores the stamp before the words.
template <typename Moves>
struct WritesStampFirst : RightProtocol<Moves> {
  static void store_slot(std::byte* slot, Sequence n, const std::byte* record,
                         std::size_t record_bytes) {
    Word* const words = reinterpret_cast<Word*>(slot);
    detail::store(words[0], ready_stamp(n), std::memory_order_release);
    Moves::store_words(words + 1, record, record_bytes);
  }
};

// Runs a wrong protocol until the oracle has caught it.
template <template <typename> class Protocol>
bool is_caught() {
  Tallies tallies;
  const double start = now_seconds();
  run_threads<Protocol>({8, 80}, 1, tallies, [&] {
    return tallies[0].torn > 0 || now_seconds() - start > kVoidSeconds;
  });
  INFO(tallies[0].records << " records, " << tallies[0].laps << " laps");
  return tallies[0].torn > 0;
}

TEST_CASE("The oracle catches a reader that does not look again") {
  CHECK(is_caught<ReadsWithoutLookingAgain>());
}

TEST_CASE("The oracle catches a writer without an odd stamp") {
  CHECK(is_caught<WritesWithoutOddStamp>());
}

TEST_CASE("The oracle catches a writer that stamps first") {
  CHECK(is_caught<WritesStampFirst>());
}

}  // namespace
}  // namespace lapwing::torture
