// Writes roster.json on its own thread, so that the publisher's threads never wait for a file
// system. If several lists are pending, only the newest is written.
//
// The thread starts with the first list. If the file system does not respond, the destructor
// abandons the thread after kRosterEndNs.
//
// Thread safety: one thread at a time. Only finish() and the destructor block.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "lapwing/thread_placement.h"
#include "snapshot/roster.h"

namespace lapwing {

inline constexpr std::uint64_t kRosterEndNs = 1'000'000'000;

class RosterWriter {
 public:
  RosterWriter(const std::string& directory, std::optional<unsigned> group,
               const ThreadPlacement& placement);
  ~RosterWriter();
  RosterWriter(const RosterWriter&) = delete;
  RosterWriter& operator=(const RosterWriter&) = delete;

  // Errors: kLimit (no thread could be started).
  absl::Status write(Roster roster);
  // The result of the newest finished write.
  absl::Status last() const;
  // Waits until everything is written, for at most kRosterEndNs. Errors: those of the last write;
  // kTimedOut.
  absl::Status finish();

 private:
  struct Shared;

  const ThreadPlacement placement_;
  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace lapwing
