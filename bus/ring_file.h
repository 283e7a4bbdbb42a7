// The ring file in shared memory: a publisher makes and owns it, everyone else maps it read-only.
//
// RingFile (publisher) and RingMap (reader) own a mapping each. Both are movable; neither is
// thread-safe to move or destroy while another thread uses the mapping. Mappings are MADV_DONTFORK.
//
// A ring file is allocated and populated in full before it gets its final name, so a full tmpfs is
// an error that names the bytes needed and free, never a SIGBUS. Its mode is 0600 while the
// publisher opens it and 0400 (0440 with a group) from then on. Nobody formats memory that others
// map: a restart makes a new file.
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/identity.h"
#include "proto/ring_layout.h"
#include "proto/shared_words.h"

namespace lapwing {

// What a ring is made from. Zero capacity: the largest up to kCapacityDefaultMax of which two rings
// fit in half of the tmpfs's free space.
struct RingSpec {
  std::string directory;  // on tmpfs
  std::uint32_t record_bytes = kRecordBytesDefault;
  std::uint64_t capacity = 0;  // slots, a power of two
  std::string schema;
  std::string bus_name;
  Id128 journal_id;
  Id128 session_id;
  Id128 boot_id;
  bool has_journal = true;
  Sequence session_first = 1;
  Sequence ring_first = 1;
  bool huge_pages = false;          // fails loudly where they are not to be had
  std::optional<unsigned> group;    // gid that may read
};

class RingFile {
 public:
  // Errors: kInvalidArgument (capacity, record size), kNoSpace (names bytes needed and free),
  // kUnsafe path reasons as kNotPermitted, kUnsupported (huge pages).
  static absl::StatusOr<RingFile> create(const RingSpec& spec);

  RingFile(RingFile&&) = default;
  RingFile& operator=(RingFile&&) = default;

  const std::string& path() const { return path_; }
  const RingHeader& header() const { return header_; }
  RingWords& words() const;
  std::byte* slots() const;
  std::byte* slot(Sequence n) const {
    return slots() + ((n - 1) & (header_.capacity - 1)) * header_.slot_bytes;
  }

  // True while the file still has the name it was created under (a log-out may delete files in
  // /dev/shm).
  bool still_named() const;
  // Removes the name; mappings stay valid.
  absl::Status unlink();

 private:
  RingFile() = default;
  std::string path_;
  RingHeader header_{};
  boost::interprocess::mapped_region region_;
};

class RingMap {
 public:
  // Opens O_RDONLY without following links, maps PROT_READ, checks a private copy of the header
  // (magic, ABI, feature bits, geometry against the file's size, checksum).
  // Errors: kNotFound, kNotPermitted, kNotALapwingFile, kAbiMismatch, kDamaged.
  static absl::StatusOr<RingMap> attach(const std::string& path);

  RingMap(RingMap&&) = default;
  RingMap& operator=(RingMap&&) = default;

  const std::string& path() const { return path_; }
  const RingHeader& header() const { return header_; }  // the checked copy
  const RingWords& words() const;
  const std::byte* slots() const;

 private:
  RingMap() = default;
  std::string path_;
  RingHeader header_{};
  boost::interprocess::mapped_region region_;
};

// A directory of the calling user's own under /dev/shm (0700, or 0750 with a group), made if need
// be. kNotPermitted if something else stands there or its owner or mode is wrong; links are not
// followed.
absl::StatusOr<std::string> private_ring_directory(std::optional<unsigned> group);

// True if `directory` is on tmpfs (or ramfs).
absl::StatusOr<bool> is_on_tmpfs(const std::string& directory);

}  // namespace lapwing
