#include "os/mapping_guard.h"

#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <utility>

#include "os/guarded_slot.h"
#include "os/thread_words.h"

namespace lapwing {
namespace {

using Slot = GuardedSlot<SingleWriterWord>;

std::array<Slot, kGuardedMax> slots;
std::mutex slots_mutex;
StickyFlag is_guarding;
struct sigaction before;

// Async-signal-safe: loads, and one mmap.
void on_bus_error(int number, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (const Slot& slot : slots) {
    const auto [begin, bytes] = slot.range();
    if (begin == 0 || address < begin || address - begin >= bytes) continue;
    void* const replaced = ::mmap(reinterpret_cast<void*>(begin), bytes, PROT_READ,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (replaced != MAP_FAILED) return;
    break;
  }
  // The read is repeated, and the signal now has its previous effect.
  ::sigaction(number, &before, nullptr);
}

}  // namespace

void guard_mappings() {
  if (is_guarding.is_set()) return;
  is_guarding.set();
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, &before);
}

GuardedRange::GuardedRange(const void* begin, std::size_t bytes) {
  if (!is_guarding.is_set()) return;
  const std::lock_guard lock(slots_mutex);
  const auto free = std::ranges::find_if(slots, [](const Slot& slot) { return slot.is_free(); });
  if (free == slots.end()) return;
  free->hold(reinterpret_cast<std::uintptr_t>(begin), bytes);
  slot_ = static_cast<std::size_t>(free - slots.begin());
}

GuardedRange::GuardedRange(GuardedRange&& other) noexcept
    : slot_(std::exchange(other.slot_, kGuardedMax)) {}

GuardedRange& GuardedRange::operator=(GuardedRange&& other) noexcept {
  std::swap(slot_, other.slot_);
  return *this;
}

GuardedRange::~GuardedRange() {
  if (slot_ == kGuardedMax) return;
  const std::lock_guard lock(slots_mutex);
  slots[slot_].free();
}

}  // namespace lapwing
