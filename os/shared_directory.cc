#include "os/shared_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "os/system_error.h"

namespace lapwing {

bool SharedDirectory::Entry::is_directory() const {
  return S_ISDIR(mode);
}

bool SharedDirectory::Entry::is_directory_of(uid_t user) const {
  return is_same_device && is_directory() && owner == user;
}

absl::StatusOr<SharedDirectory> SharedDirectory::open(const std::string& path) {
  UniqueFd directory =
      UniqueFd::opened_by([&] { return ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC); });
  if (!directory.valid()) return make_system_error(errno, absl::StrCat("opening ", path));
  return SharedDirectory(std::move(directory));
}

SharedDirectory::SharedDirectory(UniqueFd directory) : directory_(std::move(directory)) {
  struct stat info{};
  if (::fstat(directory_.get(), &info) == 0) device_ = info.st_dev;
}

std::optional<SharedDirectory::Entry> SharedDirectory::look_at(const std::string& name) const {
  struct statx info{};
  // AT_STATX_DONT_SYNC: FUSE returns what it has cached instead of asking its server.
  const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  const unsigned wanted = STATX_TYPE | STATX_MODE | STATX_UID;
  if (::statx(directory_.get(), name.c_str(), flags, wanted, &info) != 0) {
    if (errno == ENOENT) return std::nullopt;
    return Entry{.is_same_device = false};  // EACCES: a FUSE mount that only its user may enter
  }
  return Entry{info.stx_uid, info.stx_mode,
               makedev(info.stx_dev_major, info.stx_dev_minor) == device_};
}

UniqueFd SharedDirectory::open_name(const std::string& name, int flags) const {
  flags |= O_NOFOLLOW | O_CLOEXEC;
  open_how how{};
  how.flags = static_cast<unsigned>(flags);
  how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH;
  UniqueFd opened = UniqueFd::opened_by([&] {
    return static_cast<int>(
        ::syscall(SYS_openat2, directory_.get(), name.c_str(), &how, sizeof how));
  });
  // Containers may refuse unknown system calls.
  if (opened.valid() || (errno != ENOSYS && errno != EPERM)) return opened;
  const std::optional<Entry> entry = look_at(name);
  if (entry && !entry->is_same_device) {
    errno = EXDEV;
    return UniqueFd();
  }
  return UniqueFd::opened_by([&] { return ::openat(directory_.get(), name.c_str(), flags); });
}

bool SharedDirectory::visit_names(std::size_t count_max, const Visitor& visit) const {
  const ForkHold hold;  // while the stream is open
  UniqueFd listed(::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* const stream = listed.valid() ? ::fdopendir(listed.get()) : nullptr;
  if (stream == nullptr) return false;
  listed.release();  // the stream owns it now
  std::size_t count = 0;
  bool is_whole = false;
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(stream);
    if (entry == nullptr) {
      is_whole = errno == 0;
      break;
    }
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    if (++count > count_max) break;
    visit(entry->d_name, entry->d_type);
  }
  ::closedir(stream);
  return is_whole;
}

}  // namespace lapwing
