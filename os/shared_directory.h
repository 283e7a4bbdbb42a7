// A directory in which other users can make names, such as /dev/shm.
//
// Another user can mount a file system of its own (FUSE) on such a name. Its server may never answer,
// and may report any owner. So this class looks at a name without a request to the file system behind
// it, and never opens anything behind a mount. It visits a limited number of names, because another
// user can make millions.
//
// Thread safety: const functions from any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "os/unique_fd.h"

namespace lapwing {

class SharedDirectory {
 public:
  struct Entry {
    uid_t owner = 0;
    mode_t mode = 0;             // type and permissions
    bool is_same_device = true;  // false: a mount. Then owner and mode are not to be trusted.

    bool is_directory() const;
    // True for a directory of `user`, and not one that a mount pretends to be.
    bool is_directory_of(uid_t user) const;
  };

  // Needs no permission to list it. Errors: kNotFound, kSystem.
  static absl::StatusOr<SharedDirectory> open(const std::string& path);
  // Takes the descriptor of a directory.
  explicit SharedDirectory(UniqueFd directory);

  // nullopt if there is no such name. Links are not followed. Waits for no other file system.
  std::optional<Entry> look_at(const std::string& name) const;
  // Opens a name of this directory, but no link and nothing that is mounted there. Invalid, with
  // errno, if that fails. A kernel without openat2 opens a mount that appears after look_at().
  UniqueFd open_name(const std::string& name, int flags) const;

  // `type` is that of dirent::d_type, which may be DT_UNKNOWN.
  using Visitor = std::function<void(const char* name, unsigned char type)>;
  // Visits at most `count_max` names. Returns false if there are more, or if they cannot be listed.
  bool visit_names(std::size_t count_max, const Visitor& visit) const;

 private:
  UniqueFd directory_;
  dev_t device_ = 0;
};

}  // namespace lapwing
