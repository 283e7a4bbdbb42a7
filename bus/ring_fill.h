// Faults in the slots of a new ring, one part at a time, starting with the slots of its first
// records. So a publisher does not wait for the whole ring.
//
// The memory is already allocated (bus/ring_file.h). A slot that is not faulted in is usable, but
// the first access to its page takes a microsecond. Readers that attach in the meantime fault in
// only the existing pages (bus/ring_map.h).
//
// Thread safety: one thread at a time; others may already use the ring. Borrows the ring file.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "bus/ring_file.h"

namespace lapwing {

class RingFill {
 public:
  explicit RingFill(const RingFile& ring);

  // Faults in `bytes` more bytes, rounded up to whole pages, or all that remain. Other threads that
  // map memory wait in the meantime. Errors: kSystem.
  absl::Status step(std::uint64_t bytes);
  std::uint64_t left() const { return left_; }  // bytes

 private:
  const RingFile* ring_;
  std::uint64_t bytes_;  // of all slots
  std::uint64_t at_;     // offset of the next page in the slots
  std::uint64_t left_;
};

}  // namespace lapwing
