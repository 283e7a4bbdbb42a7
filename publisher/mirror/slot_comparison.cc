#include "publisher/mirror/slot_comparison.h"

#include <algorithm>
#include <cstring>

#include "lapwing/detail/atomic_word.h"
#include "lapwing/error.h"
#include "os/page.h"
#include "proto/slot_stamp.h"
#include "snapshot/journal/sum_file.h"

namespace lapwing {

absl::Status SlotComparison::open(std::uint64_t segment) {
  if (segment_ == segment) return absl::OkStatus();
  file_.close();
  auto file = open_file(*journal_.disk, journal_.path(segment, "jnl"), {OpenMode::kRead});
  if (!file.ok() && errc_of(file.status()) != Errc::kNotFound) return file.status();
  if (file.ok()) file_ = *std::move(file);
  segment_ = segment;
  return absl::OkStatus();
}

absl::StatusOr<bool> SlotComparison::is_same(Sequence n, std::span<const std::byte> record) {
  const absl::Status opened = open(journal_.geometry.segment_of(n));
  if (!opened.ok()) return opened;
  if (!file_.valid()) return true;
  const auto read = journal_.disk->read_at(file_.get(), journal_.geometry.offset_of(n), slot_);
  if (!read.ok()) return read.status();
  Word stamp;
  std::memcpy(&stamp, slot_.data(), sizeof stamp);
  if (*read < slot_.size() || stamp != ready_stamp(n)) return true;
  if (std::ranges::equal(std::span(slot_).subspan(kStampBytes, record.size()), record)) return true;
  return is_damaged(n);
}

// Whether the block of n does not have the sum that covers n.
absl::StatusOr<bool> SlotComparison::is_damaged(Sequence n) const {
  const JournalGeometry& geometry = journal_.geometry;
  const std::uint64_t block = geometry.block_of(n);
  const Sequence first = geometry.block_first(block);
  const auto sums = open_file(*journal_.disk, journal_.path(geometry.segment_of(n), "sum"), {});
  if (!sums.ok()) return sums.status();
  SumEntry sum{};
  const auto bytes = std::as_writable_bytes(std::span(&sum, 1));
  auto read = journal_.disk->read_at(sums->get(), sum_offset(geometry, block), bytes);
  if (!read.ok()) return read.status();
  if (check_sum_entry(journal_.journal_id, block, sum, geometry) != SumState::kValid ||
      n - first >= sum.count) {
    return false;
  }
  Page page{};
  read = journal_.disk->read_at(file_.get(), geometry.offset_of(first), page.bytes);
  if (!read.ok()) return read.status();
  return !sum_matches(sum, page.bytes, geometry);
}

}  // namespace lapwing
