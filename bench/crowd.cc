#include "bench/crowd.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "bench/bench_bus.h"
#include "bench/stamped_record.h"
#include "lapwing/detail/atomic_word.h"
#include "os/kernel.h"
#include "os/waiter.h"
#include "proto/ring_words.h"
#include "publisher/feeds/pacer.h"
#include "publisher/service_thread.h"

namespace lapwing::bench {
namespace {

constexpr std::uint64_t kStrangerSlots = kCapacity;
// Twice the time that a replacement needs, so that subscribers and strangers are replaced equally
// often. When 64 members share a core, a parked member wakes up some 60 ms after it was asked to
// leave.
constexpr std::uint64_t kKillIntervalNs = 20'000'000;
constexpr std::uint64_t kSwapIntervalNs = 100'000'000;
constexpr std::uint64_t kNeverNs = 1'000'000'000'000'000'000;  // about thirty years
constexpr std::size_t kReadRecords = 256;
constexpr double kReplacedRatioMax = 1.25;
constexpr double kReplacedByChance = 10;

// The word on which strangers park, and the memory that they read.
struct Elsewhere {
  Shared<std::uint32_t> bell;
  SharedMemory slots{kStrangerSlots * kSlotBytes};

  // Maps every page at once, as a subscriber maps its ring (before Linux 5.14 neither does).
  void map() const { madvise(slots.data(), kStrangerSlots * kSlotBytes, MADV_POPULATE_READ); }

  void wake_all() const {
    bump_bell(&*bell);
    futex_wake_all(&*bell);
  }
};

// Waits as os/waiter.cc does, but on the strangers' word.
class StrangerWaiter {
 public:
  explicit StrangerWaiter(WaitStrategy strategy) : strategy_(strategy) {}
  void turn(const std::uint32_t& bell) {
    const bool parks = strategy_ == WaitStrategy::kPark || turns_ >= kBackoffSpins + kBackoffYields;
    if (parks)
      futex_wait(&bell, load_bell(&bell), kParkNsMax);
    else if (strategy_ == WaitStrategy::kBusy || turns_ < kBackoffSpins)
      spin_pause();
    else
      sched_yield();
    ++turns_;
  }
  void reset() { turns_ = 0; }

