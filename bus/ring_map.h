// A reader's mapping of a ring file, read-only, and a copy of its words for monitors. OpenRing checks
// a copy of the header before that.
//
// Thread safety: const, any thread; not to be moved or destroyed while another thread uses the
// mapping. The mapping is MADV_DONTFORK and stays valid when the file loses its name.
//
// The file's owner could truncate it under a reader, which would then die of SIGBUS; its mode
// (0400) and its owner, the publisher's user, are what guards against that. A monitor, which maps
// rings of users that it does not trust, uses os/mapping_guard.h. With RingPages::kAtOnce, attach()
// faults in every page that the publisher has faulted in. A file that shrinks before that is an
// error.
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bus/open_ring.h"
#include "os/mapping_guard.h"
#include "proto/ring_layout.h"

namespace lapwing {

enum class RingPages {
  kAtOnce,    // no read waits for a page
  kOnDemand,  // for a reader of few slots
};

class RingMap {
 public:
  // Opens and checks the file as OpenRing does, and maps it PROT_READ. Errors: those of
  // OpenRing::open; kDamaged for a file that shrinks meanwhile.
  static absl::StatusOr<RingMap> attach(const std::string& path);
  static absl::StatusOr<RingMap> attach(const OpenRing& ring, RingPages pages = RingPages::kAtOnce);

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
  GuardedRange guard_;  // of the region
};

// A copy of a ring's words, for monitors. It is read from the file and not mapped: a file that its
// owner truncates is an error here, and would be a SIGBUS in a mapping.
//
// Each word is read whole: the kernel copies aligned words of 8 bytes. The words are of different
// moments, as they are in a mapping.
class RingWordsCopy {
 public:
  // Errors: those of refresh().
  static absl::StatusOr<RingWordsCopy> read(const OpenRing& ring);

  // Reads them again. Errors: kDamaged (the file has shrunk), kSystem; then the copy is as it was.
  absl::Status refresh(const OpenRing& ring);
  const RingWords& words() const { return *words_; }

 private:
  RingWordsCopy() : words_(std::make_unique<RingWords>()) {}

  std::unique_ptr<RingWords> words_;
};

}  // namespace lapwing
