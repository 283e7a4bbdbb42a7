// All that a publish touches besides the slot and the ring's head: one cache line.
//
// Thread safety: the publishing thread's, but for the attention word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "lapwing/detail/attention_word.h"
#include "lapwing/detail/slot_writer.h"
#include "lapwing/sequence.h"

namespace lapwing::detail {

// A record as bytes, its padding included.
template <std::size_t kBytes>
struct RecordBytes {
  std::byte bytes[kBytes];
};

struct alignas(64) PublishPath {
  SlotWriter writer;
  Sequence head;
  Sequence limit;  // what the gate last allowed; 0 while, and once, nothing may be published
  AttentionWord attention;
  // record_tag() of the type that was published last; the size of a record before the first one.
  std::uint32_t accepted_tag;

  // Whether the next record may be stored without a look at anything else.
  bool admits_next() const { return head < limit; }
  // A record of writer.record_bytes() bytes, where it admits_next(). The caller then looks at
  // `attention`.
  template <typename Record>
  [[gnu::always_inline]] Sequence publish(const Record& record) {
    static_assert(std::is_trivially_copyable_v<Record>);
    const Sequence n = head + 1;
    writer.store<sizeof(Record)>(n, reinterpret_cast<const std::byte*>(&record));
    return announce(n);
  }
  // Once record n is in its slot.
  [[gnu::always_inline]] Sequence announce(Sequence n) {
    head = n;
    writer.move_head(n);
    return n;
  }
};
static_assert(sizeof(PublishPath) == 64);

}  // namespace lapwing::detail
