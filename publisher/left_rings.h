// Finds the ring files that earlier publishers of a bus have left behind. Determines which of them
// may be used for recovery or removed, and whether one of these publishers is still running.
//
// The rings' paths come from `sessions` and bus.json, which are not trusted. A path is opened only
// if its name has the form of a ring's name. A ring counts only if its own header names this
// directory and the directory's owner owns the file. The header contains the device and inode, so a
// copy of a bus directory has no ring. A ring held by a publisher is never removed
// (bus/open_ring.h). Rings of other buses are left unchanged and logged.
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
  // Whether to log other buses' rings in the homes.
  enum class Foreign { kLog, kIgnore };

  // `directory` is the directory that owns the rings: the journal's, or the bus's if there is no
  // journal. `homes` are the directories that contain the rings of this bus. They need not exist.
  LeftRings(const DirectoryIdentity& directory, std::vector<std::string> homes, LogHook log)
      : directory_(directory), homes_(std::move(homes)), log_(std::move(log)) {}

  // Returns kInUse if a publisher holds one of this bus's rings: in a home, or at `described`, the
  // path in bus.json, which may be empty. Changes nothing.
  absl::Status check_none_held(const std::string& described) const;

  // The directory that owns the rings.
  const DirectoryIdentity& owner() const { return directory_; }
  // For settle() and repair_journal(). Maps the ring at `path`, which comes from `sessions`, or a
  // ring with that name in a home. Returns nullopt if this directory has no such ring. The image is
  // valid as long as the returned function, which borrows this object. Errors: kInUse (its
  // publisher is running), and those of RingMap::attach except kNotFound.
  RingOpener opener() const {
    return [this, map = std::make_shared<std::optional<RingMap>>()](const std::string& path) {
      return open(path, *map);
    };
  }

  // Removes this bus's rings in the homes, and the one at `settled`, except `kept` and rings held
  // by a publisher. Both paths may be empty. Errors: kNotPermitted, kSystem.
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
