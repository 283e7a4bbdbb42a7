#include "monitor/view/view_records.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "lapwing/error.h"

namespace lapwing {

ConflationKey view_key(const Schema* description) {
  if (description != nullptr) {
    absl::StatusOr<ConflationKey> key = latest_key(*description);
    if (key.ok()) return *std::move(key);
  }
  return {.key_bytes = 1, .of = [](std::span<const std::byte>, std::span<std::byte> key) {
            key[0] = std::byte{0};
          }};
}

ViewRecords::ViewRecords() : key_(view_key(nullptr)) {}

absl::Status ViewRecords::take_state(std::span<const std::byte> entry, const Fold& fold) {
  const std::size_t record_bytes = fold.shape().entry_record_bytes;
  if (record_bytes == 0 || record_bytes > entry.size()) return absl::OkStatus();
  put(fold.place_of(entry), entry.first(record_bytes));
  return absl::OkStatus();
}

absl::Status ViewRecords::take_records(Sequence first, std::span<const std::byte> rows,
                                       std::size_t record_bytes) {
  for (std::size_t at = 0; at < rows.size(); at += record_bytes) {
    sequence_ = first++;
    put(sequence_, rows.subspan(at, record_bytes));
  }
  return absl::OkStatus();
}

void ViewRecords::put(Sequence sequence, std::span<const std::byte> record) {
  std::string key(key_.key_bytes, '\0');
  key_.of(record, std::as_writable_bytes(std::span(key)));
  const auto same = [&](const Kept& kept) { return kept.key == key; };
  const auto before = std::ranges::find_if(records_, same);
  if (before != records_.end()) records_.erase(before);
  records_.push_back({std::move(key), sequence, {record.begin(), record.end()}});
  if (records_.size() > kViewRecordsMax) records_.pop_front();
}

void ViewRecords::take_event(const Event& event, bool) {
  if (event.kind == ItemKind::kSnapshotComplete) sequence_ = event.sequence;
  if (event.kind != ItemKind::kSession && event.kind != ItemKind::kReset) return;
  const bool is_same = description_ == event.description ||
                       (description_ != nullptr && event.description != nullptr &&
                        *description_ == *event.description);
  if (event.kind == ItemKind::kReset || !is_same) {
    records_.clear();
    sequence_ = kNoSequence;
  }
  description_ = event.description;
  key_ = view_key(description_.get());
  format_ = RecordFormat(description_);
}

void ViewRecords::add_to(nlohmann::ordered_json& message, const std::string&) {
  message["instruments"] = nlohmann::ordered_json::array();
  message["instruments_total"] = 0;
  message["book"] = nullptr;
  message["trades"] = nlohmann::ordered_json::array();
  auto records = nlohmann::ordered_json::array();
  for (const Kept& kept : records_) {
    nlohmann::ordered_json record = format_.json(kept.sequence, kept.record);
    if (kept.sequence == kNoSequence) record["seq"] = nullptr;
    records.push_back(std::move(record));
  }
  message["records"] = std::move(records);
  message["quotes"] = nullptr;
}

}  // namespace lapwing
