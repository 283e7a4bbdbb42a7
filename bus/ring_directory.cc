#include "bus/ring_directory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_format.h"
#include "lapwing/error.h"
#include "os/sharing.h"
#include "os/system_error.h"
#include "proto/ring_layout.h"

namespace lapwing {
namespace {

constexpr char kRemedy[] = "; remove it, or choose another place with --ring-dir";

}  // namespace

std::string private_ring_directory_path(std::optional<unsigned> group) {
  std::string path = absl::StrCat("/dev/shm/lapwing-", geteuid());
  if (group) absl::StrAppend(&path, "-", *group);
  return path;
}

absl::StatusOr<std::string> private_ring_directory(std::optional<unsigned> group) {
  std::string path = private_ring_directory_path(group);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return make_system_error(errno, absl::StrCat("making ", path));
  }
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
  const mode_t surplus = found.st_mode & 07777 & ~mode_t{group ? 0750u : 0700u};
  if (surplus != 0) {
    return make_error(Errc::kNotPermitted, absl::StrFormat("%s grants too much with mode %04o%s",
                                                           path, found.st_mode & 07777, kRemedy));
  }
  // It was just made, or was left by a start that was killed.
  const absl::Status shared = share(fd.get(), path, group, group ? 0750 : 0700);
  if (!shared.ok()) return shared;
  return path;
}

absl::StatusOr<bool> is_on_tmpfs(const std::string& directory) {
  struct statfs found{};
  while (statfs(directory.c_str(), &found) != 0) {
    if (errno != EINTR) {
      return make_system_error(errno, absl::StrCat("asking for the file system of ", directory));
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
  return make_error(
      Errc::kNotPermitted,
      absl::StrCat("another user could replace files in ", directory,
                   "; make it yours and writable by you alone (chmod go-w), or choose "
                   "another place with --ring-dir"));
}

absl::StatusOr<std::uint64_t> default_capacity(int directory_fd, std::uint32_t slot_bytes) {
  struct statvfs space{};
  while (fstatvfs(directory_fd, &space) != 0) {
    if (errno != EINTR) return make_system_error(errno, "asking for the tmpfs's free space");
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
