// The ring file in shared memory, as its publisher creates, writes and at last unlinks it.
//
// Thread safety: const members, any thread; not to be moved or destroyed while another thread uses
// the mapping. Owns the mapping, which is MADV_DONTFORK, and the lock by which others know that its
// publisher lives; not the name, which outlives the process on purpose.
//
// The file has no name until it is allocated in full, its header written and its mode lowered to
// 0400 (0440 with a group). Therefore a full tmpfs is an error and never a SIGBUS, no reader finds
// half a ring, and a publisher that is killed on the way leaves nothing behind. Nobody formats
// memory that others map: a restart makes a new file.
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

// What a ring is made from.
struct RingSpec {
  std::string directory;  // on tmpfs; the file is called <session id>.ring
  std::uint32_t record_bytes = kRecordBytesDefault;
  std::uint64_t capacity = 0;  // slots, a power of two; 0: see default_capacity
  SchemaLabel schema;
  std::string bus_name;
  DirectoryIdentity owner;  // the directory whose ring it is: the journal's, or the bus's
  Id128 journal_id;
  Id128 session_id;
  Id128 boot_id;
  bool has_journal = true;
  Sequence session_first = 1;
  Sequence ring_first =
      1;  // raised to the oldest record before session_first that the ring can hold
  bool huge_pages = false;        // fails loudly where they are not to be had
  std::optional<unsigned> group;  // gid that may read
};

// Errors: kInvalidArgument, with a capacity that is valid.
absl::Status check_capacity(std::uint64_t capacity, std::uint32_t slot_bytes);

class RingFile {
 public:
  // Page 1 starts with head, archived and durable at session_first - 1, oldest at session_first,
  // state running, journal good or none. The caller stores the records from
  // header().ring_first_sequence to session_first - 1 with writer_of(), and what it knows of
  // `oldest`, before it tells anyone the path. Errors: kInvalidArgument (capacity, record size,
  // sequences), kNoSpace (names bytes needed and free), kNotPermitted (an unsafe directory, a
  // foreign group), kNotFound, kNotALapwingFile (no directory), kUnsupported (huge pages).
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

  // True while the file still has the name it was created under (a log-out may delete files in
  // /dev/shm).
  bool still_named() const { return file_.still_named(); }
  // Removes the name, if it is still this file's; mappings stay valid.
  absl::Status unlink() { return file_.unlink(); }
  // The publisher has ended, though this process goes on: whoever comes next may take the file.
  void let_go() { unlock_whole_file(fd_.get()); }

 private:
  RingFile(UniqueFd fd, NamedFile file, const RingHeader& header,
           boost::interprocess::mapped_region region);

  UniqueFd fd_;  // which holds the ring: bus/open_ring.h
  NamedFile file_;
  RingHeader header_;
  boost::interprocess::mapped_region region_;
};

}  // namespace lapwing
