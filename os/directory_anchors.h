// Directories that a PosixDisk holds open: what lies in them is found wherever they are moved to.
//
// A path below an anchor is walked from the anchor's descriptor, one component at a time, and a
// link on the way is not followed. Every other path is looked up as the kernel does it.
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
  std::shared_ptr<const UniqueFd> directory;  // null: the path is below no anchor
  std::string name;                           // one component, or the whole path
  int sys_errno = 0;  // why a directory on the way cannot be had; then there is no place

  int at() const { return directory == nullptr ? AT_FDCWD : directory->get(); }
  bool anchored() const { return directory != nullptr || sys_errno != 0; }
};

class DirectoryAnchors {
 public:
  // Takes the place of an anchor of the same path. A directory that cannot be opened is not
  // anchored.
  void add(const std::string& directory);
  PathPlace place_of(const std::string& path) const;
  AnchorState state_of(const std::string& path) const;

 private:
  struct Anchor {
    std::string path;
    std::shared_ptr<const UniqueFd> directory;
  };
  // The innermost anchor that `path` is, or is below; its path is empty if there is none.
  Anchor find(const std::string& path) const;

  mutable std::mutex mutex_;
  std::vector<Anchor> anchors_;
};

}  // namespace lapwing
