// A directory in which other users can create names, such as /dev/shm.
//
// Another user can mount a file system (FUSE) on such a name. Its server may never answer, and may
// report any owner. So this class examines a name without a request to the mounted file system, and
// never opens anything in a mount. It visits a limited number of names, because another user can
// create millions.
//
// Thread safety: any thread may call const functions.
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
    bool is_same_device = true;  // false: a mount; owner and mode are then untrusted

    bool is_directory() const;
    // True for a directory of `user`. False if a mount only claims to be one.
    bool is_directory_of(uid_t user) const;
  };

  // Does not need permission to list the directory. Errors: kNotFound, kSystem.
  static absl::StatusOr<SharedDirectory> open(const std::string& path);
  // Takes ownership of a directory's descriptor.
  explicit SharedDirectory(UniqueFd directory);

  // Returns nullopt if there is no such name. Does not follow links, and does not wait for a
  // mounted file system.
  std::optional<Entry> look_at(const std::string& name) const;
  // Opens a name in this directory, but not a link or a mount. If it fails, returns an invalid
  // descriptor and sets errno. On a kernel without openat2, a mount that appears after look_at() is
  // opened.
  UniqueFd open_name(const std::string& name, int flags) const;

  // `type` is dirent::d_type, which may be DT_UNKNOWN.
  using Visitor = std::function<void(const char* name, unsigned char type)>;
  // Visits at most `count_max` names. Returns false if there are more, or if they cannot be listed.
  bool visit_names(std::size_t count_max, const Visitor& visit) const;

 private:
  UniqueFd directory_;
  dev_t device_ = 0;
};

}  // namespace lapwing
