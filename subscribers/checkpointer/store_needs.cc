#include "subscribers/checkpointer/store_needs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <latch>
#include <memory>
#include <string_view>
#include <thread>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/posix_io.h"
#include "os/start_thread.h"
#include "os/system_error.h"

namespace lapwing {
namespace {

// The descriptors that one check opens; closes them.
class Descriptors {
 public:
  Descriptors() { fds_.fill(-1); }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;
  ~Descriptors() {
    for (const int fd : fds_) {
      if (fd >= 0) ::close(fd);
    }
  }
  // Fills the array with duplicates of `of`. Returns 0 or the errno of the first failure.
  int take(int of) {
    for (int& fd : fds_) {
      fd = ::fcntl(of, F_DUPFD_CLOEXEC, 0);
      if (fd < 0) return errno;
    }
    return 0;
  }

 private:
  std::array<int, kStoreDescriptorsMin> fds_;
};

absl::Status check_address_space() {
  void* const reserved = ::mmap(nullptr, kStoreAddressBytes, PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) {
    return make_system_error(errno,
                             absl::StrCat("the state's store needs ", kStoreAddressBytes >> 20,
                                          " MiB more of address space"));
  }
  ::munmap(reserved, kStoreAddressBytes);
  return absl::OkStatus();
}

// Checks threads and address space together, because the stacks of the threads use address space.
absl::Status check_threads() {
  std::latch tried(1);
  std::array<std::thread, kStoreThreads> threads;
  absl::Status status;
  for (std::thread& thread : threads) {
    if (status.ok()) {
      status = start_thread(thread, "lapwing-probe", [&tried] { tried.wait(); });
    }
  }
  if (!status.ok()) {
    status = make_error(Errc::kSystem, absl::StrCat("the state's store needs ", kStoreThreads,
                                                    " threads: ", std::string(status.message())));
  } else {
    status = check_address_space();
  }
  tried.count_down();
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
  return status;
}

absl::Status refused_call(const char* call, int sys_errno, const std::string& path) {
  const absl::Status why = make_system_error(
      sys_errno, absl::StrCat("the state's store in ", path, " needs the system call ", call));
  return make_error(
      Errc::kUnsupported,
      absl::StrCat(std::string(why.message()), "; allow it in the container's seccomp profile"));
}

// A directory can be synced in parts like a file, so this check writes no files.
absl::Status check_calls(int directory, const std::string& path) {
  if (::sync_file_range(directory, 0, 0, 0) != 0 && errno != ENOSYS) {
    return refused_call("sync_file_range", errno, path);
  }
  struct statfs file_system{};
  if (::fstatfs(directory, &file_system) != 0) return refused_call("fstatfs", errno, path);
  return ::access(path.c_str(), F_OK) == 0 ? absl::OkStatus() : refused_call("access", errno, path);
}

absl::Status check_descriptors(int directory) {
  Descriptors descriptors;
  const int sys_errno = descriptors.take(directory);
  if (sys_errno == 0) return absl::OkStatus();
  return make_system_error(sys_errno, absl::StrCat("the state's store needs ", kStoreDescriptorsMin,
                                                   " more open files"));
}

// The maximum size of a file with this name; 0: it is not read as a whole.
std::uint64_t bytes_max(std::string_view name) {
  if (name == "CURRENT" || name == "IDENTITY") return kStoreNameBytesMax;
  if (name.starts_with("MANIFEST-")) return kStoreManifestBytesMax;
  if (name.ends_with(".log")) return kStoreLogBytesMax;
  return 0;
}

}  // namespace

absl::Status check_store_needs(const std::string& directory) {
  PosixDisk disk;
  const auto opened = disk.open(directory, {.mode = OpenMode::kDirectory});
  if (!opened.ok()) return opened.status();
  const OpenFile owned(disk, *opened);
  absl::Status status = check_descriptors(owned.get());
  if (status.ok()) status = check_threads();
  if (status.ok()) status = check_calls(owned.get(), directory);
  return status;
}

absl::Status check_store_files(const std::string& directory) {
  PosixDisk disk;
  const auto names = disk.list(directory);
  if (!names.ok()) return names.status();
  std::uint64_t log_bytes = 0;
  for (const std::string& name : *names) {
    const std::uint64_t most = bytes_max(name);
    if (most == 0 && name != "LOCK") continue;
    const std::string path = absl::StrCat(directory, "/", name);
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) {
      if (errno == ENOENT) continue;
      return make_system_error(errno, absl::StrCat("cannot check ", path));
    }
    if (!S_ISREG(info.st_mode)) {
      return make_error(Errc::kNotALapwingFile,
                        absl::StrCat(path,
                                     " is a link, directory, socket or device, not a file of "
                                     "the state's store; move it away"));
    }
    const auto bytes = static_cast<std::uint64_t>(info.st_size);
    const bool is_log = most == kStoreLogBytesMax && name.ends_with(".log");
    if (is_log) log_bytes += bytes;
    if (name == "LOCK" || (is_log ? log_bytes : bytes) <= most) continue;
    return make_error(
        Errc::kDamaged,
        absl::StrCat(path, " has ", bytes, " bytes, and a store has at most ", most,
                     is_log ? " in all such files" : " there",
                     ". It is damaged. Remove the directory ", directory,
                     "; the store is then rebuilt from the newest checkpoint and the journal"));
  }
  return absl::OkStatus();
}

}  // namespace lapwing
