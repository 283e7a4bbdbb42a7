// The caller's batch: checks its memory, and writes results into it.
//
// Thread safety: that of the handle that fills it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "bindings/c/call.h"
#include "lapwing.h"
#include "lapwing/subscriber.h"

namespace lapwing::c {

class BatchOut {
 public:
  // Checks the batch and clears its outputs. Errors: kInvalidArgument.
  static absl::Status check(lapwing_batch* batch);
  // `batch` must have passed check().
  explicit BatchOut(lapwing_batch& batch) : batch_(batch) {}

  // Returns the memory for rows of that size. If the size is unknown (0), returns all of it.
  std::span<std::byte> room(std::uint32_t row_bytes) const {
    std::size_t bytes = batch_.rows_bytes;
    if (batch_.rows_max != 0 && row_bytes != 0) {
      bytes = std::min(bytes, rows_max(row_bytes) * row_bytes);
    }
    return {static_cast<std::byte*>(batch_.rows), bytes};
  }
  std::size_t rows_max(std::uint32_t row_bytes) const {
    const std::size_t fit = batch_.rows_bytes / row_bytes;
    return batch_.rows_max == 0 ? fit : std::min(fit, batch_.rows_max);
  }

  // Returns the sequence column. Empty if the caller has none.
  std::span<Sequence> sequences() const {
    return {batch_.sequences, batch_.sequences == nullptr ? 0 : batch_.rows_max};
  }
  // Returns the column of conflated counts, or `instead` if the caller has none.
  std::span<std::uint64_t> conflated(std::vector<std::uint64_t>& instead) const;

  // After a failed read: sets the row size, or 0.
  void set_row_bytes(std::uint32_t row_bytes) { batch_.row_bytes = row_bytes; }
  // Sets the result of a read, whose rows are in room().
  void set(const Batch& read);
  // The same for a read that has filled the column of sequences, and if `has_conflated` is true,
  // also the column of conflated counts.
  void set_sparse(const Batch& read, bool has_conflated);

 private:
  void set_head(const Batch& read);
  void set_event(const Event& event);

  lapwing_batch& batch_;
};

}  // namespace lapwing::c
