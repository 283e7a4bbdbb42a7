#include "publisher/bus_places.h"

#include <xxhash.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "bus/ring_directory.h"
#include "lapwing/error.h"
#include "os/path.h"
#include "os/system_error.h"

namespace lapwing {

std::string BusPlaces::journal_root() const {
  return options_.journal_directory.empty()
             ? absl::StrCat(options_.directory, "/", kJournalDirectoryName)
             : options_.journal_directory;
}

std::vector<std::pair<std::string, DirectoryUse>> BusPlaces::directories() const {
  std::vector<std::pair<std::string, DirectoryUse>> all = {
      {options_.directory, DirectoryUse::kBus}};
  if (options_.journal) all.emplace_back(journal_root(), DirectoryUse::kJournal);
  return all;
}

absl::StatusOr<std::string> BusPlaces::ring_home_in(const std::string& parent) const {
  std::error_code error;
  const std::string full = std::filesystem::canonical(options_.directory, error).string();
  if (error)
    return make_system_error(error.value(), absl::StrCat("resolving ", options_.directory));
  return absl::StrCat(parent, "/", name_in_directory(full), "-",
                      absl::Hex(XXH3_64bits(full.data(), full.size()), absl::kZeroPad16));
}

absl::StatusOr<std::string> BusPlaces::ring_home() const {
  if (!options_.ring_directory.empty()) return ring_home_in(options_.ring_directory);
  absl::StatusOr<bool> tmpfs = is_on_tmpfs(options_.directory);
  if (!tmpfs.ok()) return tmpfs.status();
  if (*tmpfs) return options_.directory;
  return ring_home_in(private_ring_directory_path(options_.group, private_directories()));
}

const std::vector<std::string>& BusPlaces::private_directories() const {
  if (!private_directories_) private_directories_ = private_ring_directories(options_.group);
  return *private_directories_;
}

absl::StatusOr<std::string> BusPlaces::make_private_directory() const {
  absl::StatusOr<std::string> made = private_ring_directory(options_.group, private_directories());
  if (made.ok() && private_directories().empty()) private_directories_ = {*made};
  return made;
}

absl::StatusOr<std::string> BusPlaces::make_ring_home() const {
  absl::StatusOr<std::string> home = ring_home();
  if (!home.ok() || *home == options_.directory) return home;
  if (options_.ring_directory.empty()) {
    const absl::StatusOr<std::string> parent = make_private_directory();
    if (!parent.ok()) return parent.status();
    home = ring_home_in(*parent);
    if (!home.ok()) return home;
  }
  absl::Status made = prepare_directory(*home, DirectoryUse::kRingHome, options_.group);
  if (!made.ok()) return made;
  return home;
}

absl::StatusOr<LeftRings> BusPlaces::left_rings() const {
  const absl::StatusOr<DirectoryIdentity> owner =
      directory_identity(options_.journal ? journal_root() : options_.directory);
  if (!owner.ok()) return owner.status();
  const absl::StatusOr<std::string> home = ring_home();
  if (!home.ok()) return home.status();
  std::vector<std::string> homes = {options_.directory, *home};
  for (const std::string& parent : private_directories()) {
    const absl::StatusOr<std::string> other = ring_home_in(parent);
    if (!other.ok()) return other.status();
    homes.push_back(*other);
  }
  if (const auto bus = read_bus_description(options_.directory); bus.ok()) {
    const std::filesystem::path last = std::filesystem::path(bus->ring_path).parent_path();
    const absl::StatusOr<std::string> named = ring_home_in(last.parent_path().string());
    if (named.ok() && *named == last.string()) homes.push_back(*named);
  }
  return LeftRings(*owner, std::move(homes), options_.log);
}

}  // namespace lapwing
