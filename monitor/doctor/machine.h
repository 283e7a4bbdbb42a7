// A machine to examine: its files, and the probes that must be run on it.
//
// Thread safety: values; the probes are called by the examining thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "monitor/doctor/machine_files.h"

namespace lapwing {

// Checks that cannot be made by reading files. Each probe leaves nothing behind.
struct Probes {
  std::function<absl::Status()> io_uring;
  std::function<absl::Status()> membarrier;
  // Opens a file for direct I/O in that directory.
  std::function<absl::Status(const std::string& directory)> direct_io;
};

// The probes of this machine.
Probes real_probes();

struct Machine {
  MachineFiles files = MachineFiles();
  Probes probes = real_probes();
  uid_t uid = 0;                       // the user who runs buses
  std::uint64_t ring_bytes = 0;        // of the bus, or the default
  std::string ring_directory = {};     // absolute, without links
  std::string journal_directory = {};  // absolute, without links; empty: no bus was named
};

}  // namespace lapwing
