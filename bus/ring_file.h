// The ring file in shared memory. Its publisher creates it, writes it and finally unlinks it.
//
// Thread safety: const members may be called by any thread. Do not move or destroy it while another
// thread uses the mapping. Owns the mapping, which is MADV_DONTFORK, and the lock with which others
// detect that its publisher is alive. Does not own the name, which outlives the process on purpose.
//
// The file has no name until it is fully allocated, its header is written and its mode is lowered
// to 0400 (0440 with a group). Therefore a full tmpfs is an error and never a SIGBUS, a reader
// never finds a partial ring, and a publisher that is killed before then leaves nothing behind.
// Memory that others map is never formatted again: a restart makes a new file.
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/open_ring.h"
#include "bus/ring_directory.h"
#include "bus/ring_map.h"
#include "lapwing/sequence.h"
#include "os/file_lock.h"
#include "os/named_file.h"
#include "proto/ring_layout.h"
#include "proto/schema_label.h"

namespace lapwing {

// The parameters of a ring.
struct RingSpec {
  std::string directory;  // on tmpfs; the file is called <session id>.ring
  std::uint32_t record_bytes = kRecordBytesDefault;
  std::uint64_t capacity = 0;  // slots, a power of two; 0: see default_capacity
  SchemaLabel schema;
  std::string bus_name;
  DirectoryIdentity owner;  // the directory that the ring belongs to: the journal's, or the bus's
  Id128 journal_id;
  Id128 session_id;
  Id128 boot_id;
  bool has_journal = true;
  Sequence session_first = 1;
  Sequence ring_first =
      1;  // raised to the oldest record before session_first that the ring can hold
  bool huge_pages = false;        // creation fails if they are not available
  std::optional<unsigned> group;  // gid that may read
};

// Errors: kInvalidArgument; the message contains a valid capacity.
absl::Status check_capacity(std::uint64_t capacity, std::uint32_t slot_bytes);

class RingFile {
 public:
  // Page 1 begins with head, archived and durable at session_first - 1, oldest at session_first,
  // state running, and journal good or none. Before the caller publishes the path, it stores the
  // records from header().ring_first_sequence to session_first - 1 with writer_of(), and `oldest`
  // as far as known. Errors: kInvalidArgument (capacity, record size, sequences), kNoSpace (with
  // the bytes needed and free), kNotPermitted (an unsafe directory, a foreign group), kNotFound,
  // kNotALapwingFile (not a directory), kUnsupported (huge pages).
  static absl::StatusOr<RingFile> create(const RingSpec& spec);

  RingFile(RingFile&&) = default;
  RingFile& operator=(RingFile&&) = default;

  const std::string& path() const { return file_.path(); }
  const RingHeader& header() const { return header_; }
  RingWords& words() const;
  std::byte* slots() const;
  std::byte* slot(Sequence n) const {
    return slots() + ((n - 1) & (header_.capacity - 1)) * header_.slot_bytes;
  }

  // Returns true while the file still has its original name (a logout may delete files in
  // /dev/shm).
  bool still_named() const { return file_.still_named(); }
  // Removes the name, if it still belongs to this file. Mappings stay valid.
  absl::Status unlink() { return file_.unlink(); }
  // Releases the lock, because the publisher has ended although this process continues. The next
  // publisher may then take the file.
  void let_go() { unlock_whole_file(fd_.get()); }

 private:
  RingFile(UniqueFd fd, NamedFile file, const RingHeader& header,
           boost::interprocess::mapped_region region);

  UniqueFd fd_;  // holds the ring's lock: bus/open_ring.h
  NamedFile file_;
  RingHeader header_;
  boost::interprocess::mapped_region region_;
};

}  // namespace lapwing
