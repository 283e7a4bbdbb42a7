// Which file a name stood for: whether it still does, and how it is removed without removing
// another file that has taken its place.
//
// Thread safety: plain values; each call looks at the file system anew.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lapwing {

class NamedFile {
 public:
  // The open file `fd`, which `path` is, or is about to be, the name of.
  static absl::StatusOr<NamedFile> of(int fd, std::string path);
  // What `path` names now: of a socket, whose descriptor is not the file's.
  static absl::StatusOr<NamedFile> at(std::string path);

  const std::string& path() const { return path_; }
  // Errors: those of looking, but that nothing is there.
  absl::StatusOr<bool> is_named() const;
  // False also if the name cannot be checked.
  bool still_named() const { return is_named().value_or(false); }
  // Removes the name, if it is still this file's. A missing name is not an error.
  absl::Status unlink() const;

 private:
  NamedFile(std::string path, dev_t device, ino_t inode)
      : path_(std::move(path)), device_(device), inode_(inode) {}

  std::string path_;
  dev_t device_;
  ino_t inode_;
};

}  // namespace lapwing
