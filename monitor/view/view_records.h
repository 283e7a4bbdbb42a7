// The view of a bus whose records have no book: the newest record of each of the most recently
// updated keys. If records have no key, it shows only the newest record.
//
// Thread safety: the view's thread.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "lapwing/conflation.h"
#include "monitor/view/record_content.h"

namespace lapwing {

inline constexpr std::size_t kViewRecordsMax = 64;

// The description's key, or a single key for all records.
ConflationKey view_key(const Schema* description);

class ViewRecords final : public RecordContent {
 public:
  ViewRecords();

  void add_to(nlohmann::ordered_json& message, const std::string& instrument) override;

 private:
  absl::Status put(Sequence sequence, std::span<const std::byte> record) override;
  void forget_records() override { records_.clear(); }
  void begin_session(const Event& session) override;

  struct Kept {
    std::string key;
    Sequence sequence = kNoSequence;  // kNoSequence: from a state without sequences
    std::vector<std::byte> record;
  };

  ConflationKey key_;
  std::deque<Kept> records_;  // one per key, the newest last
};

}  // namespace lapwing
