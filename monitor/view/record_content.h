// The common part of the record view and the quote view: the records'
// session, and the view's position.
//
// Thread safety: the view's thread.
#pragma once

#include <cstddef>
#include <memory>

#include "monitor/view/record_format.h"
#include "monitor/view/view_content.h"

namespace lapwing {

class RecordContent : public ViewContent {
 public:
  absl::Status take_state(std::span<const std::byte> entry, const Fold& fold) final;
  absl::Status take_records(Sequence first, std::span<const std::byte> rows,
                            std::size_t record_bytes) final;
  void take_event(const Event& event, bool is_skipped) final;
  bool is_settled() const final { return true; }
  Sequence sequence() const final { return sequence_; }

  // Adds the message's book keys, but without a book.
  static void add_no_book(nlohmann::ordered_json& message);

 protected:
  // `sequence` is kNoSequence for a record from a state that does not contain sequences.
  virtual absl::Status put(Sequence sequence, std::span<const std::byte> record) = 0;
  virtual void forget_records() = 0;
  // The next records are of this session. Earlier ones stay, except after forget_records().
  virtual void begin_session(const Event& session) = 0;

  // Null: the records are not described.
  const std::shared_ptr<const Schema>& description() const { return description_; }
  nlohmann::ordered_json record_json(Sequence sequence, std::span<const std::byte> record) const;

 private:
  std::shared_ptr<const Schema> description_;
  RecordFormat format_;
  Sequence sequence_ = kNoSequence;
};

}  // namespace lapwing
