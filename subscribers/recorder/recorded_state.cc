#include "subscribers/recorder/recorded_state.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "lapwing/order_entry.h"
#include "snapshot/fold/order_fold.h"
#include "snapshot/schema/known_schemas.h"

namespace lapwing {
absl::Status RecordedState::add(const Fold& fold, std::span<const std::byte> entry) {
  const FoldShape& shape = fold.shape();
  if (entries_ == 0) {
    schema_ = known_schema_of_size(shape.schema, shape.record_bytes);
    if (dbn::find_schema(shape.schema) == nullptr) schema_.reset();
  }
  if (!schema_ || shape.entry_record_bytes != schema_->record_bytes) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("the state of fold `", shape.name, "` of schema `", shape.schema,
                                   "` is made of no records that a DBN file can hold: record "
                                   "from another start"));
  }
  ++entries_;
  if (shape.name == kFoldOrders) {
    add_order_entry(entry);
    return absl::OkStatus();
  }
  const std::size_t at = records_.size();
  records_.insert(records_.end(), entry.begin(), entry.begin() + schema_->record_bytes);
  if (const Field* const flags = schema_->find("flags")) {
    records_[at + flags->offset] |= std::byte{dbn::kFlagSnapshot};
  }
  return absl::OkStatus();
}

void RecordedState::add_order_entry(std::span<const std::byte> bytes) {
  OrderEntry entry;
  std::memcpy(&entry, bytes.data(), sizeof entry);
  if (entry.msg.action == dbn::Action::kNone) {  // comes first
    lost_through_ = entry.place;
    return;
  }
  if (entry.msg.action == dbn::Action::kClear) {  // comes before its orders
    end_book();
    stale_ = is_stale(entry, lost_through_);
    entry.msg.flags = 0;
    entry.msg.size = 0;
    entry.msg.order_id = 0;
    entry.place = 0;
  }
  entry.msg.flags |= dbn::kFlagSnapshot;
  if (stale_) entry.msg.flags |= dbn::kFlagMaybeBadBook;
  book_.push_back({entry.msg, entry.place});
}

void RecordedState::end_book() {
  if (book_.empty()) return;
  std::stable_sort(book_.begin(), book_.end(),
                   [](const Order& a, const Order& b) { return a.place < b.place; });
  book_.back().msg.flags |= dbn::kFlagLast;
  for (const Order& order : book_) {
    const auto bytes = std::as_bytes(std::span(&order.msg, 1));
    records_.insert(records_.end(), bytes.begin(), bytes.end());
  }
  book_.clear();
}

std::vector<std::byte> RecordedState::take_records() {
  end_book();
  entries_ = 0;
  return std::exchange(records_, {});
}

}  // namespace lapwing
