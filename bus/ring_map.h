// A reader's read-only mapping of a ring file, and a copy of its words for monitors. OpenRing
// checks a copy of the header first.
//
// Thread safety: const, any thread. Do not move or destroy it while another thread uses the
// mapping. The mapping is MADV_DONTFORK and stays valid when the file loses its name.
//
// The file's owner could truncate it while a reader uses it, which would end the reader with
// SIGBUS. The file's mode (0400) and its owner, the publisher's user, protect against that. A
// monitor, which maps rings of users that it does not trust, uses os/mapping_guard.h. With
// RingPages::kAtOnce, attach() faults in every page that the publisher has faulted in. A file that
// shrinks before that is an error.
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
  kAtOnce,    // reads never wait for a page
  kOnDemand,  // for a reader that uses few slots
};

class RingMap {
 public:
  // Opens and checks the file as OpenRing does, and maps it PROT_READ. Errors: those of
  // OpenRing::open; kDamaged if the file shrinks in the meantime.
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

// A copy of a ring's words, for monitors. It is read from the file and not mapped, so truncation by
// the owner is an error here instead of a SIGBUS.
//
// Each word is read whole, because the kernel copies aligned words of 8 bytes. The words are from
// different moments, as in a mapping.
class RingWordsCopy {
 public:
  // Errors: those of refresh().
  static absl::StatusOr<RingWordsCopy> read(const OpenRing& ring);

  // Reads the words again. Errors: kDamaged (the file has shrunk), kSystem. The copy is then
  // unchanged.
  absl::Status refresh(const OpenRing& ring);
  const RingWords& words() const { return *words_; }

 private:
  RingWordsCopy() : words_(std::make_unique<RingWords>()) {}

  std::unique_ptr<RingWords> words_;
};

}  // namespace lapwing
