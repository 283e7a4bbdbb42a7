// Measures the age of every Nth record that a subscriber delivers. The publish time is the field
// that is marked as such, or the field that the publisher restamps.
//
// It chooses the first record after each attachment, and then each first record
// whose sequence is at least N above the last chosen one. So callers need not count:
// they compare sequences with due().
//
// Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "lapwing/ages.h"
#include "lapwing/schema.h"
#include "lapwing/sequence.h"
#include "snapshot/schema/field_reader.h"
#include "snapshot/schema/record_clock.h"
#include "snapshot/schema/record_identity.h"

namespace lapwing {

class AgeMeter {
 public:
  static constexpr Sequence kNothingDue = std::numeric_limits<Sequence>::max();

  // 0: measures nothing.
  explicit AgeMeter(std::uint32_t every) : every_(every) {}

  // Call it before records with this identity follow, whether or not their sequences restart at 1.
  // If they are restamped and no field is marked, ages begin at `session_first`, because earlier
  // sessions may not have restamped their records.
  void attach(const RecordIdentity& records, Sequence session_first) {
    due_ = kNothingDue;
    if (every_ == 0 || records.description == nullptr) return;
    const Schema& schema = *records.description;
    const bool is_marked = schema.find(FieldRole::kPublishTime) != nullptr;
    const std::optional<std::uint32_t> offset = RecordClock(schema).stamp_offset();
    if (!offset || !(is_marked || records.is_restamped)) return;
    due_ = is_marked ? 1 : session_first;
    time_offset_ = *offset;
    record_bytes_ = schema.record_bytes;
    if (!ages_) ages_.emplace();
  }

  // The first record at or above this sequence is chosen next.
  Sequence due() const { return due_; }

  // Records first, first + 1, … are being delivered at `now_ns` UTC. `rows` holds them, contiguous.
  void measure(Sequence first, std::span<const std::byte> rows, std::uint64_t now_ns) {
    if (due_ == kNothingDue) return;
    const Sequence end = first + rows.size() / record_bytes_;
    for (Sequence n = std::max(first, due_); n < end; n += every_) {
      const std::uint64_t at = (n - first) * record_bytes_ + time_offset_;
      ages_->add(load_at<std::uint64_t>(rows, at), now_ns);
      due_ = n + every_;
    }
  }

  // nullopt until records with a publish time are attached.
  const std::optional<Ages>& ages() const { return ages_; }

 private:
  const std::uint64_t every_;
  Sequence due_ = kNothingDue;
  std::uint32_t time_offset_ = 0;
  std::uint32_t record_bytes_ = 0;
  std::optional<Ages> ages_;
};

}  // namespace lapwing
