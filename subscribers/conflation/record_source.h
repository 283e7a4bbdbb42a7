// What a command follows: a subscriber, or a conflated reader of one. Both read alike.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "lapwing/conflation.h"
#include "lapwing/subscriber.h"

namespace lapwing {

class RecordSource {
 public:
  explicit RecordSource(Subscriber reader) : reader_(std::move(reader)) {}
  explicit RecordSource(ConflatedReader reader) : reader_(std::move(reader)) {}

  Result<Batch> read(std::span<std::byte> rows, Deadline deadline) {
    return std::visit([&](auto& reader) { return reader.read(rows, deadline); }, reader_);
  }
  const absl::Status& status() const {
    return std::visit([](const auto& reader) -> const absl::Status& { return reader.status(); },
                      reader_);
  }
  // Position and counters. A conflated reader may still hold records that this one has delivered.
  const Subscriber& subscriber() const {
    if (const auto* conflated = std::get_if<ConflatedReader>(&reader_)) {
      return conflated->subscriber();
    }
    return std::get<Subscriber>(reader_);
  }
  bool is_conflated() const { return std::holds_alternative<ConflatedReader>(reader_); }

 private:
  std::variant<Subscriber, ConflatedReader> reader_;
};

}  // namespace lapwing
