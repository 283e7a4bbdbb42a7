// Writing into a ring file: its SlotWriter, and the store of records whose size is known at run time
// only.
//
// Thread safety: as SlotWriter. What is made borrows the mapping of the RingFile.
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

// SlotWriter::store of writer.record_bytes() bytes.
inline void store_record(const detail::SlotWriter& writer, Sequence n, const std::byte* record) {
  writer.prefetch(n);
  SlotForm::store_slot(writer.slot(n), n, record, writer.record_bytes());
}
// The same for the sizes that need no call; false, and nothing is stored, for others.
[[gnu::always_inline]] inline bool store_record_inline(const detail::SlotWriter& writer, Sequence n,
                                                       const std::byte* record) {
  writer.prefetch(n);
  return SlotForm::store_inline(writer.slot(n), n, record, writer.record_bytes());
}

}  // namespace lapwing
