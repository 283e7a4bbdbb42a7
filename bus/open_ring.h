// A ring file that was found by its name. Determines its owner, and whether its publisher is alive.
//
// A path in a file (bus.json, `sessions`) is only a claim. Three things must be true before a ring
// is used for recovery, read without a publisher, or removed. Its header must identify it as the
// ring of this directory and this session. The file must belong to the owner of the directory,
// because in /dev/shm others may reuse a name once its owner's files are gone. And no publisher may
// hold it.
//
// A publisher locks its ring (F_OFD_SETLK, a write lock) before the file has a name. The kernel
// keeps the lock until the descriptor and every mapping made through it are gone, which is when the
// process has ended for any reason. A process that has the file open for reading queries the lock
// with F_OFD_GETLK. A reader cannot fake the lock: a write lock needs a writable descriptor, and a
// read lock does not conflict with the query.
//
// Thread safety: const, any thread. Owns a descriptor.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "os/named_file.h"
#include "os/unique_fd.h"
#include "proto/ring_layout.h"

namespace lapwing {

// The identity of a directory. A copy has a different identity; a rename does not change it.
struct DirectoryIdentity {
  std::uint64_t device = 0;  // st_dev
  std::uint64_t inode = 0;   // st_ino; 0: none
  uid_t owner = 0;           // st_uid

  friend bool operator==(const DirectoryIdentity&, const DirectoryIdentity&) = default;
};

// Errors: kNotFound, kNotPermitted, kSystem.
absl::StatusOr<DirectoryIdentity> directory_identity(const std::string& directory);

// Returns the owner of `path` if it is neither `owner` nor root. If `path` cannot be examined,
// checks the nearest directory above it that can be.
std::optional<uid_t> foreign_user(const std::string& path, uid_t owner);

// Returns the name of a session's ring file.
std::string ring_file_name(const Id128& session_id);
// Returns whether `path` can be the ring of that session: absolute, without "..", and with that
// name.
bool is_ring_path(const std::string& path, const Id128& session_id);

class OpenRing {
 public:
  // Opens the file O_RDONLY. Does not follow links, and does not open files that are not regular.
  // Checks a private copy of the header (magic, ABI, feature bits, checksum, geometry against the
  // file's size). Errors: kNotFound, kNotPermitted, kNotALapwingFile, kAbiMismatch, kDamaged.
  static absl::StatusOr<OpenRing> open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  int fd() const { return fd_.get(); }
  std::uint64_t bytes() const { return bytes_; }
  const RingHeader& header() const { return header_; }  // the checked copy

  // Root's files are trusted, because root can change all files anyway.
  bool belongs_to(const DirectoryIdentity& directory) const {
    return header_.directory_device == directory.device &&
           header_.directory_inode == directory.inode && (user_ == directory.owner || user_ == 0);
  }
  // Returns whether the publisher that created it is running. Errors: kSystem.
  absl::StatusOr<bool> is_held() const;
  // Removes the name, if it still belongs to this file.
  absl::Status remove() const { return file_.unlink(); }

 private:
  OpenRing(UniqueFd fd, NamedFile file, const struct stat& info, const RingHeader& header);

  UniqueFd fd_;
  NamedFile file_;
  std::uint64_t bytes_;
  uid_t user_;
  RingHeader header_;
};

// Checks `header` as the first page of a file of `file_bytes` bytes.
// Errors: kNotALapwingFile, kAbiMismatch, kDamaged.
absl::Status check_ring_header(const RingHeader& header, std::uint64_t file_bytes,
                               const std::string& path);

}  // namespace lapwing
