// Directories that a PosixDisk holds open, so that their files are found even if they are moved.
//
// A path below an anchor is walked from the anchor's descriptor, one component at a time, without
// following links. The kernel looks up every other path as usual.
//
// Thread safety: any thread.
#pragma once

#include <fcntl.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "os/io.h"
#include "os/unique_fd.h"

namespace lapwing {

// Where a path is looked up: a name relative to a directory, for the system calls that end in "at".
struct PathPlace {
  std::shared_ptr<const UniqueFd> directory;  // null: the path is not below an anchor
  std::string name;                           // one component, or the whole path
  int sys_errno = 0;  // why a directory on the path cannot be opened; 0: none failed

  int at() const { return directory == nullptr ? AT_FDCWD : directory->get(); }
  bool anchored() const { return directory != nullptr || sys_errno != 0; }
};

class DirectoryAnchors {
 public:
  // Replaces an anchor with the same path. A directory that cannot be opened is not anchored.
  void add(const std::string& directory);
  PathPlace place_of(const std::string& path) const;
  AnchorState state_of(const std::string& path) const;

 private:
  struct Anchor {
    std::string path;
    std::shared_ptr<const UniqueFd> directory;
  };
  // Returns the innermost anchor that is equal to `path` or above it. Its path is empty if there is
  // none.
  Anchor find(const std::string& path) const;

  mutable std::mutex mutex_;
  std::vector<Anchor> anchors_;
};

}  // namespace lapwing
