#include "os/posix_io.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/file_lock.h"
#include "os/file_space.h"
#include "os/lock_holder.h"
#include "os/sharing.h"
#include "os/system_error.h"
#include "os/unique_fd.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kStatBlockBytes = 512;  // the unit of st_blocks on every file system
constexpr unsigned kGroupReadsFile = 0040;
constexpr unsigned kGroupReadsDirectory = 0050;

template <typename Call>
auto retry_on_eintr(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

int open_flags(const OpenOptions& options) {
  // O_NONBLOCK, so that the open does not hang if the path is a FIFO.
  int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  switch (options.mode) {
    case OpenMode::kRead:
      flags |= O_RDONLY;
      break;
    case OpenMode::kReadWrite:
      flags |= O_RDWR;
      break;
    case OpenMode::kCreate:
      flags |= O_RDWR | O_CREAT | O_EXCL;
      break;
    case OpenMode::kDirectory:
      flags |= O_RDONLY | O_DIRECTORY;
      break;
  }
  if (options.direct) flags |= O_DIRECT;
  return flags;
}

absl::Status not_a_file(const std::string& path) {
  return make_error(Errc::kNotALapwingFile,
                    absl::StrCat(path,
                                 " is a link, directory, socket or device, not a file of a "
                                 "bus; move it away"));
}

absl::Status open_error(int sys_errno, const std::string& path) {
  // ELOOP: a link; EISDIR, ENOTDIR: a directory or not one; ENXIO: a socket or a FIFO.
  if (sys_errno == ELOOP || sys_errno == EISDIR || sys_errno == ENOTDIR || sys_errno == ENXIO) {
    return not_a_file(path);
  }
  return make_system_error(sys_errno, absl::StrCat("cannot open ", path));
}

// Returns the path of a handle, for messages.
std::string path_of(FileHandle file) {
  char target[512];
  const std::string link = absl::StrCat("/proc/self/fd/", file);
  const ssize_t length = ::readlink(link.c_str(), target, sizeof target);
  if (length <= 0) return absl::StrCat("file descriptor ", file);
  return std::string(target, static_cast<std::size_t>(length));
}

absl::Status file_error(int sys_errno, const char* what, FileHandle file) {
  return make_system_error(sys_errno, absl::StrCat("cannot ", what, " ", path_of(file)));
}

absl::Status io_error(int sys_errno, const char* what, std::uint64_t offset, FileHandle file) {
  return make_system_error(
      sys_errno, absl::StrCat("cannot ", what, " at offset ", offset, " of ", path_of(file)));
}

// Calls call(directory, name) with the directory in which `path` is looked up. Returns -1 and sets
// errno if a directory on the path cannot be opened.
template <typename Call>
int at_place(const DirectoryAnchors& anchors, const std::string& path, Call call) {
  const PathPlace place = anchors.place_of(path);
  if (place.sys_errno == 0) {
    return retry_on_eintr([&] { return call(place.at(), place.name.c_str()); });
  }
  errno = place.sys_errno;
  return -1;
}

}  // namespace

std::int64_t run_request(const WriteRequest& request) {
  const int file = request.file;
  switch (request.kind) {
    case WriteRequest::Kind::kWrite: {
      const ssize_t written = retry_on_eintr([&] {
        return ::pwrite(file, request.bytes.data(), request.bytes.size(),
                        static_cast<off_t>(request.offset));
      });
      return written < 0 ? -errno : written;
    }
    case WriteRequest::Kind::kSync:
      return retry_on_eintr([&] { return ::fdatasync(file); }) < 0 ? -errno : 0;
    case WriteRequest::Kind::kSyncDirectory:
      return retry_on_eintr([&] { return ::fsync(file); }) < 0 ? -errno : 0;
    case WriteRequest::Kind::kAllocate:
      return -reserve_file_space(file, request.offset);
  }
  return -EINVAL;
}

absl::StatusOr<FileHandle> PosixDisk::open(const std::string& path, const OpenOptions& options) {
  const ForkHold hold;
  const int file = at_place(anchors_, path, [&](int at, const char* name) {
    return ::openat(at, name, open_flags(options), options.permissions);
  });
  if (file < 0) return open_error(errno, path);
  enter_descriptor(file);
  OpenFile owner(*this, file);
  struct stat status;
  if (::fstat(file, &status) != 0) return open_error(errno, path);
  if (options.mode == OpenMode::kDirectory) return owner.release();
  if (!S_ISREG(status.st_mode)) return not_a_file(path);
  if (options.mode == OpenMode::kCreate) {
    const unsigned mode = options.permissions | (group_ ? kGroupReadsFile : 0);
    if (absl::Status shared = share(file, path, group_, mode); !shared.ok()) return shared;
  }
  return owner.release();
}

