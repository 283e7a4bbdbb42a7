// The ring file of a session whose publisher is gone, as recovery and repair look at it.
//
// Thread safety: one thread. Owns the mapping of the ring that was opened last.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "bus/ring_map.h"
#include "snapshot/recovery/recovery.h"

namespace lapwing {

class DeadRing {
 public:
  // Maps the file at `path`; nothing if it is not there. The image is valid as long as this object.
  // Errors: those of RingMap::attach but kNotFound.
  absl::StatusOr<std::optional<RingImage>> open(const std::string& path);

  // The same as a function, for settle() and repair_journal().
  RingOpener opener() {
    return [this](const std::string& path) { return open(path); };
  }

 private:
  std::unique_ptr<RingMap> map_;
};

}  // namespace lapwing
