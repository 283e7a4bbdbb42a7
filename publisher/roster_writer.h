// Writes roster.json in a thread of its own, so that no file system makes the publisher's threads
// wait. Of several lists the newest is written.
//
// The thread starts with the first list. If the file system does not answer, the destructor leaves
// the thread behind after kRosterEndNs.
//
// Thread safety: one thread at a time. No call but finish() and the destructor blocks.
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
  // How the newest write that has ended went.
  absl::Status last() const;
  // Waits until everything is written, kRosterEndNs at most. Errors: those of the last write;
  // kTimedOut.
  absl::Status finish();

 private:
  struct Shared;

  const ThreadPlacement placement_;
  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace lapwing