void PosixDisk::close(FileHandle file) {
  close_descriptor(file);
}

absl::StatusOr<std::size_t> PosixDisk::read_at(FileHandle file, std::uint64_t offset,
                                               std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = retry_on_eintr([&] {
      return ::pread(file, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    });
    if (got < 0) return io_error(errno, "read", offset + done, file);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

absl::Status PosixDisk::write_at(FileHandle file, std::uint64_t offset,
                                 std::span<const std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = retry_on_eintr([&] {
      return ::pwrite(file, bytes.data() + done, bytes.size() - done,
                      static_cast<off_t>(offset + done));
    });
    if (put < 0) return io_error(errno, "write", offset + done, file);
    if (put == 0)
      return io_error(EIO, "write", offset + done, file);  // otherwise it would retry forever
    done += static_cast<std::size_t>(put);
  }
  return absl::OkStatus();
}

absl::Status PosixDisk::allocate(FileHandle file, std::uint64_t bytes) {
  const int sys_errno = reserve_file_space(file, bytes);
  if (sys_errno == 0) return absl::OkStatus();
  return make_system_error(sys_errno,
                           absl::StrCat("cannot allocate ", bytes, " bytes for ", path_of(file)));
}

absl::Status PosixDisk::truncate(FileHandle file, std::uint64_t bytes) {
  if (retry_on_eintr([&] { return ::ftruncate(file, static_cast<off_t>(bytes)); }) == 0) {
    return absl::OkStatus();
  }
  return file_error(errno, "truncate", file);
}

absl::Status PosixDisk::punch_hole(FileHandle file, std::uint64_t offset, std::uint64_t bytes) {
  const auto punch = [&] {
    return ::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                       static_cast<off_t>(bytes));
  };
  if (retry_on_eintr(punch) == 0) return absl::OkStatus();
  return io_error(errno, "release space", offset, file);
}

absl::Status PosixDisk::sync(FileHandle file) {
  if (retry_on_eintr([&] { return ::fdatasync(file); }) == 0) return absl::OkStatus();
  return file_error(errno, "sync", file);
}

absl::StatusOr<std::uint64_t> PosixDisk::size(FileHandle file) {
  struct stat status;
  if (::fstat(file, &status) != 0) return file_error(errno, "stat", file);
  return static_cast<std::uint64_t>(status.st_size);
}

absl::Status PosixDisk::lock(FileHandle file, std::uint64_t retry_ns) {
  const int failure = retry_lock(retry_ns, [&] { return lock_against_writers(file); });
  if (failure == 0) return absl::OkStatus();
  if (failure != EWOULDBLOCK) return file_error(failure, "lock", file);
  const std::optional<LockHolder> holder = write_lock_holder(file);
  return make_error(
      Errc::kInUse,
      absl::StrCat(path_of(file), " is held by ", holder ? text_of(*holder) : "another process",
                   ": a publisher or `lapwing repair` runs here. End it first"));
}

absl::StatusOr<std::uint64_t> PosixDisk::allocated_bytes(FileHandle file) {
  struct stat status;
  if (::fstat(file, &status) != 0) return file_error(errno, "stat", file);
  return static_cast<std::uint64_t>(status.st_blocks) * kStatBlockBytes;
}

std::optional<Pages> PosixDisk::map_finished(FileHandle file) {
  struct stat status;
  if (::fstat(file, &status) != 0) return std::nullopt;
  const bool others_may_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if ((status.st_uid != ::geteuid() && status.st_uid != 0) || others_may_write) return std::nullopt;
  auto pages = Pages::map(file, static_cast<std::uint64_t>(status.st_size));
  if (!pages.ok()) return std::nullopt;
  return *std::move(pages);
}

std::uint32_t PosixDisk::direct_alignment(FileHandle file) {
  struct statx status;
  if (::statx(file, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) != 0) return 0;
  if ((status.stx_mask & STATX_DIOALIGN) == 0 || status.stx_dio_offset_align == 0) return 0;
  return std::max(status.stx_dio_mem_align, status.stx_dio_offset_align);
}

absl::Status PosixDisk::rename(const std::string& from, const std::string& to) {
  const int renamed = at_place(anchors_, from, [&](int from_at, const char* from_name) {
    return at_place(anchors_, to, [&](int to_at, const char* to_name) {
      return ::renameat(from_at, from_name, to_at, to_name);
    });
  });
  if (renamed == 0) return absl::OkStatus();
  return make_system_error(errno, absl::StrCat("cannot rename ", from, " to ", to));
}

