#include "bindings/c/batch.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "bindings/c/events.h"
#include "bindings/c/structs.h"

namespace lapwing::c {
namespace {

// The size without the event, which may be shorter or longer in a program compiled against another
// version.
constexpr std::size_t kBatchBytesMin = offsetof(lapwing_batch, event);

absl::Status invalid(const std::string& message) {
  return make_error(Errc::kInvalidArgument, message);
}

}  // namespace

absl::Status BatchOut::check(lapwing_batch* batch) {
  if (batch == nullptr) return invalid("batch is NULL; give its address");
  if (batch->struct_size < kBatchBytesMin) {
    return invalid(absl::StrCat("batch has struct_size ", batch->struct_size,
                                "; set it to sizeof before the call"));
  }
  batch->kind = LAPWING_BATCH_NOTHING;
  batch->count = 0;
  batch->first = 0;
  batch->row_bytes = 0;
  batch->flags = 0;
  if (batch->rows == nullptr && batch->rows_bytes != 0) {
    return invalid("batch.rows is NULL, and rows_bytes is not 0");
  }
  if (batch->rows_max == 0 && (batch->sequences != nullptr || batch->conflated != nullptr)) {
    return invalid(
        "batch has a column, but rows_max is 0. Set it to the number of rows of the column");
  }
  return absl::OkStatus();
}

std::span<std::uint64_t> BatchOut::conflated(std::vector<std::uint64_t>& instead) const {
  if (batch_.conflated != nullptr) return {batch_.conflated, batch_.rows_max};
  instead.resize(batch_.rows_max);
  return instead;
}

void BatchOut::set_head(const Batch& read) {
  batch_.kind = static_cast<std::uint32_t>(read.kind);
  batch_.count = read.count;
  batch_.first = read.first;
  batch_.row_bytes = read.row_bytes;
  if (read.event != nullptr) set_event(*read.event);
}

void BatchOut::set(const Batch& read) {
  set_head(read);
  if (read.kind != ItemKind::kRecord) return;
  for (std::size_t i = 0; batch_.sequences != nullptr && i < read.count; ++i) {
    batch_.sequences[i] = read.first + i;
  }
  // In a batch of more than one row, read.conflated is 0.
  for (std::size_t i = 0; batch_.conflated != nullptr && i < read.count; ++i) {
    batch_.conflated[i] = read.conflated;
  }
}

void BatchOut::set_sparse(const Batch& read, bool has_conflated) {
  set_head(read);
  if (read.kind != ItemKind::kRecord) return;
  batch_.flags |= LAPWING_BATCH_SPARSE;
  if (batch_.conflated != nullptr && !has_conflated) {
    std::fill_n(batch_.conflated, read.count, 0);
  }
}

void BatchOut::set_event(const Event& event) {
  const lapwing_event made = event_of(event);
  const std::size_t room = batch_.struct_size - kBatchBytesMin;
  std::memcpy(&batch_.event, &made, std::min(room, sizeof made));
}

}  // namespace lapwing::c
