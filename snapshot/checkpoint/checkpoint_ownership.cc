#include "snapshot/checkpoint/checkpoint_ownership.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lapwing/error.h"
#include "os/system_error.h"

namespace lapwing {
namespace {

absl::Status check_one(const std::string& directory, uid_t bus_owner) {
  struct stat info{};
  if (::lstat(directory.c_str(), &info) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return make_system_error(errno, absl::StrCat("cannot check ", directory));
  }
  if (!S_ISDIR(info.st_mode)) {
    return make_error(
        Errc::kNotALapwingFile,
        absl::StrCat(directory, " is not a directory (links are not followed); move it away"));
  }
  if (info.st_uid != bus_owner && info.st_uid != ::geteuid() && info.st_uid != 0) {
    return make_error(Errc::kNotPermitted,
                      absl::StrCat(directory, " belongs to user ", info.st_uid,
                                   ", who is not the owner of the bus (", bus_owner,
                                   "): its checkpoints are not trusted; remove it"));
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return make_error(Errc::kNotPermitted,
                      absl::StrFormat("%s has mode %04o: others could put checkpoints there; run "
                                      "`chmod go-w %s`",
                                      directory, info.st_mode & 07777, directory));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status check_checkpoint_directory(const std::string& directory) {
  const std::filesystem::path of_fold(directory);
  const std::filesystem::path of_all = of_fold.parent_path();
  const std::filesystem::path bus =
      of_all.has_parent_path() ? of_all.parent_path() : std::filesystem::path(".");
  struct stat info{};
  if (::stat(bus.c_str(), &info) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return make_system_error(errno, absl::StrCat("cannot check ", bus.string()));
  }
  const absl::Status status = check_one(of_all.string(), info.st_uid);
  return status.ok() ? check_one(directory, info.st_uid) : status;
}

}  // namespace lapwing
