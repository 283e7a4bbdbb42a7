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
#include "bus/open_ring.h"
#include "proto/ring_layout.h"

namespace lapwing {

class RingMap {
 public:
  // Opens and checks the file as OpenRing does, and maps it PROT_READ. Errors: those of
  // OpenRing::open; kDamaged for a file that shrinks meanwhile.
  static absl::StatusOr<RingMap> attach(const std::string& path);
  static absl::StatusOr<RingMap> attach(const OpenRing& ring);

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

}  // namespace lapwing
