// Faults in the slots of a new ring, a part at a time, beginning with the slots of its first records.
// So a publisher does not wait for all of it.
//
// The memory is allocated before (bus/ring_file.h): a slot that is not faulted in is as good as any
// other, but the first access to its page takes a microsecond. Readers that attach meanwhile fault in
// what is there (bus/ring_map.h).
//
// Thread safety: one thread at a time; others may use the ring meanwhile. Borrows the ring file.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "bus/ring_file.h"

namespace lapwing {

class RingFill {
 public:
  explicit RingFill(const RingFile& ring);

  // Faults in so many more bytes, whole pages, or what is left. Another thread that maps memory
  // waits for that long. Errors: kSystem.
  absl::Status step(std::uint64_t bytes);
  std::uint64_t left() const { return left_; }  // bytes

 private:
  const RingFile* ring_;
  std::uint64_t bytes_;  // of all slots
  std::uint64_t at_;     // in the slots: what comes next
  std::uint64_t left_;
};

}  // namespace lapwing
