// roster.json: who is attached to a bus. The next publisher reads it, and so knows which subscribers
// have to return after a kill.
//
// A list is believed if it is of the bus's last session and was written in this directory. So a
// list that an older release has left behind, and one of a copied bus, name nobody.
//
// The file is replaced as a whole and not synced: it survives a kill. After a power cut it may be
// the version before, or damaged; a damaged file counts as none.
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
  // Of the session that wrote it. Until the next session writes its own list, there are two: that
  // session has begun with this list.
  std::vector<Id128> sessions;
  std::uint64_t directory_inode = 0;
  Id128 boot_id;
  ProcessNamespaces namespaces;  // in which the pids are valid
  bool closed = false;           // the session was closed by its publisher
  // Attached or missing, without observers and those that have no name.
  std::vector<SubscriberInfoFrame> subscribers;

  // Whether it is the list of that session of the bus in that directory.
  bool is_of(const Id128& session, std::uint64_t inode) const;
  // JSON, docs/formats.md.
  std::string text() const;
  // Reads what text() returns. Errors: kDamaged.
  static absl::StatusOr<Roster> parse(const std::string& text);
};

// Errors: kNotFound, kNotPermitted, kNotALapwingFile, kDamaged, kSystem.
absl::StatusOr<Roster> read_roster(Disk& disk, const std::string& directory);
// Errors: kNoSpace, kNotPermitted, kSystem.
absl::Status write_roster(Disk& disk, const std::string& directory, const Roster& roster);
absl::Status remove_roster(Disk& disk, const std::string& directory);

// Whether a subscriber that is attached belongs in the list: not an observer, and not one without a
// name, which nobody could tell from another one.
bool is_expected_back(const SubscriberInfoFrame& subscriber);

// The subscribers of a list that count after a close at `head`. A subscriber that followed until the
// end may have ended its work with the bus. So those are left that were missing already, whose
// process is stopped, or that were behind and had not reported for kSilentAtCloseNs.
inline constexpr std::uint64_t kSilentAtCloseNs = 3'000'000'000;
std::vector<SubscriberInfoFrame> left_by_close(const std::vector<SubscriberInfoFrame>& subscribers,
                                               Sequence head, const ProcessNamespaces& namespaces);

// The subscribers that a new session has to expect: of another user than the owner and root at most
// kExpectedOfOtherMax, and all together at most kMissingMax. After a close without those whose
// process has ended since, unless they were missing before. Pids of another boot or pid namespace
// are marked as not known.
inline constexpr std::size_t kExpectedOfOtherMax = 64;
std::vector<SubscriberInfoFrame> expected_by(const Roster& roster, const Id128& boot_id,
                                             uid_t owner);

}  // namespace lapwing
