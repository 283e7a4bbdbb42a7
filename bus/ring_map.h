// A reader's mapping of a ring file, read-only: of all of it, or of its words alone. OpenRing checks
// a copy of the header before that.
//
// Thread safety: const, any thread; not to be moved or destroyed while another thread uses the
// mapping. The mapping is MADV_DONTFORK and stays valid when the file loses its name.
//
// The file's owner could truncate it under a reader, which would then die of SIGBUS; its mode
// (0400) and its owner, the publisher's user, are what guards against that. attach() faults in
// every page that it maps, so a file that shrinks before that is an error.
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

// For whoever reads no record: the header page and the words, and none of the slots.
class RingWordsMap {
 public:
  // Errors: kDamaged for a file that has shrunk since it was opened; kSystem.
  static absl::StatusOr<RingWordsMap> attach(const OpenRing& ring);

  const RingWords& words() const;

 private:
  explicit RingWordsMap(boost::interprocess::mapped_region region);

  boost::interprocess::mapped_region region_;
};

}  // namespace lapwing
