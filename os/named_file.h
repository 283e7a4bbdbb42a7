// A file and its name. Checks whether the name still belongs to the file, and removes the name
// without removing another file that has replaced it.
//
// Thread safety: plain values; each call checks the file system.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lapwing {

class NamedFile {
 public:
  // The open file `fd`. `path` is its name, or will be.
  static absl::StatusOr<NamedFile> of(int fd, std::string path);
  // The file that `path` names now. For a socket, whose descriptor does not refer to the file.
  static absl::StatusOr<NamedFile> at(std::string path);

  const std::string& path() const { return path_; }
  // Errors: those of the check, except that a missing name returns false.
  absl::StatusOr<bool> is_named() const;
  // Also false if the name cannot be checked.
  bool still_named() const { return is_named().value_or(false); }
  // Removes the name, if it still belongs to this file. A missing name is not an error.
  absl::Status unlink() const;

 private:
  NamedFile(std::string path, dev_t device, ino_t inode)
      : path_(std::move(path)), device_(device), inode_(inode) {}

  std::string path_;
  dev_t device_;
  ino_t inode_;
};

}  // namespace lapwing
