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
  // `may_lack_segments`: a segment that is not in `segments` ends the walk. Otherwise, one before the
  // last of them is damage.
  Walk(const JournalFiles& files, std::span<const std::uint64_t> segments, bool may_lack_segments,
       Sequence durable, Sequence through)
      : files_(files),
        segments_(segments),
        may_lack_segments_(may_lack_segments),
        through_(through) {
    result_.durable = durable;
    entries_.resize(files.geometry.blocks_per_segment());
  }

  // Walks from the block of `first` on, in segments from `segment` on.
  absl::StatusOr<SumWalk> run(std::uint64_t segment, Sequence first) {
    const JournalGeometry& geometry = files_.geometry;
    for (const std::uint64_t last = geometry.segment_of(through_); segment <= last; ++segment) {
      const auto step = walk(segment, geometry.block_of(first));
      if (!step.ok()) return step.status();
      if (*step == WalkStep::kBreak) break;
    }
    return std::move(result_);
  }

 private:
  absl::StatusOr<WalkStep> walk(std::uint64_t segment, std::uint64_t first_block) {
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
    const bool is_expected = may_lack_segments_ ? std::ranges::binary_search(segments_, segment)
                                                : segment <= segments_.back();
    if (!is_expected) return WalkStep::kBreak;
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
  const std::span<const std::uint64_t> segments_;  // ascending
  const bool may_lack_segments_;
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
  // Only durable records are ever pruned.
  const Sequence pruned = geometry.segment_first(segments.front()) - 1;
  const Sequence durable = std::max(first - 1, std::min(pruned, through));
  return Walk(files, segments, false, durable, through)
      .run(std::max(geometry.segment_of(first), segments.front()), first);
}

absl::StatusOr<SumWalk> walk_open_session(const JournalFiles& files,
                                          const RetainedSegments& retained,
                                          const SessionRecord& session,
                                          std::span<const AbsentRange> absent) {
  if (!session.begin.is_mirrored()) {
    return walk_sums(files, retained.segments, session.first(), session.reserved_through);
  }
  Sequence first = std::max(session.first(), retained.oldest);
  if (!absent.empty()) first = std::max(first, absent.back().last + 1);
  return Walk(files, retained.segments, true, first - 1, session.reserved_through)
      .run(files.geometry.segment_of(first), first);
}

}  // namespace lapwing
