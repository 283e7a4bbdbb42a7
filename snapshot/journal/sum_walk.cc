#include "snapshot/journal/sum_walk.h"

#include <algorithm>
#include <span>

#include "lapwing/error.h"
#include "snapshot/journal/sum_file.h"

namespace lapwing {
namespace {

enum class WalkStep { kGoOn, kBreak };

// Walks one segment's entries at a time.
class Walk {
 public:
  Walk(const JournalFiles& files, const std::vector<std::uint64_t>& segments, Sequence first,
       Sequence through)
      : files_(files), segments_(segments), through_(through) {
    // Only durable records are ever pruned.
    const Sequence pruned = files.geometry.segment_first(segments.front()) - 1;
    result_.durable = std::max(first - 1, std::min(pruned, through));
    entries_.resize(files.geometry.blocks_per_segment());
  }

  absl::StatusOr<WalkStep> segment(std::uint64_t segment, std::uint64_t first_block) {
    const auto file = open_file(*files_.disk, files_.path(segment, "sum"), {OpenMode::kRead});
    const Errc code = errc_of(file.status());
    if (code == Errc::kNotFound || code == Errc::kNotALapwingFile) return missing(segment);
    if (!file.ok()) return file.status();
    std::fill(entries_.begin(), entries_.end(), SumEntry{});
    const auto read =
        files_.disk->read_at(file->get(), 0, std::as_writable_bytes(std::span(entries_)));
    if (!read.ok()) return read.status();
    const std::uint64_t there = *read / sizeof(SumEntry);
    const std::uint64_t base = segment * entries_.size();
    for (std::uint64_t block = std::max(base, first_block); block < base + entries_.size();
         ++block) {
      if (files_.geometry.block_first(block) > through_) return WalkStep::kBreak;
      if (block - base >= there) return cut_short(segment, *read);
      if (take(segment, block, entries_[block - base]) == WalkStep::kBreak) return WalkStep::kBreak;
    }
    return WalkStep::kGoOn;
  }

  SumWalk result() const { return result_; }

 private:
  WalkStep take(std::uint64_t segment, std::uint64_t block, const SumEntry& entry) {
    const JournalGeometry& geometry = files_.geometry;
    const Sequence first = geometry.block_first(block);
    switch (check_sum_entry(files_.journal_id, block, entry, geometry)) {
      case SumState::kEmpty:
        return WalkStep::kBreak;
      case SumState::kDamaged:
        note({files_.path(segment, "sum"), sum_offset(geometry, block), first,
              first + geometry.block_slots() - 1, "the sum itself is damaged"});
        return WalkStep::kGoOn;
      case SumState::kValid:
        break;
    }
    const Sequence last = first + entry.count - 1;
    result_.durable = std::max(result_.durable, std::min(last, through_));
    return entry.count == geometry.block_slots() ? WalkStep::kGoOn : WalkStep::kBreak;
  }

  // A .jnl file always has its companion, and a .jnl file is missing only after the end.
  WalkStep missing(std::uint64_t segment) {
    if (segments_.back() < segment) return WalkStep::kBreak;
    note({files_.path(segment, "sum"), 0, files_.geometry.segment_first(segment),
          files_.geometry.segment_last(segment), "the file is missing"});
    return WalkStep::kGoOn;
  }

  // It is unknown whether the missing part had sums. If the walk ends earlier, it had none.
  WalkStep cut_short(std::uint64_t segment, std::uint64_t bytes) {
    const std::uint64_t block = bytes / sizeof(SumEntry);
    const Sequence first = files_.geometry.segment_first(segment);
    note({files_.path(segment, "sum"), bytes, first + block * files_.geometry.block_slots(),
          files_.geometry.segment_last(segment), "the file is cut short"});
    return WalkStep::kGoOn;
  }

  void note(JournalDamage damage) {
    if (!result_.damage) result_.damage = std::move(damage);
  }

  const JournalFiles& files_;
  const std::vector<std::uint64_t>& segments_;
  const Sequence through_;
  std::vector<SumEntry> entries_;
  SumWalk result_;
};

}  // namespace

absl::StatusOr<SumWalk> walk_sums(const JournalFiles& files,
                                  const std::vector<std::uint64_t>& segments, Sequence first,
                                  Sequence through) {
  const JournalGeometry& geometry = files.geometry;
  if (through < first || segments.empty()) return SumWalk{first - 1, std::nullopt};
  Walk walk(files, segments, first, through);
  const std::uint64_t last_segment = geometry.segment_of(through);
  for (std::uint64_t segment = std::max(geometry.segment_of(first), segments.front());
       segment <= last_segment; ++segment) {
    const auto step = walk.segment(segment, geometry.block_of(first));
    if (!step.ok()) return step.status();
    if (*step == WalkStep::kBreak) break;
  }
  return walk.result();
}

}  // namespace lapwing
