// What a view has made of the records of a bus: the part of its messages that depends on what the
// records are.
//
// Thread safety: one thread, the view's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "lapwing/fold.h"
#include "lapwing/sequence.h"
#include "lapwing/subscriber.h"

namespace lapwing {

class ViewContent {
 public:
  virtual ~ViewContent() = default;

  // An entry of a state, or records laid end to end. Errors: kRecordSize; kLimit, where it would
  // take more memory than a view may.
  virtual absl::Status take_state(std::span<const std::byte> entry, const Fold& fold) = 0;
  virtual absl::Status take_records(Sequence first, std::span<const std::byte> rows,
                                    std::size_t record_bytes) = 0;
  // `is_skipped`: of a gap, whose records do not come.
  virtual void take_event(const Event& event, bool is_skipped) = 0;

  // False while it would show half of what belongs together.
  virtual bool is_settled() const = 0;
  // The last record that it shows; kNoSequence: none yet.
  virtual Sequence sequence() const = 0;

  // Before the messages of one moment.
  virtual void prepare() {}
  // The keys `instruments`, `instruments_total`, `book`, `trades`, `records` and `quotes`. `instrument` is
  // what was asked for; empty: the one with most records.
  virtual void add_to(nlohmann::ordered_json& message, const std::string& instrument) = 0;
};

}  // namespace lapwing
