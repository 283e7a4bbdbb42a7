// Where the parts of a bus lie, by its publisher's options.
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
  // Those that only one publisher may use: the bus's and, since another bus may be told to write
  // to it too, the journal's.
  std::vector<std::pair<std::string, DirectoryUse>> directories() const;

  // The directory that holds this bus's ring files, made if need be: the bus directory itself if it
  // is on tmpfs, otherwise one named after it, so that the files of two buses do not lie side by
  // side. Errors: those of private_ring_directory and prepare_directory.
  absl::StatusOr<std::string> make_ring_home() const;
  // This user's directory under /dev/shm, made if need be. Errors: those of private_ring_directory.
  absl::StatusOr<std::string> make_private_directory() const;
  // Rings that an earlier start may have left: in the bus directory, in the ring directories of
  // this user, and in the directory of the ring in bus.json if that is named after this bus. The
  // first choice of a ring directory may have been taken at that start and belong to this user now.
  // Errors: those of directory_identity and of a path that cannot be resolved.
  absl::StatusOr<LeftRings> left_rings() const;

 private:
  absl::StatusOr<std::string> ring_home() const;
  absl::StatusOr<std::string> ring_home_in(const std::string& parent) const;
  const std::vector<std::string>& private_directories() const;

  const PublisherSetUp& options_;
  // Searched for once, since /dev/shm may have very many names.
  mutable std::optional<std::vector<std::string>> private_directories_;
};

}  // namespace lapwing
