// roster.json: the subscribers that are attached to a bus. The next publisher reads it to determine
// which subscribers should return after a kill.
//
// A list is valid only if the bus's last session wrote it in this directory. It is ignored if a
// release without rosters has run since, or if it was copied along with its bus.
//
// The file is replaced as a whole and not synced, so it survives a kill. After a power cut it may
// be the previous version, or damaged; a damaged file is ignored.
//
// Thread safety: values and free functions; one writer.
#pragma once

#include <sys/types.h>

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
  // The session that wrote the list. When the next session starts, it is added as the second one,
  // until it writes its own list.
  std::vector<Id128> sessions;
  std::uint64_t directory_inode = 0;
  Id128 boot_id;
  ProcessNamespaces namespaces;  // where the pids are valid
  bool closed = false;           // the session was closed by its publisher
  // Attached and missing subscribers, except observers and subscribers without a name.
  std::vector<SubscriberInfoFrame> subscribers;

  // True if this is the session's list for the bus in the directory with this inode.
  bool is_of(const Id128& session, std::uint64_t inode) const;
  // JSON, docs/reference/file-formats.md.
  std::string text() const;
  // Parses the result of text(). Errors: kDamaged.
  static absl::StatusOr<Roster> parse(const std::string& text);
};

// Errors: kNotFound, kNotPermitted, kNotALapwingFile, kDamaged, kSystem.
absl::StatusOr<Roster> read_roster(Disk& disk, const std::string& directory);
// Errors: kNoSpace, kNotPermitted, kSystem.
absl::Status write_roster(Disk& disk, const std::string& directory, const Roster& roster);
absl::Status remove_roster(Disk& disk, const std::string& directory);

// True if an attached subscriber belongs in the list. Observers do not, and neither do subscribers
// without a name, because those cannot be distinguished.
bool is_expected_back(const SubscriberInfoFrame& subscriber);

// Returns the subscribers that stay in the list after a close at `head`. A subscriber that followed
// until the end may have finished its work with the bus. So only these stay: subscribers that were
// already missing, those whose process is stopped, and those that were behind and had not reported
// for kSilentAtCloseNs.
inline constexpr std::uint64_t kSilentAtCloseNs = 3'000'000'000;
std::vector<SubscriberInfoFrame> left_by_close(const std::vector<SubscriberInfoFrame>& subscribers,
                                               Sequence head, const ProcessNamespaces& namespaces);

// Returns the subscribers that a new session should expect: at most kExpectedOfOtherMax per user
// other than the owner and root, and at most kMissingMax in total. After a close, it omits those
// whose process has since ended, unless they were already missing. Pids from another boot or pid
// namespace are marked as unknown.
inline constexpr std::size_t kExpectedOfOtherMax = 64;
std::vector<SubscriberInfoFrame> expected_by(const Roster& roster, const Id128& boot_id,
                                             uid_t owner);

}  // namespace lapwing