absl::Status PosixDisk::remove(const std::string& path) {
  const auto unlink = [](int at, const char* name) { return ::unlinkat(at, name, 0); };
  if (at_place(anchors_, path, unlink) == 0) return absl::OkStatus();
  return make_system_error(errno, absl::StrCat("cannot remove ", path));
}

absl::Status PosixDisk::make_directory(const std::string& path, unsigned permissions) {
  const auto make = [](int at, const char* name) { return ::mkdirat(at, name, 0700); };
  if (at_place(anchors_, path, make) != 0) {
    const int sys_errno = errno;
    struct stat status;
    const auto look = [&](int at, const char* name) {
      return ::fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW);
    };
    if (sys_errno == EEXIST && at_place(anchors_, path, look) == 0) {
      return S_ISDIR(status.st_mode) ? absl::OkStatus() : not_a_file(path);
    }
    return make_system_error(sys_errno, absl::StrCat("cannot make the directory ", path));
  }
  const auto opened = open_file(*this, path, {.mode = OpenMode::kDirectory});
  if (!opened.ok()) return opened.status();
  return share(opened->get(), path, group_, permissions | (group_ ? kGroupReadsDirectory : 0));
}

absl::Status PosixDisk::sync_directory(const std::string& path) {
  const auto opened = open_file(*this, path, {.mode = OpenMode::kDirectory});
  if (!opened.ok()) return opened.status();
  if (retry_on_eintr([&] { return ::fsync(opened->get()); }) == 0) return absl::OkStatus();
  return make_system_error(errno, absl::StrCat("cannot sync the directory ", path));
}

absl::StatusOr<std::vector<std::string>> PosixDisk::list(const std::string& directory) {
  const ForkHold hold;  // while the stream is open
  UniqueFd opened(at_place(anchors_, directory, [](int at, const char* name) {
    const int no_link = at == AT_FDCWD ? 0 : O_NOFOLLOW;
    return ::openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | no_link);
  }));
  DIR* const stream = opened.valid() ? ::fdopendir(opened.get()) : nullptr;
  if (stream == nullptr) return make_system_error(errno, absl::StrCat("cannot list ", directory));
  opened.release();  // the stream owns it now
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* const entry = ::readdir(stream)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
    errno = 0;
  }
  const int sys_errno = errno;
  ::closedir(stream);
  if (sys_errno != 0) {
    return make_system_error(sys_errno, absl::StrCat("cannot list ", directory));
  }
  return names;
}

absl::StatusOr<bool> PosixDisk::exists(const std::string& path) {
  struct stat status;
  const auto look = [&](int at, const char* name) {
    return ::fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW);
  };
  if (at_place(anchors_, path, look) == 0) return true;
  if (errno == ENOENT) return false;
  return make_system_error(errno, absl::StrCat("cannot find ", path));
}

absl::StatusOr<std::uint64_t> PosixDisk::free_bytes(const std::string& path) {
  const auto open_path = [](int at, const char* name) {
    return ::openat(at, name, O_PATH | O_CLOEXEC);
  };
  const UniqueFd place = UniqueFd::opened_by([&] { return at_place(anchors_, path, open_path); });
  struct statvfs status;
  if (!place.valid() || retry_on_eintr([&] { return ::fstatvfs(place.get(), &status); }) != 0) {
    return make_system_error(errno, absl::StrCat("cannot query the free space of ", path));
  }
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

absl::StatusOr<bool> PosixDisk::names(const std::string& path, FileHandle file) {
  struct stat held;
  if (::fstat(file, &held) != 0) return file_error(errno, "stat", file);
  if (held.st_nlink == 0) return false;
  if (!anchors_.place_of(path).anchored()) return true;
  struct stat named;
  const auto look = [&](int at, const char* name) {
    return ::fstatat(at, name, &named, AT_SYMLINK_NOFOLLOW);
  };
  if (at_place(anchors_, path, look) == 0) {
    return named.st_dev == held.st_dev && named.st_ino == held.st_ino;
  }
  const bool missing = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
  if (missing) return false;
  return make_system_error(errno, absl::StrCat("cannot find ", path));
}

PosixWriteQueue::PosixWriteQueue(const std::string& reason)
    : SynchronousWriteQueue(reason.empty() ? "posix" : absl::StrCat("posix (", reason, ")"),
                            run_request) {}

}  // namespace lapwing
