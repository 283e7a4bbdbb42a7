// Files with plain system calls: the Disk that all programs use, and the WriteQueue if io_uring is
// refused.
//
// PosixDisk: thread-safe; its only state is the group and the anchors. A FileHandle is a file
// descriptor, so that UringWriteQueue can use it. Every call retries on EINTR; every descriptor is
// close-on-exec.
// PosixWriteQueue: one thread; a SynchronousWriteQueue.
//
// Errors: kNotFound, kNotPermitted, kNoSpace, kNotALapwingFile (a link, directory, socket or device
// instead of a file), otherwise kSystem. The message contains the call's purpose and the path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/directory_anchors.h"
#include "os/io.h"
#include "os/synchronous_write_queue.h"

namespace lapwing {

class PosixDisk : public Disk {
 public:
  // With a group (gid), files and directories that this disk creates belong to that group, which
  // may read them regardless of the permissions that the caller requests.
  explicit PosixDisk(std::optional<unsigned> group = std::nullopt) : group_(group) {}

  absl::StatusOr<FileHandle> open(const std::string& path, const OpenOptions& options) override;
  void close(FileHandle file) override;
  absl::StatusOr<std::size_t> read_at(FileHandle file, std::uint64_t offset,
                                      std::span<std::byte> out) override;
  absl::Status write_at(FileHandle file, std::uint64_t offset,
                        std::span<const std::byte> bytes) override;
  absl::Status allocate(FileHandle file, std::uint64_t bytes) override;
  absl::Status truncate(FileHandle file, std::uint64_t bytes) override;
  absl::Status punch_hole(FileHandle file, std::uint64_t offset, std::uint64_t bytes) override;
  absl::Status sync(FileHandle file) override;
  absl::StatusOr<std::uint64_t> size(FileHandle file) override;
  absl::StatusOr<std::uint64_t> allocated_bytes(FileHandle file) override;
  absl::Status lock(FileHandle file, std::uint64_t retry_ns) override;
  std::optional<Pages> map_finished(FileHandle file) override;
  std::uint32_t direct_alignment(FileHandle file) override;

  absl::Status rename(const std::string& from, const std::string& to) override;
  absl::Status remove(const std::string& path) override;
  absl::Status make_directory(const std::string& path, unsigned permissions) override;
  absl::Status sync_directory(const std::string& path) override;
  absl::StatusOr<std::vector<std::string>> list(const std::string& directory) override;
  absl::StatusOr<bool> exists(const std::string& path) override;
  absl::StatusOr<std::uint64_t> free_bytes(const std::string& path) override;

  void anchor(const std::string& directory) override { anchors_.add(directory); }
  AnchorState anchor_state(const std::string& path) override { return anchors_.state_of(path); }
  absl::StatusOr<bool> names(const std::string& path, FileHandle file) override;

 private:
  std::optional<unsigned> group_;
  DirectoryAnchors anchors_;
};

// Performs the request with plain system calls. Returns the result for its completion.
std::int64_t run_request(const WriteRequest& request);

class PosixWriteQueue final : public SynchronousWriteQueue {
 public:
  // `reason` is why io_uring is not used. It is appended to the description, and may be empty.
  explicit PosixWriteQueue(const std::string& reason = "");
};

}  // namespace lapwing
