// Computes the paths of a bus's parts from its publisher's options.
//
// Thread safety: one thread. Borrows the options.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/open_ring.h"
#include "publisher/left_rings.h"
#include "publisher/publisher_set_up.h"
#include "snapshot/bus_directory.h"

namespace lapwing {

class BusPlaces {
 public:
  explicit BusPlaces(const PublisherSetUp& options) : options_(options) {}

  std::string journal_root() const;
  // The directories that only one publisher may use: the bus directory and the journal directory
  // (another bus may be configured to write to the same journal).
  std::vector<std::pair<std::string, DirectoryUse>> directories() const;

  // Returns the directory that holds this bus's ring files, and creates it if needed. It is the bus
  // directory itself if that is on tmpfs. Otherwise it is a directory named after the bus, so that
  // each bus has its own. Errors: those of private_ring_directory and prepare_directory.
  absl::StatusOr<std::string> make_ring_home() const;
  // Returns this user's directory under /dev/shm, and creates it if needed. Errors: those of
  // private_ring_directory.
  absl::StatusOr<std::string> make_private_directory() const;
  // Returns the rings that an earlier start may have left. It searches the bus directory, this
  // user's ring directories, and the directory of the ring in bus.json if that is named after this
  // bus. At that start, the preferred ring directory may have been unavailable, although it now
  // belongs to this user. Errors: those of directory_identity, and those of resolving a path.
  absl::StatusOr<LeftRings> left_rings() const;

 private:
  absl::StatusOr<std::string> ring_home() const;
  absl::StatusOr<std::string> ring_home_in(const std::string& parent) const;
  const std::vector<std::string>& private_directories() const;

  const PublisherSetUp& options_;
  // Listed only once, because /dev/shm may contain many entries.
  mutable std::optional<std::vector<std::string>> private_directories_;
};

}  // namespace lapwing
