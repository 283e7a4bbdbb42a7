#include "bus/ring_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "lapwing/error.h"
#include "os/path.h"
#include "os/shared_directory.h"
#include "os/sharing.h"
#include "os/system_error.h"
#include "proto/ring_layout.h"

namespace lapwing {
namespace {

constexpr char kSharedMemory[] = "/dev/shm";
constexpr char kRemedy[] = "; remove it, or choose another directory with --ring-dir";

mode_t due_mode(std::optional<unsigned> group) {
  return group ? 0750 : 0700;
}

std::string first_choice(std::optional<unsigned> group) {
  std::string path = absl::StrCat(kSharedMemory, "/lapwing-", geteuid());
  if (group) absl::StrAppend(&path, "-", *group);
  return path;
}

enum class FirstChoice { kAbsent, kOwn, kTaken };

// Taken: another user owns it, or has mounted a file system there.
FirstChoice state_of(const SharedDirectory& shared, const std::string& path) {
  const auto entry = shared.look_at(name_in_directory(path));
  if (!entry) return FirstChoice::kAbsent;
  const bool is_own = entry->is_same_device && entry->owner == geteuid();
  return is_own ? FirstChoice::kOwn : FirstChoice::kTaken;
}

// Returns this user's directories whose name has a suffix after a dot and whose mode grants no more
// than due_mode. Visits the first kNamesVisitedMax names of /dev/shm.
std::vector<std::string> other_choices(const SharedDirectory& shared,
                                       std::optional<unsigned> group) {
  const std::string prefix = name_in_directory(first_choice(group)) + ".";
  std::vector<std::string> found;
  shared.visit_names(kNamesVisitedMax, [&](const char* name, unsigned char type) {
    if (type != DT_DIR && type != DT_UNKNOWN) return;
    if (std::strncmp(name, prefix.c_str(), prefix.size()) != 0) return;
    const auto entry = shared.look_at(name);
    if (!entry || !entry->is_directory_of(geteuid())) return;
    if ((entry->mode & 07777 & ~due_mode(group)) != 0) return;
    found.push_back(absl::StrCat(kSharedMemory, "/", name));
  });
  std::sort(found.begin(), found.end());
  return found;
}

absl::StatusOr<std::string> make_other_choice(std::optional<unsigned> group) {
  std::string path = first_choice(group) + ".XXXXXX";
  if (mkdtemp(path.data()) != nullptr) return path;
  return make_system_error(errno, absl::StrCat("making ", path));
}

// Checks the directory and sets its mode and group, because it may be new or left over from a start
// that was killed.
absl::StatusOr<std::string> open_private(const std::string& path, std::optional<unsigned> group) {
  const UniqueFd fd = UniqueFd::opened_by(
      [&] { return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); });
  struct stat found{};
  if (!fd.valid() || fstat(fd.get(), &found) != 0) {
    if (errno == ENOTDIR || errno == ELOOP) {
      return make_error(Errc::kNotPermitted, absl::StrCat(path, " is not a directory", kRemedy));
    }
    return make_system_error(errno, absl::StrCat("opening ", path));
  }
  if (found.st_uid != geteuid()) {
    return make_error(Errc::kNotPermitted,
                      absl::StrCat(path, " belongs to user ", found.st_uid, kRemedy));
  }
  if ((found.st_mode & 07777 & ~due_mode(group)) != 0) {
    return make_error(Errc::kNotPermitted,
                      absl::StrFormat("%s has mode %04o, which is too permissive%s", path,
                                      found.st_mode & 07777, kRemedy));
  }
  const absl::Status shared = share(fd.get(), path, group, due_mode(group));
  if (!shared.ok()) return shared;
  return path;
}

}  // namespace

std::string private_ring_directory_path(std::optional<unsigned> group) {
  return private_ring_directory_path(group, private_ring_directories(group));
}

std::string private_ring_directory_path(std::optional<unsigned> group,
                                        const std::vector<std::string>& found) {
  return found.empty() ? first_choice(group) : found.front();
}

std::vector<std::string> private_ring_directories(std::optional<unsigned> group) {
  const absl::StatusOr<SharedDirectory> shared = SharedDirectory::open(kSharedMemory);
  if (!shared.ok()) return {};
  switch (state_of(*shared, first_choice(group))) {
    case FirstChoice::kAbsent:
      return {};
    case FirstChoice::kOwn:
      return {first_choice(group)};
    case FirstChoice::kTaken:
      break;
  }
  return other_choices(*shared, group);
}

absl::StatusOr<std::string> private_ring_directory(std::optional<unsigned> group) {
  return private_ring_directory(group, private_ring_directories(group));
}

absl::StatusOr<std::string> private_ring_directory(std::optional<unsigned> group,
                                                   const std::vector<std::string>& found) {
  if (!found.empty()) return open_private(found.front(), group);
  std::string path = first_choice(group);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return make_system_error(errno, absl::StrCat("making ", path));
  }
  const absl::StatusOr<SharedDirectory> shared = SharedDirectory::open(kSharedMemory);
  if (!shared.ok()) return shared.status();
  if (state_of(*shared, path) == FirstChoice::kTaken) {
    absl::StatusOr<std::string> other = make_other_choice(group);
    if (!other.ok()) return other.status();
    path = *std::move(other);
  }
  return open_private(path, group);
}

absl::StatusOr<bool> is_on_tmpfs(const std::string& directory) {
  struct statfs found{};
  while (statfs(directory.c_str(), &found) != 0) {
    if (errno != EINTR) {
      return make_system_error(errno, absl::StrCat("querying the file system of ", directory));
    }
  }
  return found.f_type == TMPFS_MAGIC || found.f_type == RAMFS_MAGIC;
}

absl::StatusOr<UniqueFd> open_ring_directory(const std::string& directory) {
  UniqueFd fd = UniqueFd::opened_by(
      [&] { return open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  struct stat found{};
  if (!fd.valid() || fstat(fd.get(), &found) != 0) {
    if (errno == ENOTDIR) {
      return make_error(Errc::kNotALapwingFile, absl::StrCat(directory, " is not a directory"));
    }
    return make_system_error(errno, absl::StrCat("opening the ring's directory ", directory));
  }
  const bool owner_trusted = found.st_uid == geteuid() || found.st_uid == 0;
  const bool others_replace =
      (found.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (found.st_mode & S_ISVTX) == 0;
  if (owner_trusted && !others_replace) return fd;
  return make_error(Errc::kNotPermitted,
                    absl::StrCat("another user could replace files in ", directory,
                                 "; own it and remove the write permission of others (chmod go-w), "
                                 "or choose another directory with --ring-dir"));
}

absl::StatusOr<std::uint64_t> default_capacity(int directory_fd, std::uint32_t slot_bytes) {
  struct statvfs space{};
  while (fstatvfs(directory_fd, &space) != 0) {
    if (errno != EINTR) return make_system_error(errno, "querying the tmpfs's free space");
  }
  if (space.f_blocks == 0) return kCapacityDefaultMax;  // a tmpfs without a limit
  const std::uint64_t ring_bytes_max = space.f_bavail * space.f_frsize / 4;
  std::uint64_t capacity = kCapacityDefaultMax;
  while (capacity > capacity_min(slot_bytes) &&
         ring_file_bytes(capacity, slot_bytes) > ring_bytes_max) {
    capacity /= 2;
  }
  return capacity;
}

}  // namespace lapwing
