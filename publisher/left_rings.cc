#include "publisher/left_rings.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/ring_directory.h"
#include "lapwing/error.h"
#include "os/lock_holder.h"
#include "os/path.h"
#include "os/posix_io.h"

namespace lapwing {
namespace {

// The session that a ring file with this name would belong to.
std::optional<Id128> session_named(const std::string& name) {
  const std::string extension = kRingFileExtension;
  if (!name.ends_with(extension)) return std::nullopt;
  return Id128::from_hex(name.substr(0, name.size() - extension.size()));
}

// True if a path that was read from a file may be opened at all.
bool may_be_a_ring(const std::string& path) {
  const std::optional<Id128> session = session_named(name_in_directory(path));
  return session && is_ring_path(path, *session);
}

bool is_called_right(const OpenRing& ring) {
  return name_in_directory(ring.path()) == ring_file_name(ring.header().session_id);
}

}  // namespace

std::vector<std::string> LeftRings::rings_in_homes() const {
  std::vector<std::string> found;
  for (const std::string& home : homes_) {
    const auto names = PosixDisk().list(home);
    if (!names.ok()) continue;  // a missing home has no rings
    for (const std::string& name : *names) {
      if (name.ends_with(kRingFileExtension)) found.push_back(absl::StrCat(home, "/", name));
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

absl::Status LeftRings::check_not_held(const OpenRing& ring) const {
  const absl::StatusOr<bool> held = ring.is_held();
  if (!held.ok()) return held.status();
  if (!*held) return absl::OkStatus();
  const auto pid = static_cast<pid_t>(ring.header().publisher_pid);
  if (has_ended(pid)) {
    return make_error(
        Errc::kInUse,
        absl::StrCat("the ring ", ring.path(), " is still locked: ", ended_text("publisher", pid)));
  }
  return make_error(Errc::kInUse,
                    absl::StrCat("process ", pid, " publishes here: it holds the ring ",
                                 ring.path(), "; end it, or choose another directory"));
}

absl::Status LeftRings::check_none_held(const std::string& described) const {
  std::vector<std::string> paths = rings_in_homes();
  if (may_be_a_ring(described)) paths.push_back(described);
  for (const std::string& path : paths) {
    const absl::StatusOr<OpenRing> ring = OpenRing::open(path);
    if (!ring.ok() || !ring->belongs_to(directory_)) continue;
    if (absl::Status free = check_not_held(*ring); !free.ok()) return free;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<OpenRing>> LeftRings::find(const std::string& path) const {
  std::vector<std::string> paths = {path};
  for (const std::string& home : homes_)
    paths.push_back(absl::StrCat(home, "/", name_in_directory(path)));
  for (const std::string& candidate : paths) {
    absl::StatusOr<OpenRing> ring = OpenRing::open(candidate);
    if (errc_of(ring.status()) == Errc::kNotFound) continue;
    const std::optional<uid_t> foreign = foreign_user(candidate, directory_.owner);
    if (!ring.ok() && !foreign) return ring.status();
    if (ring.ok() && ring->belongs_to(directory_) && is_called_right(*ring)) {
      return *std::move(ring);
    }
    log(LogEvent::kRingForeign,
        absl::StrCat("the ring file ", candidate, " belongs to ",
                     foreign ? absl::StrCat("user ", *foreign)
                             : "another directory, of which this one is a copy",
                     ": it is ignored, and this journal continues without a ring"),
        candidate);
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<RingImage>> LeftRings::open(const std::string& path,
                                                         std::optional<RingMap>& map) const {
  if (!may_be_a_ring(path)) {
    log(LogEvent::kRingForeign,
        absl::StrCat("`sessions` gives ", path,
                     " as the ring of its last session, which is not a name of a ring: it is "
                     "ignored, and this journal continues without a ring"),
        path);
    return std::nullopt;
  }
  absl::StatusOr<std::optional<OpenRing>> ring = find(path);
  if (!ring.ok()) return ring.status();
  if (!ring->has_value()) return std::nullopt;
  if (absl::Status free = check_not_held(**ring); !free.ok()) return free;
  absl::StatusOr<RingMap> attached = RingMap::attach(**ring, RingPages::kOnDemand);
  if (!attached.ok()) return attached.status();
  map.emplace(*std::move(attached));
  return RingImage{map->header(), &map->words(), map->slots()};
}

absl::Status LeftRings::remove_all_but(const std::string& kept, const std::string& settled,
                                       Foreign foreign) const {
  for (const std::string& path : rings_in_homes()) {
    if (path == kept) continue;
    const absl::StatusOr<bool> removed = remove_if_ours(path);
    if (!removed.ok()) return removed.status();
    if (!*removed && foreign == Foreign::kLog) {
      log(LogEvent::kRingForeign,
          absl::StrCat("the ring file ", path, " is of another bus directory and is not removed: ",
                       "it takes memory until that bus starts again, or you remove it"),
          path);
    }
  }
  if (!may_be_a_ring(settled) || settled == kept) return absl::OkStatus();
  return remove_if_ours(settled).status();
}

// False if the ring is another bus's, cannot be identified, or has a running publisher.
absl::StatusOr<bool> LeftRings::remove_if_ours(const std::string& path) const {
  const absl::StatusOr<OpenRing> ring = OpenRing::open(path);
  if (errc_of(ring.status()) == Errc::kNotFound) return true;
  if (!ring.ok() || !ring->belongs_to(directory_) || !is_called_right(*ring)) return false;
  if (!check_not_held(*ring).ok()) return false;
  if (absl::Status removed = ring->remove(); !removed.ok()) return removed;
  return true;
}

}  // namespace lapwing
