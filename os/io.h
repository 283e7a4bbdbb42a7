// The seam between the journal and the kernel: everything that touches a file goes through here, so
// that a test can make a write fail, a sync lie, or the power go.
//
// Disk is synchronous: names, headers, small files, everything readers and recovery do. WriteQueue
// is asynchronous: the archiver's writes and syncs. Implementations: PosixDisk and PosixWriteQueue
// (os/posix_io.h), SynchronousWriteQueue (os/synchronous_write_queue.h: whatever call one gives it),
// UringWriteQueue (os/uring_write_queue.h, a target of its own), and the simulated disk of the tests
// (testing/sim_disk.h).
//
// Thread safety: a Disk may be used from several threads; a WriteQueue belongs to one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/fork.h"
#include "os/mapping.h"

namespace lapwing {

// An open file of a Disk. Plain number; close it with Disk::close or hold it in an OpenFile.
using FileHandle = int;
inline constexpr FileHandle kNoFile = -1;

enum class OpenMode : std::uint32_t {
  kRead,       // O_RDONLY
  kReadWrite,  // O_RDWR, must exist
  kCreate,     // O_RDWR | O_CREAT | O_EXCL
  kDirectory,  // O_RDONLY | O_DIRECTORY: for WriteRequest::Kind::kSyncDirectory
};

// Whether the path of an anchored directory still names it (Disk::anchor).
enum class AnchorState : std::uint32_t {
  kStands,   // it does, or nothing is anchored
  kMoved,    // the directory has another name now; its files are found all the same
  kRemoved,  // the directory is gone, and nothing will ever appear in it
};

struct OpenOptions {
  OpenMode mode = OpenMode::kRead;
  bool direct = false;          // O_DIRECT; the caller keeps the alignment
  unsigned permissions = 0600;  // of a created file, whatever the umask
};

class Disk {
 public:
  virtual ~Disk() = default;

  // Links are not followed in the last component; what is not a regular file is kNotALapwingFile.
  virtual absl::StatusOr<FileHandle> open(const std::string& path, const OpenOptions& options) = 0;
  virtual void close(FileHandle file) = 0;
  // Reads up to out.size() bytes; fewer only at the end of the file.
  virtual absl::StatusOr<std::size_t> read_at(FileHandle file, std::uint64_t offset,
                                              std::span<std::byte> out) = 0;
  // Writes all of it.
  virtual absl::Status write_at(FileHandle file, std::uint64_t offset,
                                std::span<const std::byte> bytes) = 0;
  virtual absl::Status allocate(FileHandle file, std::uint64_t bytes) = 0;  // os/file_space.h
  virtual absl::Status truncate(FileHandle file, std::uint64_t bytes) = 0;
  // Gives the space of a range back to the file system. The range reads as zeros from now on and
  // the file keeps its size, so no reader finds it shorter. errno EOPNOTSUPP: the file system
  // cannot.
  virtual absl::Status punch_hole(FileHandle file, std::uint64_t offset, std::uint64_t bytes) = 0;
  virtual absl::Status sync(FileHandle file) = 0;  // fdatasync
  virtual absl::StatusOr<std::uint64_t> size(FileHandle file) = 0;
  // The space that the file takes, in bytes: less than its size where it has holes.
  virtual absl::StatusOr<std::uint64_t> allocated_bytes(FileHandle file) = 0;
  // Locks the file against other writers until this process closes it or ends (os/file_lock.h). The
  // file is open for writing. Waits up to retry_ns for another holder, then kInUse.
  virtual absl::Status lock(FileHandle, std::uint64_t) { return absl::OkStatus(); }
  // The whole of a finished file, mapped read-only. Nothing where the disk has no mappings, or
  // where another user than this one and root could cut the file short under whoever reads it
  // (SIGBUS).
  virtual std::optional<Pages> map_finished(FileHandle) { return std::nullopt; }
  // The alignment direct I/O needs for memory and offset, or 0 where the file system has none.
  virtual std::uint32_t direct_alignment(FileHandle file) = 0;

