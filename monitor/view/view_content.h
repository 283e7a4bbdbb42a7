// The content that a view creates from a bus's records: the part of its messages that depends on
// the kind of records.
//
// Thread safety: the view's thread.
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

  // Takes a state entry, or contiguous records. Errors: kRecordSize; kLimit if more memory would be
  // used than a view may use.
  virtual absl::Status take_state(std::span<const std::byte> entry, const Fold& fold) = 0;
  virtual absl::Status take_records(Sequence first, std::span<const std::byte> rows,
                                    std::size_t record_bytes) = 0;
  // `is_skipped`: the event is a gap whose records are not delivered.
  virtual void take_event(const Event& event, bool is_skipped) = 0;

  // False while some records that belong together have not been taken yet.
  virtual bool is_settled() const = 0;
  // The last record shown; kNoSequence: none yet.
  virtual Sequence sequence() const = 0;

  // Called before the messages of one interval.
  virtual void prepare() {}
  // Adds the keys `instruments`, `instruments_total`, `book`, `trades`, `records` and `quotes`.
  // `instrument` is the requested one; empty: the one with the most records.
  virtual void add_to(nlohmann::ordered_json& message, const std::string& instrument) = 0;
};

}  // namespace lapwing
