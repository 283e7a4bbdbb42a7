#include "monitor/bus_search.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "os/unique_fd.h"

namespace lapwing {
namespace {

// "lapwing-1000" and "lapwing-1000-27" are of user 1000; so is "lapwing-1000.x1Y2z3", which that
// user's publishers make if another user has taken the first name.
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

std::vector<std::string> announcements_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    std::string name = entry.path().filename().string();
    if (absl::EndsWith(name, kAnnouncementExtension)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The text of a file that is as it has to be.
std::optional<std::string> trusted_text(int directory, const std::string& name, uid_t owner) {
  const UniqueFd file = UniqueFd::opened_by([&] {
    return ::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  });
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

// A killed publisher's announcement outlives a bus directory that is removed then.
bool is_there(const std::string& directory) {
  struct stat info{};
  return ::lstat(directory.c_str(), &info) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

// What was looked at of a user, so that none can fill the list at the cost of others.
struct LookedAt {
  std::size_t directories = 0;
  std::size_t files = 0;
};

void search_directory(const std::string& path, uid_t owner, LookedAt& looked_at,
                      FoundBuses& found) {
  const UniqueFd directory = UniqueFd::opened_by(
      [&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); });
  struct stat info{};
  if (!directory.valid() || ::fstat(directory.get(), &info) != 0) {
    ++(errno == EACCES ? found.not_permitted : found.not_trusted);
    return;
  }
  if (!is_theirs_alone(info, owner)) {
    ++found.not_trusted;
    return;
  }
  const bool is_trusted = is_trusted_user(owner);
  if (!is_trusted && ++looked_at.directories > kDirectoriesOfOtherMax) {
    ++found.beyond_limit;
    return;
  }
  for (const std::string& name : announcements_in(path)) {
    if (++looked_at.files > (is_trusted ? kBusesOfUserMax : kBusesOfOtherMax)) {
      ++found.beyond_limit;
      continue;
    }
    const std::optional<std::string> text = trusted_text(directory.get(), name, owner);
    absl::StatusOr<BusAnnouncement> bus = BusAnnouncement::parse(text.value_or(""));
    if (bus.ok()) {
      if (is_trusted && !is_there(bus->directory)) continue;
      found.buses.push_back({*std::move(bus), owner});
    } else {
      ++found.not_trusted;
    }
  }
}

}  // namespace

FoundBuses find_buses(const WatchedUsers& users, const std::string& shared_memory) {
  FoundBuses found;
  std::map<std::string, uid_t> directories;  // in the order of their names
  std::set<uid_t> not_watched;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(shared_memory, error)) {
    std::string name = entry.path().filename().string();
    const std::optional<uid_t> owner = owner_in(name);
    if (!owner) continue;
    if (users.includes(*owner)) {
      directories.emplace(std::move(name), *owner);
    } else {
      not_watched.insert(*owner);
    }
  }
  found.not_watched = not_watched.size();
  std::map<uid_t, LookedAt> looked_at;
  for (const auto& [name, owner] : directories) {
    search_directory(absl::StrCat(shared_memory, "/", name), owner, looked_at[owner], found);
  }
  std::sort(found.buses.begin(), found.buses.end(), [](const FoundBus& a, const FoundBus& b) {
    return a.announcement.directory < b.announcement.directory;
  });
  return found;
}

}  // namespace lapwing
