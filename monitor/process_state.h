// What the kernel says a process is doing.
//
// A number may be another process's in another process namespace; callers have a reason to believe
// that it is the one they mean.
//
// Thread safety: free functions.
#pragma once

#include <cstdint>

namespace lapwing {

// Stopped by a signal or a debugger. False where the kernel does not say.
bool is_stopped(std::uint32_t pid);
// There is no such process, or only what is left until its parent has asked for its end.
bool has_ended(std::uint32_t pid);

}  // namespace lapwing
