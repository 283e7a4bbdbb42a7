// roster.json: who is attached to a bus. The next publisher reads it, and so knows which subscribers
// have to return after a kill.
//
// The file is replaced as a whole and not synced: it survives a kill. After a power cut it may be
// the version before, or damaged; a damaged file counts as none.
//
// Thread safety: values and free functions; one writer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "os/io.h"
#include "os/process_state.h"
#include "proto/control_frames.h"

namespace lapwing {

inline constexpr char kRosterFileName[] = "roster.json";
inline constexpr std::size_t kRosterBytesMax = 2 * 1024 * 1024;

struct Roster {
  Id128 boot_id;
  ProcessNamespaces namespaces;  // in which the pids are valid
  bool closed = false;           // the session was closed by its publisher
  // Attached or missing, without observers.
  std::vector<SubscriberInfoFrame> subscribers;

  // JSON, docs/formats.md.
  std::string text() const;
  // Reads what text() returns. Errors: kDamaged.
  static absl::StatusOr<Roster> parse(const std::string& text);
};

// Errors: kNotFound, kNotPermitted, kNotALapwingFile, kDamaged, kSystem.
absl::StatusOr<Roster> read_roster(Disk& disk, const std::string& directory);
// Errors: kNoSpace, kNotPermitted, kSystem.
absl::Status write_roster(Disk& disk, const std::string& directory, const Roster& roster);

// The subscribers that a new session has to expect. After a kill those are all of them. After a
// close a subscriber may have ended because of it, so only those count whose process still exists.
// Pids of another boot or pid namespace are marked as not known.
std::vector<SubscriberInfoFrame> expected_by(const Roster& roster, const Id128& boot_id,
                                             std::uint64_t now_wall_ns);

}  // namespace lapwing
