// Keeps a process alive if another user truncates a file that it has mapped.
//
// A read beyond the end of a mapped file raises SIGBUS, which ends the process. A monitor maps the
// rings of users that it does not trust. With the guard, the first SIGBUS in such a mapping
// replaces its whole range with zeros, and the read continues. The ring then looks as if nothing
// had ever been published, and its heartbeat stops.
//
// The kernel delivers SIGBUS to the thread that reads, so the handler runs while that thread owns
// the mapping. A SIGBUS elsewhere ends the process as before.
//
// Thread safety: any thread. guard_mappings() is called once, before mappings are made.
#pragma once

#include <cstddef>

namespace lapwing {

inline constexpr std::size_t kGuardedMax = 1024;  // at most this many are guarded at once

// Installs a handler for SIGBUS. For programs, not for the library.
void guard_mappings();

// Guards a mapping while this object exists. Has no effect before guard_mappings().
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
