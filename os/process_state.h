// The state of a process according to /proc.
//
// A pid is valid in one pid namespace, and the kernel reuses it. Start ticks distinguish two
// processes with the same pid, but depend on the reader's time namespace. So both namespaces
// are part of the identity.
//
// Thread safety: free functions.
#pragma once

#include <cstdint>

#include "lapwing/detail/enum_names.h"

namespace lapwing {

// Namespaces of a process, as inodes of /proc/PID/ns. 0: not known.
struct ProcessNamespaces {
  std::uint64_t pid = 0;
  std::uint64_t time = 0;

  friend bool operator==(const ProcessNamespaces&, const ProcessNamespaces&) = default;
};

struct ProcessIdentity {
  std::uint32_t pid = 0;          // 0: not known
  std::uint64_t start_ticks = 0;  // when it started, in clock ticks since boot; 0: not known
  ProcessNamespaces namespaces;   // of the process that read pid and start_ticks
};

enum class ProcessState : std::uint32_t {
  kUnknown = 0,  // another pid namespace, or the kernel does not report it
  kRunning = 1,
  kStopped = 2,  // by a signal or a debugger
  kEnded = 3,    // it does not exist, or is a zombie, or its pid belongs to another process
};

constexpr const char* name_of(ProcessState state) {
  constexpr detail::EnumName<ProcessState> kNames[] = {{ProcessState::kRunning, "running"},
                                                       {ProcessState::kStopped, "stopped"},
                                                       {ProcessState::kEnded, "ended"}};
  return detail::name_in(kNames, state);
}

// Namespaces of this process.
ProcessNamespaces own_namespaces();
// A process in this pid namespace. start_ticks is 0 if the kernel does not report it.
ProcessIdentity identity_of(std::uint32_t pid);
ProcessState state_of(const ProcessIdentity& process);

// The same, with only the pid. False if the kernel does not report the process.
bool is_stopped(std::uint32_t pid);
bool has_ended(std::uint32_t pid);

}  // namespace lapwing
