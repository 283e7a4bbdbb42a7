#include "snapshot/archive/sync_cycle.h"

#include <algorithm>

#include "snapshot/journal/sum_file.h"
#include "snapshot/journal/time_index.h"

namespace lapwing {

SyncCycle::SyncCycle(SegmentPool& segments, Sequence first, std::uint64_t tag_base,
                     SessionOrigin* origin)
    : segments_(segments),
      journal_(segments.journal()),
      tag_base_(tag_base),
      origin_(origin),
      durable_(first - 1),
      through_(first - 1) {
  requests_.reserve(2 * segments.size() + 1);
}

void SyncCycle::begin(Sequence archived, std::uint64_t now_ns, std::uint64_t wall_ns) {
  const JournalGeometry& geometry = journal_.geometry;
  through_ = archived;
  begin_ns_ = now_ns;
  wall_ns_ = std::max(wall_ns_, wall_ns);
  const std::uint64_t block = geometry.block_of(through_);
  through_entry_ = segments_.find(geometry.segment_of(through_))
                       ->sum_entries[block % geometry.blocks_per_segment()];
  stage_ = Stage::kData;
  requests_.clear();
  add_data_syncs();
}

void SyncCycle::begin_last() {
  stage_ = Stage::kData;
  requests_.clear();
  add_data_syncs();
}

absl::Status SyncCycle::advance(WriteQueue& queue, std::uint64_t now_ns) {
  while (active()) {
    requests_.submit(queue, tag_base_);
    if (requests_.failed()) return requests_.failure(journal_.directory);
    if (!requests_.done()) break;
    enter_next_stage(now_ns);
  }
  return absl::OkStatus();
}

void SyncCycle::enter_next_stage(std::uint64_t now_ns) {
  const absl::Status index = requests_.hint_failure(journal_.directory);
  if (!index.ok()) {
    ++index_failures_;
    index_failure_.Update(index);
  }
  requests_.clear();
  switch (stage_) {
    case Stage::kIdle:
      break;
    case Stage::kData:
      segments_.for_each([](OpenSegment& segment) { segment.index_dirty = false; });
      stage_ = Stage::kSums;
      add_sum_writes();
      break;
    case Stage::kSums:
      stage_ = Stage::kSumSync;
      add_sum_syncs();
      break;
    case Stage::kSumSync:
      stage_ = Stage::kIndex;
      add_index_writes();
      durable_ = through_;
      ++cycles_;
      durations_.add(now_ns - begin_ns_);
      cycle_ns_max_ = std::max(cycle_ns_max_, now_ns - begin_ns_);
      break;
    case Stage::kIndex:
      end_index(index.ok());
      break;
  }
}

// A write that completes later marks its segment as dirty again, for the next cycle.
void SyncCycle::add_data_syncs() {
  const std::uint64_t last = journal_.geometry.segment_of(through_);
  segments_.for_each([&](OpenSegment& segment) {
    if (segment.data_dirty && segment.number <= last) {
      segment.data_dirty = false;
      requests_.add({WriteRequest::Kind::kSync, segment.data.get(), 0, {}, 0},
                    {segment.number, "jnl"});
    }
    if (segment.index_dirty) {
      requests_.add({WriteRequest::Kind::kSync, segment.index.get(), 0, {}, 0},
                    {segment.number, "idx"}, Need::kHint);
    }
  });
}

void SyncCycle::add_sum_writes() {
  const JournalGeometry& geometry = journal_.geometry;
  for_each_new_segment([&](OpenSegment& segment, Sequence first, Sequence last) {
    const auto add = [&](std::uint64_t first_block, std::span<const SumEntry> entries) {
      if (entries.empty()) return;
      requests_.add({WriteRequest::Kind::kWrite, segment.sums.get(),
                     sum_offset(geometry, first_block), std::as_bytes(entries), 0},
                    {segment.number, "sum"});
    };
    const std::uint64_t first_block = geometry.block_of(first);
    std::uint64_t end_block = geometry.block_of(last) + 1;
    if (last == through_) {
      --end_block;
      add(end_block, std::span(&through_entry_, 1));
    }
    add(first_block,
        std::span(segment.sum_entries)
            .subspan(first_block % geometry.blocks_per_segment(), end_block - first_block));
  });
}

void SyncCycle::add_sum_syncs() {
  for_each_new_segment([&](OpenSegment& segment, Sequence, Sequence) {
    requests_.add({WriteRequest::Kind::kSync, segment.sums.get(), 0, {}, 0},
                  {segment.number, "sum"});
  });
}

// Every segment gets its own entry, so that a full segment records the time of its last record.
void SyncCycle::add_index_writes() {
  for_each_new_segment([&](OpenSegment& segment, Sequence, Sequence last) {
    const std::uint64_t at_ns = origin_ != nullptr ? origin_->published_wall_ns(last) : wall_ns_;
    segment.index_wall_ns = std::max(segment.index_wall_ns, at_ns);
    segment.time_entry = make_time_entry(journal_.journal_id, last, segment.index_wall_ns);
    requests_.add({WriteRequest::Kind::kWrite, segment.index.get(), segment.index_bytes,
                   std::as_bytes(std::span(&segment.time_entry, 1)), 0},
                  {segment.number, "idx"}, Need::kHint);
  });
}

// If an entry was not written completely, the next cycle's entry overwrites it.
void SyncCycle::end_index(bool written) {
  segments_.for_each([written](OpenSegment& segment) {
    if (written && segment.time_entry.sequence != kNoSequence) {
      segment.index_bytes += sizeof(TimeEntry);
      segment.index_dirty = true;
    }
    segment.time_entry = {};
  });
  stage_ = Stage::kIdle;
  segments_.retire(durable_);
}

template <typename Visit>
void SyncCycle::for_each_new_segment(Visit visit) {
  const JournalGeometry& geometry = journal_.geometry;
  for (Sequence first = durable_ + 1; first <= through_;) {
    const std::uint64_t number = geometry.segment_of(first);
    const Sequence last = std::min(through_, geometry.segment_last(number));
    visit(*segments_.find(number), first, last);
    first = last + 1;
  }
}

}  // namespace lapwing
