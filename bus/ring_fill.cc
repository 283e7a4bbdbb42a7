#include "bus/ring_fill.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "os/mapping.h"
#include "os/system_error.h"

namespace lapwing {

RingFill::RingFill(const RingFile& ring)
    : ring_(&ring),
      bytes_(ring.header().capacity * ring.header().slot_bytes),
      at_(static_cast<std::uint64_t>(ring.slot(ring.header().session_first_sequence) -
                                     ring.slots()) /
          kPageBytes * kPageBytes),
      left_(bytes_) {}

absl::Status RingFill::step(std::uint64_t bytes) {
  bytes = std::min((bytes + kPageBytes - 1) / kPageBytes * kPageBytes, left_);
  while (bytes > 0) {
    const std::uint64_t part = std::min(bytes, bytes_ - at_);
    if (const int failure = populate_for_writing(ring_->slots() + at_, part); failure != 0) {
      return make_system_error(failure, absl::StrCat("populating the ring ", ring_->path()));
    }
    at_ = (at_ + part) % bytes_;
    left_ -= part;
    bytes -= part;
  }
  return absl::OkStatus();
}

}  // namespace lapwing
