// A batch in the caller's memory. Subscribers and histories fill it.
#pragma once

#include <lapwing.h>
#include <nanobind/nanobind.h>
#include <native/call.h>

#include <algorithm>
#include <cstddef>

namespace lapwing_python {

// Rows are written to `rows`. It may be None, since events need no memory, and so may the columns.
class Batch {
 public:
  Batch(nb::handle rows, nb::handle sequences, nb::handle conflated, RowCheck& check)
      : rows_("memory", rows, Memory::Access::kWriteOrNone, check),
        sequences_("sequences", sequences, Memory::Access::kWriteOrNone),
        conflated_("conflated", conflated, Memory::Access::kWriteOrNone) {
    batch.struct_size = sizeof batch;
    batch.rows = rows_.data();
    batch.rows_bytes = rows_.bytes();
    batch.sequences = sequences_.column();
    batch.conflated = conflated_.column();
    if (batch.sequences != nullptr) batch.rows_max = sequences_.column_rows();
    if (batch.conflated != nullptr) {
      const std::size_t most = conflated_.column_rows();
      batch.rows_max = batch.sequences == nullptr ? most : std::min(batch.rows_max, most);
    }
  }

  // (kind, count, first, row_bytes, is_sparse, event). `kind` is LAPWING_BATCH_…; `event` is an
  // Event or None.
  nb::tuple result() const {
    const bool is_event = batch.kind == LAPWING_BATCH_EVENT;
    return nb::make_tuple(batch.kind, batch.count, batch.first, batch.row_bytes,
                          (batch.flags & LAPWING_BATCH_SPARSE) != 0,
                          is_event ? nb::cast(batch.event) : nb::object(nb::none()));
  }

  lapwing_batch batch = {};

 private:
  Memory rows_;
  Memory sequences_;
  Memory conflated_;
};

constexpr const char* kReadSignature =
    "def read(self, rows: object, sequences: object, conflated: object, timeout_ns: int) -> "
    "tuple[int, int, int, int, bool, Event | None]";

}  // namespace lapwing_python
