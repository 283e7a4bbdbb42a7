#include "os/named_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/system_error.h"

namespace lapwing {

absl::StatusOr<NamedFile> NamedFile::of(int fd, std::string path) {
  struct stat found{};
  if (fstat(fd, &found) != 0) {
    return make_system_error(errno, absl::StrCat("checking ", path));
  }
  return NamedFile(std::move(path), found.st_dev, found.st_ino);
}

absl::StatusOr<NamedFile> NamedFile::at(std::string path) {
  struct stat found{};
  if (lstat(path.c_str(), &found) != 0) {
    return make_system_error(errno, absl::StrCat("checking ", path));
  }
  return NamedFile(std::move(path), found.st_dev, found.st_ino);
}

absl::StatusOr<bool> NamedFile::is_named() const {
  struct stat found{};
  if (lstat(path_.c_str(), &found) == 0) {
    return found.st_dev == device_ && found.st_ino == inode_;
  }
  if (errno == ENOENT) return false;
  return make_system_error(errno, absl::StrCat("checking ", path_));
}

absl::Status NamedFile::unlink() const {
  if (!still_named() || ::unlink(path_.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return make_system_error(errno, absl::StrCat("removing ", path_));
}

}  // namespace lapwing
