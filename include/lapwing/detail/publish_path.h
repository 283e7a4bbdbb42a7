// One cache line with everything that a publish accesses besides the slot and the ring's head.
//
// Thread safety: for the publishing thread only, except for the attention word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "lapwing/detail/attention_word.h"
#include "lapwing/detail/slot_writer.h"
#include "lapwing/sequence.h"

namespace lapwing::detail {

// A record as bytes, including its padding.
template <std::size_t kBytes>
struct RecordBytes {
  std::byte bytes[kBytes];
};

struct alignas(64) PublishPath {
  SlotWriter writer;
  Sequence head;
  Sequence limit;  // last sequence allowed by the journal gate; 0: nothing may be published
  AttentionWord attention;
  // record_tag() of the last published type; before the first record, the record size.
  std::uint32_t accepted_tag;

  // Returns whether the next record may be stored without any other check.
  bool admits_next() const { return head < limit; }
  // Publishes a record of writer.record_bytes() bytes. Precondition: admits_next(). The caller must
  // then check `attention`.
  template <typename Record>
  [[gnu::always_inline]] Sequence publish(const Record& record) {
    static_assert(std::is_trivially_copyable_v<Record>);
    const Sequence n = head + 1;
    writer.store<sizeof(Record)>(n, reinterpret_cast<const std::byte*>(&record));
    return announce(n);
  }
  // Call it once record n is in its slot.
  [[gnu::always_inline]] Sequence announce(Sequence n) {
    head = n;
    writer.move_head(n);
    return n;
  }
};
static_assert(sizeof(PublishPath) == 64);

}  // namespace lapwing::detail
