// Keeps a process alive whose mapped files another user truncates.
//
// A read beyond the end of a mapped file is a SIGBUS, which ends the process. A monitor maps rings of
// users that it does not trust. With the guard, the whole range of such a mapping is replaced by
// zeros at the first SIGBUS in it, and the read continues: it finds a ring in which nothing was ever
// published, whose heartbeat stops.
//
// The kernel delivers SIGBUS to the thread that reads, so the handler runs while that thread owns
// the mapping. A SIGBUS elsewhere ends the process as before.
//
// Thread safety: any thread. guard_mappings() is called once, before mappings are made.
#pragma once

#include <cstddef>

namespace lapwing {

inline constexpr std::size_t kGuardedMax = 1024;  // mappings at once; others are not guarded

// For a program, not for the library: installs a handler of SIGBUS.
void guard_mappings();

// A mapping that is guarded for as long as this lives; nothing before guard_mappings().
class GuardedRange {
 public:
  GuardedRange() = default;
  GuardedRange(const void* begin, std::size_t bytes);
  GuardedRange(GuardedRange&& other) noexcept;
  GuardedRange& operator=(GuardedRange&& other) noexcept;
  ~GuardedRange();

 private:
  std::size_t slot_ = kGuardedMax;  // kGuardedMax: none
};

}  // namespace lapwing
