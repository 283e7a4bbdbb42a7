#include "monitor/find_buses.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "os/shared_directory.h"
#include "os/unique_fd.h"

namespace lapwing {
namespace {

// "lapwing-1000" and "lapwing-1000-27" belong to user 1000. So does "lapwing-1000.x1Y2z3", which
// that user's publishers create if another user has taken the first name.
std::optional<uid_t> owner_in(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "lapwing-")) return std::nullopt;
  name = name.substr(0, name.find('.'));
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '-');
  uid_t owner = 0;
  unsigned group = 0;
  if (parts.size() > 2 || !absl::SimpleAtoi(parts[0], &owner)) return std::nullopt;
  if (parts.size() == 2 && !absl::SimpleAtoi(parts[1], &group)) return std::nullopt;
  return owner;
}

bool is_theirs_alone(const struct stat& found, uid_t owner) {
  return found.st_uid == owner && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// The text of a file if it has the required type, owner, mode and size.
std::optional<std::string> trusted_text(const SharedDirectory& directory, const std::string& name,
                                        uid_t owner) {
  const UniqueFd file = directory.open_name(name, O_RDONLY | O_NONBLOCK);
  struct stat found{};
  if (!file.valid() || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode) ||
      !is_theirs_alone(found, owner) || found.st_size > static_cast<off_t>(kAnnouncementBytesMax)) {
    return std::nullopt;
  }
  std::string text(static_cast<std::size_t>(found.st_size), '\0');
  const ssize_t bytes = ::read(file.get(), text.data(), text.size());
  if (bytes != found.st_size) return std::nullopt;
  return text;
}

// The announcement of a killed publisher may outlive its bus directory.
bool is_there(const std::string& directory) {
  struct stat info{};
  return ::lstat(directory.c_str(), &info) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

// Keeps the `max` smallest names, so that every search finds the same ones. Returns false if one
// was left out.
bool keep_smallest(std::set<std::string>& names, std::string name, std::size_t max) {
  names.insert(std::move(name));
  if (names.size() <= max) return true;
  names.erase(std::prev(names.end()));
  return false;
}

std::vector<gid_t> own_groups() {
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<std::size_t>(std::max(count, 0)));
  groups.push_back(::getegid());
  return groups;
}

class Search {
 public:
  Search(const WatchedUsers& users, const SharedDirectory& shared)
      : users_(users), shared_(shared) {}

  FoundBuses run(std::size_t names_max) {
    note_first_choices();
    const auto note = [&](const char* name, unsigned char type) { note_name(name, type); };
    if (!shared_.visit_names(names_max, note)) ++found_.left_out.beyond_limit;
    found_.left_out.not_watched = not_watched_.size();
    for (auto& [owner, user] : watched_) {
      for (const std::string& name : user.directories) search_directory(name, owner, user);
    }
    std::sort(found_.buses.begin(), found_.buses.end(), [](const FoundBus& a, const FoundBus& b) {
      return a.announcement.directory < b.announcement.directory;
    });
    return std::move(found_);
  }

 private:
  // The files and names examined for one user, so that no user can fill
  // the list at others' expense.
  struct LookedAt {
    std::set<std::string> directories;
    std::size_t files = 0;
    std::size_t names = 0;
  };

  // The directories that publishers create unless another user has taken the name. They are looked
  // up by name, because other users can create more names than a search visits.
  void note_first_choices() {
    std::set<uid_t> owners = users_.others;
    owners.insert({::geteuid(), 0});
    const std::vector<gid_t> groups = own_groups();
    for (const uid_t owner : owners) {
      std::vector<std::string> names = {absl::StrCat("lapwing-", owner)};
      for (const gid_t group : groups) names.push_back(absl::StrCat("lapwing-", owner, "-", group));
      for (std::string& name : names) {
        note_directory(name, owner);
        first_choices_.insert(std::move(name));
      }
    }
  }

  void note_name(const char* name, unsigned char type) {
    const std::optional<uid_t> owner = owner_in(name);
    if (!owner) return;
    if (!users_.includes(*owner)) {
      if (not_watched_.size() < kNotWatchedMax) not_watched_.insert(*owner);
    } else if (first_choices_.contains(name)) {
      return;
    } else if (type != DT_DIR && type != DT_UNKNOWN) {
      ++found_.left_out.not_trusted;
    } else {
      note_directory(name, *owner);
    }
  }

  void note_directory(const std::string& name, uid_t owner) {
    const auto entry = shared_.look_at(name);
    if (!entry) return;
    if (!entry->is_directory_of(owner) || (entry->mode & (S_IWGRP | S_IWOTH)) != 0) {
      ++found_.left_out.not_trusted;
      return;
    }
    const std::size_t max = is_trusted_user(owner) ? kDirectoriesOfUserMax : kDirectoriesOfOtherMax;
    if (!keep_smallest(watched_[owner].directories, name, max)) ++found_.left_out.beyond_limit;
  }

  void search_directory(const std::string& name, uid_t owner, LookedAt& user) {
    UniqueFd opened = shared_.open_name(name, O_RDONLY | O_DIRECTORY);
    struct stat info{};
    if (!opened.valid() || ::fstat(opened.get(), &info) != 0) {
      ++(errno == EACCES ? found_.left_out.not_permitted : found_.left_out.not_trusted);
      return;
    }
    if (!is_theirs_alone(info, owner)) {
      ++found_.left_out.not_trusted;
      return;
    }
    const bool is_trusted = is_trusted_user(owner);
    const SharedDirectory directory(std::move(opened));
    for (const std::string& file : announcements_in(directory, is_trusted, user)) {
      const std::optional<std::string> text = trusted_text(directory, file, owner);
      absl::StatusOr<BusAnnouncement> bus = BusAnnouncement::parse(text.value_or(""));
      if (!bus.ok()) {
        ++found_.left_out.not_trusted;
      } else if (!is_trusted || is_there(bus->directory)) {
        found_.buses.push_back({*std::move(bus), owner});
      }
    }
  }

  std::set<std::string> announcements_in(const SharedDirectory& directory, bool is_trusted,
                                         LookedAt& user) {
    const std::size_t files_max = is_trusted ? kBusesOfUserMax : kBusesOfOtherMax;
    const std::size_t room = files_max - user.files;
    std::set<std::string> names;
    const bool all_visited =
        directory.visit_names(kNamesOfUserMax - user.names, [&](const char* name, unsigned char) {
          ++user.names;
          if (!absl::EndsWith(name, kAnnouncementExtension)) return;
          if (!keep_smallest(names, name, room)) ++found_.left_out.beyond_limit;
        });
    if (!all_visited) ++found_.left_out.beyond_limit;
    user.files += names.size();
    return names;
  }

  const WatchedUsers& users_;
  const SharedDirectory& shared_;
  std::set<std::string> first_choices_;
  std::map<uid_t, LookedAt> watched_;
  std::set<uid_t> not_watched_;
  FoundBuses found_;
};

}  // namespace

FoundBuses find_buses(const WatchedUsers& users, const std::string& shared_memory,
                      std::size_t names_max) {
  const absl::StatusOr<SharedDirectory> shared = SharedDirectory::open(shared_memory);
  if (!shared.ok()) return {};
  return Search(users, *shared).run(names_max);
}

}  // namespace lapwing
