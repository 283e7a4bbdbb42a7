// The ring files that earlier publishers of a bus have left: which may be recovered from, which may
// be removed, and whether one of those publishers lives.
//
// Where a ring lies is written in `sessions` and in bus.json, and what a file says is a claim. So a
// path is looked at only if it is called as a ring is, a ring counts only if its own header says
// that it belongs to this directory (device and inode: a copy of a bus directory has no ring) and it
// is a file of the directory's user, and nothing is removed that a publisher holds
// (bus/open_ring.h). What is not this bus's is left alone
// and logged.
//
// Thread safety: one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/open_ring.h"
#include "bus/ring_map.h"
#include "lapwing/log.h"
#include "snapshot/recovery/recovery.h"

namespace lapwing {

class LeftRings {
 public:
  // What to do about rings of other buses in the homes.
  enum class Foreign { kLog, kIgnore };

  // `directory` is the one whose rings they are: the journal's, or without a journal the bus's.
  // `homes` are where the rings of this bus lie; one may be missing.
  LeftRings(const DirectoryIdentity& directory, std::vector<std::string> homes, LogHook log)
      : directory_(directory), homes_(std::move(homes)), log_(std::move(log)) {}

  // kInUse if a publisher holds one of this bus's rings: in a home, or at `described`, where
  // bus.json says that it is (may be empty). Changes nothing.
  absl::Status check_none_held(const std::string& described) const;

  // The directory whose rings they are.
  const DirectoryIdentity& owner() const { return directory_; }
  // For settle() and repair_journal(): maps the ring that `sessions` says is at `path`, or one of
  // that name in a home; nothing if there is none of this directory's. The image is valid as long
  // as the function, which borrows this object. Errors: kInUse (its publisher lives), and those of
  // RingMap::attach but kNotFound.
  RingOpener opener() const {
    return [this, map = std::make_shared<std::optional<RingMap>>()](const std::string& path) {
      return open(path, *map);
    };
  }

  // Removes this bus's rings in the homes, and the one at `settled` (may be empty), but for `kept`
  // (may be empty) and those that a publisher holds. Errors: kNotPermitted, kSystem.
  absl::Status remove_all_but(const std::string& kept, const std::string& settled,
                              Foreign foreign = Foreign::kLog) const;

 private:
  std::vector<std::string> rings_in_homes() const;
  absl::StatusOr<std::optional<OpenRing>> find(const std::string& path) const;
  absl::StatusOr<std::optional<RingImage>> open(const std::string& path,
                                                std::optional<RingMap>& map) const;
  absl::Status check_not_held(const OpenRing& ring) const;
  absl::StatusOr<bool> remove_if_ours(const std::string& path) const;
  void log(LogEvent event, std::string message, const std::string& path) const {
    if (log_) log_(log_entry(event, std::move(message), {{"path", path}}));
  }

  DirectoryIdentity directory_;
  std::vector<std::string> homes_;
  LogHook log_;
};

}  // namespace lapwing
