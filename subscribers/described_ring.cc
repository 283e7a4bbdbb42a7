#include "subscribers/described_ring.h"

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"

namespace lapwing {

absl::StatusOr<OpenRing> open_described_ring(const std::string& bus_directory,
                                             const BusDescription& bus) {
  if (!is_ring_path(bus.ring_path, bus.session_id)) {
    return make_error(Errc::kNotFound,
                      absl::StrCat(bus_directory, "/", kBusFileName, " gives ", bus.ring_path,
                                   " as the ring of its session, which is not a name of a ring; a "
                                   "publisher that starts rewrites it"));
  }
  const absl::StatusOr<DirectoryIdentity> owner =
      directory_identity(bus.journal_root.empty() ? bus_directory : bus.journal_root);
  if (!owner.ok()) return owner.status();
  absl::StatusOr<OpenRing> ring = OpenRing::open(bus.ring_path);
  if (ring.ok() && ring->belongs_to(*owner)) return ring;
  if (const std::optional<uid_t> foreign = foreign_user(bus.ring_path, owner->owner); foreign) {
    return make_error(Errc::kNotFound,
                      absl::StrCat("the ring file ", bus.ring_path, " belongs to user ", *foreign,
                                   ", and ", bus_directory, " to user ", owner->owner,
                                   "; start the publisher, which makes a ring of its own"));
  }
  if (!ring.ok()) return ring;
  return make_error(
      Errc::kNotFound,
      absl::StrCat("the ring file ", bus.ring_path, " belongs to another directory, of which ",
                   bus_directory, " is a copy; read that one, or start a publisher here"));
}

}  // namespace lapwing
