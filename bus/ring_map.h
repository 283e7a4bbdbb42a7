// A reader's mapping of a ring file: read-only, and checked before a byte of it is believed.
//
// Thread safety: const, any thread; not to be moved or destroyed while another thread uses the
// mapping. The mapping is MADV_DONTFORK and stays valid when the file loses its name.
//
// The file's owner could truncate it under a reader, which would then die of SIGBUS; its mode
// (0400) and its owner, the publisher's user, are what guards against that. attach() itself copies
// the header with pread and faults every page in, so a file that shrinks while it is being attached
// is an error.
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "proto/ring_layout.h"

namespace lapwing {

class RingMap {
 public:
  // Opens O_RDONLY without following links, maps PROT_READ, checks a private copy of the header
  // (magic, ABI, feature bits, checksum, geometry against the file's size). Errors: kNotFound,
  // kNotPermitted, kNotALapwingFile, kAbiMismatch, kDamaged.
  static absl::StatusOr<RingMap> attach(const std::string& path);

  RingMap(RingMap&&) = default;
  RingMap& operator=(RingMap&&) = default;

  const std::string& path() const { return path_; }
  const RingHeader& header() const { return header_; }  // the checked copy
  const RingWords& words() const;
  const std::byte* slots() const;

 private:
  RingMap(std::string path, const RingHeader& header, boost::interprocess::mapped_region region);

  std::string path_;
  RingHeader header_;
  boost::interprocess::mapped_region region_;
};

// What is wrong with `header` as the first page of a file of `file_bytes`, if anything.
// Errors: kNotALapwingFile, kAbiMismatch, kDamaged.
absl::Status check_ring_header(const RingHeader& header, std::uint64_t file_bytes,
                               const std::string& path);

// XXH3-64 of everything before the checksum.
std::uint64_t checksum_of(const RingHeader& header);

}  // namespace lapwing
