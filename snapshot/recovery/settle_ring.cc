#include "snapshot/recovery/settle_ring.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "proto/ring_words.h"
#include "proto/slot_form.h"
#include "snapshot/archive/segment_preparation.h"
#include "snapshot/journal/segment_file.h"
#include "snapshot/journal/sum_file.h"

namespace lapwing {

bool RingTail::take_from_ring(Sequence n, std::byte* slot) const {
  const RingHeader& header = ring_.header;
  if (n < header.ring_first_sequence) return false;
  const std::byte* const in_ring =
      ring_.slots + ((n - 1) & (header.capacity - 1)) * header.slot_bytes;
  const SlotReadResult read =
      SlotForm::load_slot(in_ring, n, slot + kStampBytes, header.record_bytes);
  if (read.outcome != SlotRead::kRecord) return false;
  const Word stamp = ready_stamp(n);
  std::memcpy(slot, &stamp, sizeof stamp);
  return true;
}

absl::Status RingTail::load_disk_block(std::uint64_t block) {
  const Sequence first = files_.geometry.block_first(block);
  const std::uint64_t segment = files_.geometry.segment_of(first);
  disk_block_.reset();
  disk_page_ = {};
  if (disk_segment_ != segment) {
    disk_file_.close();
    auto file = open_file(*files_.disk, files_.path(segment, "jnl"), {OpenMode::kRead});
    if (!file.ok() && errc_of(file.status()) != Errc::kNotFound) return file.status();
    if (file.ok()) disk_file_ = *std::move(file);
    disk_segment_ = segment;
  }
  if (disk_file_.valid()) {
    const auto read =
        files_.disk->read_at(disk_file_.get(), files_.geometry.offset_of(first), disk_page_.bytes);
    if (!read.ok()) return read.status();
    // Ignore a partial slot at the end of a truncated file.
    const std::size_t half = *read % files_.geometry.slot_bytes;
    std::fill_n(disk_page_.bytes.data() + *read - half, half, std::byte{0});
  }
  disk_block_ = block;
  return absl::OkStatus();
}

absl::StatusOr<bool> RingTail::take_from_disk(Sequence n, std::byte* slot) {
  const JournalGeometry& geometry = files_.geometry;
  const std::uint64_t block = geometry.block_of(n);
  if (disk_block_ != block) {
    const absl::Status loaded = load_disk_block(block);
    if (!loaded.ok()) return loaded;
  }
  const std::byte* const on_disk =
      disk_page_.bytes.data() + (n - geometry.block_first(block)) * geometry.slot_bytes;
  Word stamp;
  std::memcpy(&stamp, on_disk, sizeof stamp);
  if (stamp != ready_stamp(n)) return false;
  std::memcpy(slot, on_disk, geometry.slot_bytes);
  return true;
}

absl::StatusOr<bool> RingTail::take(Sequence n, std::byte* slot) {
  if (take_from_ring(n, slot)) return true;
  if (n > load_head(*ring_.words)) return false;
  return take_from_disk(n, slot);
}

absl::StatusOr<Sequence> RingTail::find_end(Sequence durable) {
  Page slot;
  for (Sequence n = durable + 1;; ++n) {
    const auto there = take(n, slot.bytes.data());
    if (!there.ok()) return there.status();
    if (!*there) return n - 1;
  }
}

// Composes one block to write to disk: its records up to `last`, then zeros.
absl::Status RingTail::compose(std::uint64_t block, Sequence last, Page& page,
                               std::uint32_t& count) {
  const JournalGeometry& geometry = files_.geometry;
  const Sequence first = geometry.block_first(block);
  page = {};
  count = static_cast<std::uint32_t>(std::min(geometry.block_slots(), last - first + 1));
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto there = take(first + i, page.bytes.data() + std::size_t{i} * geometry.slot_bytes);
    if (!there.ok()) return there.status();
    const bool is_absent = std::ranges::any_of(
        absent_, [&](const AbsentRange& range) { return range.contains(first + i); });
    if (!*there && !is_absent) {
      return make_error(Errc::kDamaged,
                        absl::StrCat("sequence ", first + i, " is neither in the ring file nor in ",
                                     files_.path(geometry.segment_of(first), "jnl")));
    }
  }
  return absl::OkStatus();
}

absl::Status RingTail::write_segment(std::uint64_t segment, std::uint64_t first_block,
                                     std::uint64_t last_block, Sequence last) {
  Disk& disk = *files_.disk;
  const JournalGeometry& geometry = files_.geometry;
  const auto jnl = open_file(disk, files_.path(segment, "jnl"), {OpenMode::kReadWrite});
  if (!jnl.ok()) return jnl.status();
  const auto sum = open_file(disk, files_.path(segment, "sum"), {OpenMode::kReadWrite});
  if (!sum.ok()) return sum.status();
  // Restores the size of a truncated file.
  absl::Status status = disk.allocate(jnl->get(), segment_file_bytes(geometry));
  if (!status.ok()) return status;
  std::vector<SumEntry> sums;
  for (std::uint64_t block = first_block; block <= last_block; ++block) {
    Page page;
    std::uint32_t count = 0;
    status = compose(block, last, page, count);
    if (status.ok()) {
      status =
          disk.write_at(jnl->get(), geometry.offset_of(geometry.block_first(block)), page.bytes);
    }
    if (!status.ok()) return status;
    sums.push_back(make_sum(files_.journal_id, block,
                            std::span(page.bytes).first(std::size_t{count} * geometry.slot_bytes),
                            count));
  }
  status = disk.sync(jnl->get());
  if (status.ok()) {
    status = disk.write_at(sum->get(), sum_offset(geometry, first_block),
                           std::as_bytes(std::span(sums)));
  }
  if (status.ok()) status = disk.sync(sum->get());
  return status;
}

absl::Status RingTail::write(Sequence durable, Sequence last, const SchemaLabel& schema,
                             std::uint64_t wall_ns) {
  Disk& disk = *files_.disk;
  const JournalGeometry& geometry = files_.geometry;
  const SegmentOptions options{.journal = files_, .schema = schema, .try_direct_io = false};
  if (last <= durable) return absl::OkStatus();
  // The killed publisher may not have synced the name of its newest segment. Sums must not reach
  // the disk if a power cut can still remove their segment.
  if (absl::Status synced = disk.sync_directory(files_.directory);
      !synced.ok() && errc_of(synced) != Errc::kNotFound) {
    return synced;
  }
  const std::uint64_t last_block = geometry.block_of(last);
  for (std::uint64_t block = geometry.block_of(durable + 1); block <= last_block;) {
    const std::uint64_t segment = geometry.segment_of(geometry.block_first(block));
    const std::uint64_t segment_end = (segment + 1) * geometry.blocks_per_segment();
    const std::uint64_t until = std::min(last_block, segment_end - 1);
    const auto there = disk.exists(files_.path(segment, "jnl"));
    if (!there.ok()) return there.status();
    absl::Status status = *there ? absl::OkStatus() : create_segment(options, segment, wall_ns);
    if (status.ok()) status = write_segment(segment, block, until, last);
    if (!status.ok()) return status;
    block = until + 1;
  }
  // A segment may have received its name just before the publisher was killed.
  return disk.sync_directory(files_.directory);
}

}  // namespace lapwing