 private:
  WaitStrategy strategy_;
  std::uint32_t turns_ = 0;
};

// Copies as many records as a subscriber would have read by now.
template <typename Leaving>
void stand_by(const Elsewhere& elsewhere, const CrowdSpec& spec, Leaving&& leaving) {
  std::vector<std::byte> batch(kReadRecords * kRecordBytes);
  StrangerWaiter waiter(spec.wait);
  std::uint64_t slot = 0;
  double owed = 0;
  for (std::uint64_t last_ns = monotonic_ns(); !leaving();) {
    waiter.turn(*elsewhere.bell);
    const std::uint64_t now_ns = monotonic_ns();
    owed += static_cast<double>(now_ns - last_ns) * spec.records_per_second / 1e9;
    last_ns = now_ns;
    if (owed >= 1) waiter.reset();
    for (; owed >= 1; --owed, slot = (slot + 1) % kStrangerSlots) {
      std::memcpy(batch.data() + slot % kReadRecords * kRecordBytes,
                  elsewhere.slots.data() + slot * kSlotBytes, kRecordBytes);
    }
  }
}

// Checks `count` records that have just been read, starting with `first`.
void look_at(const std::byte* rows, std::size_t count, Sequence first, CrowdSight& sight) {
  std::uint64_t now = ticks_after_reads();
  for (std::size_t i = 0; i < count; ++i) {
    const StampedRecord record(rows + i * kRecordBytes);
    if (!record.whole()) ++sight.torn;
    if (record.number() != first + i) ++sight.out_of_order;
    now = std::max(now, record.due_ticks());
    sight.ages_ns.add(
        static_cast<std::uint64_t>(static_cast<double>(now - record.due_ticks()) * ns_per_tick()));
  }
}

}  // namespace

bool replaced_alike(double one, double other) {
  const auto [fewer, more] = std::minmax(one, other);
  return more <= kReplacedRatioMax * fewer + kReplacedByChance;
}

Crowd::Crowd(const CrowdSpec& spec)
    : size_(spec.size), leader_(spec.cores.front(), [&] { lead(spec, *board_); }) {}

void Crowd::await_members() const {
  spin_until([&] { return board_->treated == 1; });
}

CrowdSight Crowd::await_records(std::uint64_t records) const {
  const std::uint64_t deadline_ns = monotonic_ns() + kCatchUpNsMax;
  CrowdSight all;
  for (std::size_t member = 0; member < size_; ++member) {
    const Seat& seat = board_->seats[member];
    while (seat.settled < records && monotonic_ns() < deadline_ns) sched_yield();
    all.ages_ns.add(seat.sight.ages_ns);
    all.received += seat.sight.received;
    all.lost += seat.sight.lost;
    all.torn += seat.sight.torn;
    all.out_of_order += seat.sight.out_of_order;
  }
  return all;
}

void Crowd::subscribe(const CrowdSpec& spec, Board& board, std::size_t member) {
  Seat& seat = board.seats[member];
  Subscriber subscriber =
      value_or_fail(Subscriber::open(subscriber_options(spec.directory, spec.wait)));
  await_join(subscriber);
  board.present.fetch_add(1);
  std::vector<std::byte> rows(kReadRecords * kRecordBytes);
  while (board.leaving != member) {
    const Result<Batch> batch = subscriber.read(rows, std::chrono::nanoseconds(kParkNsMax));
    if (!batch.ok() && batch != Errc::kTimedOut) return;
    if (spec.timed) look_at(rows.data(), batch->count, batch->first, seat.sight);
    const SubscriberCounters counters = subscriber.counters();
    seat.sight.received = counters.records;
    seat.sight.lost = counters.lost;
    seat.settled = counters.records + counters.lost;
  }
}

// The leader creates the members. After that it does only what the treatment requires: waking
// strangers as a service thread wakes subscribers, or replacing members.
void Crowd::lead(const CrowdSpec& spec, Board& board) {
  const Elsewhere elsewhere;
  const auto make_member = [&](std::size_t member) {
    return std::make_unique<Child>(spec.cores[member % spec.cores.size()], [&, member] {
      if (spec.members == Members::kSubscribers) return subscribe(spec, board, member);
      elsewhere.map();
      board.present.fetch_add(1);
      stand_by(elsewhere, spec, [&] { return board.leaving == member; });
    });
  };
  std::vector<std::unique_ptr<Child>> members(spec.size);
  for (std::size_t member = 0; member < spec.size; ++member) members[member] = make_member(member);
  spin_until([&] { return board.present == spec.size; });
  if (spec.treatment == Treatment::kStopped) {
    for (const auto& member : members) ::kill(member->pid(), SIGSTOP);
  }
  const auto replace = [&](std::size_t victim) {
    if (spec.treatment == Treatment::kKilled) {
      members[victim]->kill();
    } else {
      board.leaving = victim;
      elsewhere.wake_all();
      members[victim]->join();
      board.leaving = kNoMember;
    }
    members[victim] = make_member(victim);
    ++board.replaced;
  };
  board.treated = 1;
  SystemPaceClock clock;
  std::uint64_t wake_ns = spec.members == Members::kStrangers ? monotonic_ns() : kNeverNs;
  std::uint64_t replace_ns = replaces_members(spec.treatment) ? monotonic_ns() : kNeverNs;
  for (std::size_t victim = 0;;) {
    clock.sleep_until_ns(std::min(wake_ns, replace_ns));
    if (const std::uint64_t now_ns = monotonic_ns(); now_ns >= wake_ns) {
      elsewhere.wake_all();
      const std::uint64_t done_ns = monotonic_ns();
      wake_ns = done_ns + std::max(kDoorbellNs, kDoorbellRestFactor * (done_ns - now_ns));
    }
    if (monotonic_ns() >= replace_ns) {
      replace_ns += spec.treatment == Treatment::kKilled ? kKillIntervalNs : kSwapIntervalNs;
      replace(victim);
      victim = (victim + 1) % spec.size;
    }
  }
}

}  // namespace lapwing::bench
