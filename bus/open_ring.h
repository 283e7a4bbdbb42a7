// A ring file that was found by its name: whose it is, and whether its publisher lives.
//
// A path that stands in a file (bus.json, `sessions`) is a claim. Before a ring is recovered from,
// read without a publisher or removed, its own header must say that it is the ring of this
// directory and this session, it must be a file of the user that owns the directory (in /dev/shm
// others may take a name when its owner's files are gone), and no publisher may hold it.
//
// Who lives. A publisher locks its ring (F_OFD_SETLK, a write lock) before the file has a name, and
// the kernel keeps the lock until the descriptor and every mapping made through it are gone: until
// the process has ended, however it ends. Whoever has the file open for reading asks with
// F_OFD_GETLK. A reader cannot imitate it: a write lock needs a descriptor that may write, and the
// read lock that a reader may take conflicts with nothing that is asked.
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

// A directory by what a copy does not share with it and a new name does not change.
struct DirectoryIdentity {
  std::uint64_t device = 0;  // st_dev
  std::uint64_t inode = 0;   // st_ino; 0: none
  uid_t owner = 0;           // st_uid

  friend bool operator==(const DirectoryIdentity&, const DirectoryIdentity&) = default;
};

// Errors: kNotFound, kNotPermitted, kSystem.
absl::StatusOr<DirectoryIdentity> directory_identity(const std::string& directory);

// Whose `path` is, if it is neither `owner`'s nor root's. If `path` cannot be looked at: the same of
// the nearest directory above it that can be.
std::optional<uid_t> foreign_user(const std::string& path, uid_t owner);

// What the ring file of a session is called.
std::string ring_file_name(const Id128& session_id);
// Whether `path` can be the ring of that session: absolute, without "..", and called so.
bool is_ring_path(const std::string& path, const Id128& session_id);

class OpenRing {
 public:
  // Opens O_RDONLY, without following links and without touching what is no regular file; checks a
  // private copy of the header (magic, ABI, feature bits, checksum, geometry against the file's
  // size). Errors: kNotFound, kNotPermitted, kNotALapwingFile, kAbiMismatch, kDamaged.
  static absl::StatusOr<OpenRing> open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  int fd() const { return fd_.get(); }
  std::uint64_t bytes() const { return bytes_; }
  const RingHeader& header() const { return header_; }  // the checked copy

  // Root's files are trusted: root can change the others, too.
  bool belongs_to(const DirectoryIdentity& directory) const {
    return header_.directory_device == directory.device &&
           header_.directory_inode == directory.inode && (user_ == directory.owner || user_ == 0);
  }
  // Whether the publisher that made it lives. Errors: kSystem.
  absl::StatusOr<bool> is_held() const;
  // Removes the name, if it is still this file's.
  absl::Status remove() const { return file_.unlink(); }

 private:
  OpenRing(UniqueFd fd, NamedFile file, const struct stat& info, const RingHeader& header);

  UniqueFd fd_;
  NamedFile file_;
  std::uint64_t bytes_;
  uid_t user_;
  RingHeader header_;
};

// What is wrong with `header` as the first page of a file of `file_bytes`, if anything.
// Errors: kNotALapwingFile, kAbiMismatch, kDamaged.
absl::Status check_ring_header(const RingHeader& header, std::uint64_t file_bytes,
                               const std::string& path);

}  // namespace lapwing
