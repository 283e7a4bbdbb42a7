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
namespace {

// The offset of the flags, such as SNAPSHOT, in DBN records. nullopt for a schema that Lapwing does
// not ship, because its flags may mean something else.
std::optional<std::uint32_t> flags_of_dbn(const FoldShape& shape) {
  const std::optional<Schema> schema = known_schema_of_size(shape.schema, shape.record_bytes);
  const Field* const flags = schema ? schema->find("flags") : nullptr;
  return flags == nullptr ? std::nullopt : std::optional(flags->offset);
}

}  // namespace

absl::Status RecordedState::add(const Fold& fold, std::span<const std::byte> entry) {
  const FoldShape& shape = fold.shape();
  if (shape.entry_record_bytes == 0 || shape.entry_record_bytes != shape.record_bytes) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("the state of fold `", shape.name, "` of schema `", shape.schema,
                                   "` is not made of records of its bus, so no recording can "
                                   "begin with it: record from another start"));
  }
  if (entries_ == 0) flags_ = flags_of_dbn(shape);
  ++entries_;
  if (shape.name == kFoldOrders && shape.schema == dbn::kSchemaMbo) {
    add_order_entry(entry);
    return absl::OkStatus();
  }
  const std::size_t at = records_.size();
  records_.insert(records_.end(), entry.begin(), entry.begin() + shape.record_bytes);
  if (flags_) records_[at + *flags_] |= std::byte{dbn::kFlagSnapshot};
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
