// Writes to a ring file: makes its SlotWriter, and stores records whose size is known only at run
// time.
//
// Thread safety: as for SlotWriter. The SlotWriter borrows the mapping of the RingFile.
#pragma once

#include <cstddef>

#include "bus/ring_file.h"
#include "lapwing/detail/slot_writer.h"
#include "proto/slot_form.h"

namespace lapwing {

inline detail::SlotWriter writer_of(const RingFile& file) {
  const RingHeader& header = file.header();
  return {file.slots(), file.words().head.value, header.capacity, header.slot_bytes,
          header.record_bytes};
}

// Like SlotWriter::store, for writer.record_bytes() bytes.
inline void store_record(const detail::SlotWriter& writer, Sequence n, const std::byte* record) {
  writer.prefetch(n);
  SlotForm::store_slot(writer.slot(n), n, record, writer.record_bytes());
}
// The same for the sizes that need no call. For other sizes, returns false and stores nothing.
[[gnu::always_inline]] inline bool store_record_inline(const detail::SlotWriter& writer, Sequence n,
                                                       const std::byte* record) {
  writer.prefetch(n);
  return SlotForm::store_inline(writer.slot(n), n, record, writer.record_bytes());
}

}  // namespace lapwing
