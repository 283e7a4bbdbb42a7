// The interface between the journal and the kernel. All file access uses it, so that a test can
// make a write fail, a sync succeed without effect, or the power fail.
//
// Disk is synchronous. It is used for names, headers and small files, and by readers and recovery.
// WriteQueue is asynchronous, for the archiver's writes and syncs. Implementations: PosixDisk and
// PosixWriteQueue (os/posix_io.h), SynchronousWriteQueue (os/synchronous_write_queue.h, which runs
// a given function), UringWriteQueue (os/uring_write_queue.h, a separate target), and the tests'
// simulated disk (testing/sim_disk.h).
//
// Thread safety: a Disk may be used by several threads; a WriteQueue belongs to one.
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

// An open file of a Disk. A plain number: close it with Disk::close, or hold it in an OpenFile.
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
  kStands,   // it does, or there is no anchor
  kMoved,    // the directory has a new name now; its files are still found
  kRemoved,  // the directory was removed, and files can no longer be created in it
};

struct OpenOptions {
  OpenMode mode = OpenMode::kRead;
  bool direct = false;          // O_DIRECT; the caller must align its requests
  unsigned permissions = 0600;  // of a created file, regardless of the umask
};

class Disk {
 public:
  virtual ~Disk() = default;

  // Does not follow a link in the last component. Returns kNotALapwingFile if it is not a regular
  // file.
  virtual absl::StatusOr<FileHandle> open(const std::string& path, const OpenOptions& options) = 0;
  virtual void close(FileHandle file) = 0;
  // Reads up to out.size() bytes; fewer only at the end of the file.
  virtual absl::StatusOr<std::size_t> read_at(FileHandle file, std::uint64_t offset,
                                              std::span<std::byte> out) = 0;
  // Writes all bytes.
  virtual absl::Status write_at(FileHandle file, std::uint64_t offset,
                                std::span<const std::byte> bytes) = 0;
  virtual absl::Status allocate(FileHandle file, std::uint64_t bytes) = 0;  // os/file_space.h
  virtual absl::Status truncate(FileHandle file, std::uint64_t bytes) = 0;
  // Returns the space of a range to the file system. The range then reads as zeros, and the file
  // keeps its size, so readers do not see it shrink. errno EOPNOTSUPP: the file system does not
  // support it.
  virtual absl::Status punch_hole(FileHandle file, std::uint64_t offset, std::uint64_t bytes) = 0;
  virtual absl::Status sync(FileHandle file) = 0;  // fdatasync
  virtual absl::StatusOr<std::uint64_t> size(FileHandle file) = 0;
  // The space that the file uses, in bytes. Less than its size if it has holes.
  virtual absl::StatusOr<std::uint64_t> allocated_bytes(FileHandle file) = 0;
  // Locks the file against other writers until this process closes it or ends (os/file_lock.h). The
  // file must be open for writing. Waits up to retry_ns for a holder, then returns kInUse.
  virtual absl::Status lock(FileHandle, std::uint64_t) { return absl::OkStatus(); }
  // Maps a whole finished file, read-only. Returns nullopt if the disk does not support mappings,
  // or if users other than this one and root could truncate the file, which raises SIGBUS in
  // readers.
  virtual std::optional<Pages> map_finished(FileHandle) { return std::nullopt; }
  // The alignment that direct I/O needs for memory and offset, or 0 if the file system does not
  // support direct I/O.
  virtual std::uint32_t direct_alignment(FileHandle file) = 0;

  virtual absl::Status rename(const std::string& from, const std::string& to) = 0;
  virtual absl::Status remove(const std::string& path) = 0;  // a file
  // Succeeds if the directory already exists.
  virtual absl::Status make_directory(const std::string& path, unsigned permissions) = 0;
  virtual absl::Status sync_directory(const std::string& path) = 0;
  virtual absl::StatusOr<std::vector<std::string>> list(const std::string& directory) = 0;  // names
  virtual absl::StatusOr<bool> exists(const std::string& path) = 0;
  virtual absl::StatusOr<std::uint64_t> free_bytes(const std::string& path) = 0;

  // From now on, every path at or below `directory` is looked up in the directory that has this
  // name now, even if that directory is moved, and links below it are not followed. A directory
  // that cannot be opened is looked up by its name, as on a disk that does not implement anchors.
  virtual void anchor(const std::string& /*directory*/) {}
  // The state of the anchored directory that contains `path`.
  virtual AnchorState anchor_state(const std::string& /*path*/) { return AnchorState::kStands; }
  // Returns whether `path` still names this open file. If `path` is not below an anchor, any name
  // of the file is enough, because its directory may have been moved.
  virtual absl::StatusOr<bool> names(const std::string& path, FileHandle file) = 0;
};

// One asynchronous request. The memory behind `bytes` stays valid and unchanged until it completes.
struct WriteRequest {
  enum class Kind : std::uint32_t {
    kWrite,
    kSync,           // fdatasync
    kSyncDirectory,  // fsync of a directory, because fdatasync need not persist names
    kAllocate,       // fallocate
  } kind = Kind::kWrite;
  FileHandle file = kNoFile;
  std::uint64_t offset = 0;          // kWrite; for kAllocate: bytes to allocate, starting at 0
  std::span<const std::byte> bytes;  // kWrite
  std::uint64_t tag = 0;             // the caller's; repeated in the completion
};

struct WriteCompletion {
  std::uint64_t tag = 0;
  std::int64_t result = 0;  // bytes written (may be short), 0 for sync, or -errno
};

class WriteQueue {
 public:
  virtual ~WriteQueue() = default;
  // The name in `lapwing info` and the log: "io_uring" or "posix", with a reason if one is known.
  virtual std::string description() const = 0;
  // Registers the memory that most writes will use. May be refused silently.
  virtual void register_memory(std::span<const std::byte> memory) = 0;
  // Restricts the threads that perform requests to these processors (numbers below kCpusMax), if
  // the queue has such threads. kUnsupported: the kernel does not support it; the threads run as
  // before.
  virtual absl::Status place_workers(const std::vector<unsigned>& /*cpus*/) {
    return absl::OkStatus();
  }
  // Queues a request. Returns false if the queue is full; then reap first.
  virtual bool submit(const WriteRequest& request) = 0;
  // Passes everything queued to the kernel and collects completions, waiting up to wait_ns for the
  // first one. Returns the number of completions stored.
  virtual std::size_t reap(std::span<WriteCompletion> out, std::uint64_t wait_ns) = 0;
  virtual std::size_t in_flight() const = 0;
};

// Owns one FileHandle. Movable, not copyable. A forked child does not close it, because fork()
// already closed it there.
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
