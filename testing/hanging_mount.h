// For tests: a FUSE file system whose server never answers, mounted during the object's lifetime.
#pragma once

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "os/unique_fd.h"

namespace lapwing {

class HangingMount {
 public:
  explicit HangingMount(const std::string& path)
      : path_(path),
        server_(UniqueFd::opened_by([] { return ::open("/dev/fuse", O_RDWR | O_CLOEXEC); })) {
    const std::string options =
        absl::StrCat("fd=", server_.get(), ",rootmode=40000,user_id=0,group_id=0,allow_other");
    mounted_ = server_.valid() &&
               ::mount("lapwing-test", path.c_str(), "fuse.hang", 0, options.c_str()) == 0;
  }
  ~HangingMount() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  HangingMount(const HangingMount&) = delete;
  HangingMount& operator=(const HangingMount&) = delete;

  bool mounted() const { return mounted_; }

 private:
  std::string path_;
  UniqueFd server_;  // all requests fail when it is closed
  bool mounted_ = false;
};

}  // namespace lapwing