  virtual absl::Status rename(const std::string& from, const std::string& to) = 0;
  virtual absl::Status remove(const std::string& path) = 0;  // a file
  // Succeeds if the directory is there already.
  virtual absl::Status make_directory(const std::string& path, unsigned permissions) = 0;
  virtual absl::Status sync_directory(const std::string& path) = 0;
  virtual absl::StatusOr<std::vector<std::string>> list(const std::string& directory) = 0;  // names
  virtual absl::StatusOr<bool> exists(const std::string& path) = 0;
  virtual absl::StatusOr<std::uint64_t> free_bytes(const std::string& path) = 0;

  // From now on every path at or below `directory` is looked up in the directory that has this
  // name now, wherever that is moved to; below it no link is followed. A directory that cannot be
  // opened, and one of a disk that does not know this, is looked up by its name, as any other.
  virtual void anchor(const std::string& /*directory*/) {}
  // Of the anchored directory that holds `path`.
  virtual AnchorState anchor_state(const std::string& /*path*/) { return AnchorState::kStands; }
  // Whether `path` still names this open file. Below no anchor a file that has any name passes: its
  // directory may have been moved.
  virtual absl::StatusOr<bool> names(const std::string& path, FileHandle file) = 0;
};

// One asynchronous request. The memory behind `bytes` stays valid and unchanged until it completes.
struct WriteRequest {
  enum class Kind : std::uint32_t {
    kWrite,
    kSync,           // fdatasync
    kSyncDirectory,  // fsync of a directory: fdatasync need not keep a name
    kAllocate,       // fallocate
  } kind = Kind::kWrite;
  FileHandle file = kNoFile;
  std::uint64_t offset = 0;          // kWrite; for kAllocate: bytes to allocate from 0
  std::span<const std::byte> bytes;  // kWrite
  std::uint64_t tag = 0;             // the caller's, comes back
};

struct WriteCompletion {
  std::uint64_t tag = 0;
  std::int64_t result = 0;  // bytes written (may be short), 0 for sync, or -errno
};

class WriteQueue {
 public:
  virtual ~WriteQueue() = default;
  // What `lapwing info` and the log call it: "io_uring" or "posix", with a reason if one is known.
  virtual std::string description() const = 0;
  // Memory that writes will mostly come from, for registration. May be refused silently.
  virtual void register_memory(std::span<const std::byte> memory) = 0;
  // Keeps the threads that perform requests on these processors (numbers below kCpusMax), if the
  // queue has such threads. kUnsupported: the kernel cannot; the threads run where they did.
  virtual absl::Status place_workers(const std::vector<unsigned>& /*cpus*/) {
    return absl::OkStatus();
  }
  // Queues a request; false if the queue is full (reap first).
  virtual bool submit(const WriteRequest& request) = 0;
  // Hands everything queued to the kernel and collects completions, waiting up to wait_ns for the
  // first. Returns how many were stored.
  virtual std::size_t reap(std::span<WriteCompletion> out, std::uint64_t wait_ns) = 0;
  virtual std::size_t in_flight() const = 0;
};

// Owns one FileHandle. Movable, not copyable. A forked child does not close it: it has none.
class OpenFile {
 public:
  OpenFile() = default;
  OpenFile(Disk& disk, FileHandle file) : disk_(&disk), file_(file) {}
  OpenFile(OpenFile&& other) noexcept : disk_(other.disk_), file_(other.file_), made_(other.made_) {
    other.file_ = kNoFile;
  }
  OpenFile& operator=(OpenFile&& other) noexcept {
    if (this == &other) return *this;
    close();
    disk_ = other.disk_;
    file_ = other.file_;
    made_ = other.made_;
    other.file_ = kNoFile;
    return *this;
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { close(); }

  FileHandle get() const { return file_; }
  bool valid() const { return file_ != kNoFile; }
  FileHandle release() { return std::exchange(file_, kNoFile); }
  void close() {
    if (file_ != kNoFile && !made_.in_child()) disk_->close(file_);
    file_ = kNoFile;
  }

 private:
  Disk* disk_ = nullptr;
  FileHandle file_ = kNoFile;
  ForkMark made_;
};

inline absl::StatusOr<OpenFile> open_file(Disk& disk, const std::string& path,
                                          const OpenOptions& options) {
  const absl::StatusOr<FileHandle> file = disk.open(path, options);
  if (!file.ok()) return file.status();
  return OpenFile(disk, *file);
}

}  // namespace lapwing
