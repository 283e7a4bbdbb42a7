// The source that a command follows: a subscriber, or a conflated reader on top of one. Both have
// the same read().
//
// Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "lapwing/conflation.h"
#include "lapwing/subscriber.h"

namespace lapwing {

class RecordSource {
 public:
  explicit RecordSource(Subscriber reader) : reader_(std::move(reader)) {}
  explicit RecordSource(ConflatedReader reader) : reader_(std::move(reader)) {}

  // Reads at most `rows_max` rows into this object's memory, or one event.
  Result<Batch> read(std::size_t rows_max, Deadline deadline) {
    for (;;) {
      const auto room = std::span(memory_).first(std::min(rows_max, kRows) * row_bytes_);
      Result<Batch> batch =
          std::visit([&](auto& reader) { return reader.read(room, deadline); }, reader_);
      if (batch == Errc::kTooSmall) {
        make_room(batch->row_bytes);
        continue;
      }
      rows_ = batch.ok() ? room.first(batch->count * batch->row_bytes) : room.first(0);
      if (batch.ok() && batch->event != nullptr) take_event(*batch->event);
      return batch;
    }
  }
  // The rows of the last batch. They are valid until the next read().
  std::span<const std::byte> rows() const { return rows_; }
  const absl::Status& status() const {
    return std::visit([](const auto& reader) -> const absl::Status& { return reader.status(); },
                      reader_);
  }
  // Use it for the position and the counters. A conflated reader may still hold records that this
  // subscriber has already delivered.
  const Subscriber& subscriber() const {
    if (const auto* conflated = std::get_if<ConflatedReader>(&reader_)) {
      return conflated->subscriber();
    }
    return std::get<Subscriber>(reader_);
  }
  bool is_conflated() const { return std::holds_alternative<ConflatedReader>(reader_); }

 private:
  static constexpr std::size_t kRows = 1024;

  void make_room(std::size_t row_bytes) {
    row_bytes_ = row_bytes;
    memory_.resize(std::max(memory_.size(), kRows * row_bytes));
  }
  // A state entry may be larger than a record. Every state ends with an event.
  void take_event(const Event& event) {
    const bool begins = event.kind == EventKind::kSession || event.kind == EventKind::kReset;
    if (begins) record_bytes_ = event.record_bytes;
    rows_ = {};
    make_room(record_bytes_);
  }

  std::variant<Subscriber, ConflatedReader> reader_;
  std::vector<std::byte> memory_;
  std::span<const std::byte> rows_;
  std::size_t record_bytes_ = 0;  // of the session
  std::size_t row_bytes_ = 0;     // of the rows to be read next
};

}  // namespace lapwing
