#include "bench/crowd.h"

#include <signal.h>

#include <cstring>
#include <memory>
#include <vector>

#include "bench/bench_bus.h"
#include "bus/kernel.h"
#include "bus/waiter.h"
#include "proto/shared_words.h"
#include "publisher/service_thread.h"

namespace lapwing::bench {
namespace {

constexpr std::uint64_t kStrangerSlots = kCapacity;
constexpr std::uint64_t kKillIntervalNs = 2'000'000;
constexpr std::size_t kReadRecords = 256;

// What strangers park on, and what they read.
struct Elsewhere {
  Shared<std::uint32_t> bell;
  SharedMemory slots{kStrangerSlots * kSlotBytes};
};

void subscribe(const std::string& directory, std::atomic<std::size_t>& present) {
  Subscriber subscriber(subscriber_options(directory, WaitStrategy::kPark));
  await_join(subscriber);
  present.fetch_add(1);
  std::vector<std::byte> batch(kReadRecords * kRecordBytes);
  for (;;) {
    if (subscriber.wait(monotonic_ns() + kParkNsMax).kind == ItemKind::kEnded) return;
    while (subscriber.poll_batch(batch) != 0) {
    }
  }
}

void stand_by(const Elsewhere& elsewhere, double records_per_second,
              std::atomic<std::size_t>& present) {
  present.fetch_add(1);
  std::vector<std::byte> batch(kReadRecords * kRecordBytes);
  std::uint64_t slot = 0;
  for (std::uint64_t last_ns = monotonic_ns();;) {
    futex_wait(&*elsewhere.bell, load_bell(&*elsewhere.bell), kParkNsMax);
    const std::uint64_t now_ns = monotonic_ns();
    const double published = static_cast<double>(now_ns - last_ns) * records_per_second / 1e9;
    last_ns = now_ns;
    for (double i = 0; i < published; ++i, slot = (slot + 1) % kStrangerSlots) {
      std::memcpy(batch.data() + slot % kReadRecords * kRecordBytes,
                  elsewhere.slots.data() + slot * kSlotBytes, kRecordBytes);
    }
  }
}

}  // namespace

Crowd::Crowd(const CrowdSpec& spec) : leader_(spec.core, [&] { lead(spec, *board_); }) {}

void Crowd::await_members() const {
  spin_until([&] { return board_->treated == 1; });
}

// The leader's only work beside being there is what the treatment asks for: waking strangers as a
// service thread wakes subscribers, or killing a member and making another.
void Crowd::lead(const CrowdSpec& spec, Board& board) {
  const Elsewhere elsewhere;
  const auto make_member = [&] {
    return std::make_unique<Child>(spec.core, [&] {
      if (spec.members == Members::kSubscribers) return subscribe(spec.directory, board.present);
      stand_by(elsewhere, spec.records_per_second, board.present);
    });
  };
  std::vector<std::unique_ptr<Child>> members(spec.size);
  for (auto& member : members) member = make_member();
  spin_until([&] { return board.present == spec.size; });
  if (spec.treatment == Treatment::kStopped) {
    for (const auto& member : members) ::kill(member->pid(), SIGSTOP);
  }
  board.treated = 1;
  const std::uint32_t never = 0;
  std::uint64_t interval_ns = kDoorbellNs;
  std::uint64_t next_kill_ns = monotonic_ns();
  for (std::size_t victim = 0;;) {
    futex_wait(&never, 0, interval_ns);
    const std::uint64_t now_ns = monotonic_ns();
    if (spec.members == Members::kStrangers) {
      bump_bell(&*elsewhere.bell);
      futex_wake_all(&*elsewhere.bell);
      const std::uint64_t took_ns = monotonic_ns() - now_ns;
      interval_ns = std::max(kDoorbellNs, kDoorbellRestFactor * took_ns);
    }
    if (spec.treatment == Treatment::kKilled && now_ns >= next_kill_ns) {
      members[victim]->kill();
      members[victim] = make_member();
      victim = (victim + 1) % spec.size;
      next_kill_ns = now_ns + kKillIntervalNs;
    }
  }
}

}  // namespace lapwing::bench
