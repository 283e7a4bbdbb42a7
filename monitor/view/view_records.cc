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

absl::Status ViewRecords::put(Sequence sequence, std::span<const std::byte> record) {
  std::string key(key_.key_bytes, '\0');
  key_.of(record, std::as_writable_bytes(std::span(key)));
  const auto same = [&](const Kept& kept) { return kept.key == key; };
  const auto before = std::ranges::find_if(records_, same);
  if (before != records_.end()) records_.erase(before);
  records_.push_back({std::move(key), sequence, {record.begin(), record.end()}});
  if (records_.size() > kViewRecordsMax) records_.pop_front();
  return absl::OkStatus();
}

void ViewRecords::begin_session(const Event& session) {
  key_ = view_key(session.schema.get());
}

void ViewRecords::add_to(nlohmann::ordered_json& message, const std::string&) {
  add_no_book(message);
  auto records = nlohmann::ordered_json::array();
  for (const Kept& kept : records_) records.push_back(record_json(kept.sequence, kept.record));
  message["records"] = std::move(records);
  message["quotes"] = nullptr;
}

}  // namespace lapwing
