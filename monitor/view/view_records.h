// What a view shows of a bus whose records have no book: the newest record of each key, of the keys
// that were last heard of; of records without a key the newest one.
//
// Thread safety: one thread, the view's.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "lapwing/conflation.h"
#include "monitor/view/record_format.h"
#include "monitor/view/view_content.h"

namespace lapwing {

inline constexpr std::size_t kViewRecordsMax = 64;

// That of the description, or the same for all records.
ConflationKey view_key(const Schema* description);

class ViewRecords final : public ViewContent {
 public:
  ViewRecords();

  absl::Status take_state(std::span<const std::byte> entry, const Fold& fold) override;
  absl::Status take_records(Sequence first, std::span<const std::byte> rows,
                            std::size_t record_bytes) override;
  void take_event(const Event& event, bool is_skipped) override;
  bool is_settled() const override { return true; }
  Sequence sequence() const override { return sequence_; }
  void add_to(nlohmann::ordered_json& message, const std::string& instrument) override;

 private:
  void put(Sequence sequence, std::span<const std::byte> record);

  struct Kept {
    std::string key;
    Sequence sequence = kNoSequence;  // kNoSequence: of a state, which does not say
    std::vector<std::byte> record;
  };

  std::shared_ptr<const Schema> description_;
  ConflationKey key_;
  RecordFormat format_;
  std::deque<Kept> records_;  // one of each key, the newest last
  Sequence sequence_ = kNoSequence;
};

}  // namespace lapwing
