#include "monitor/view/record_content.h"

namespace lapwing {

absl::Status RecordContent::take_state(std::span<const std::byte> entry, const Fold& fold) {
  const std::size_t record_bytes = fold.shape().entry_record_bytes;
  if (record_bytes == 0 || record_bytes > entry.size()) return absl::OkStatus();
  return put(fold.place_of(entry), entry.first(record_bytes));
}

absl::Status RecordContent::take_records(Sequence first, std::span<const std::byte> rows,
                                         std::size_t record_bytes) {
  for (std::size_t at = 0; at < rows.size(); at += record_bytes) {
    sequence_ = first++;
    const absl::Status put_in = put(sequence_, rows.subspan(at, record_bytes));
    if (!put_in.ok()) return put_in;
  }
  return absl::OkStatus();
}

void RecordContent::take_event(const Event& event, bool) {
  if (event.kind == EventKind::kSnapshotComplete) sequence_ = event.sequence;
  if (event.kind != EventKind::kSession && event.kind != EventKind::kReset) return;
  const bool is_same =
      description_ == event.schema ||
      (description_ != nullptr && event.schema != nullptr && *description_ == *event.schema);
  if (event.kind == EventKind::kReset || !is_same) {
    forget_records();
    sequence_ = kNoSequence;
  }
  description_ = event.schema;
  format_ = RecordFormat(description_);
  begin_session(event);
}

nlohmann::ordered_json RecordContent::record_json(Sequence sequence,
                                                  std::span<const std::byte> record) const {
  nlohmann::ordered_json json = format_.json(sequence, record);
  if (sequence == kNoSequence) json["seq"] = nullptr;
  return json;
}

void RecordContent::add_no_book(nlohmann::ordered_json& message) {
  message["instruments"] = nlohmann::ordered_json::array();
  message["instruments_total"] = 0;
  message["book"] = nullptr;
  message["trades"] = nlohmann::ordered_json::array();
}

}  // namespace lapwing
