#include "snapshot/archive/segment_pool.h"

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/path.h"
#include "os/system_error.h"
#include "os/whole_file.h"
#include "snapshot/journal/segment_file.h"
#include "snapshot/journal/sum_file.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kTagsPerPreparation = 16;

std::size_t slot_count(const JournalGeometry& geometry) {
  return std::clamp<std::size_t>(kSumMemoryBytesMax / sum_file_bytes(geometry), kOpenSegmentsMin,
                                 kOpenSegmentsMax);
}

}  // namespace

SegmentPool::SegmentPool(const SegmentOptions& options, std::uint64_t tag_base)
    : files_(options),
      tag_base_(tag_base),
      when_full_(options.when_full),
      slots_(slot_count(journal().geometry)) {
  for (Slot& slot : slots_) {
    slot.segment.sum_entries.reserve(journal().geometry.blocks_per_segment());
  }
}

absl::StatusOr<std::vector<std::uint64_t>> SegmentPool::open() {
  const std::string& path = journal().directory;
  auto directory = open_file(files_.disk(), path, {.mode = OpenMode::kDirectory});
  if (!directory.ok()) return directory.status();
  directory_ = *std::move(directory);
  const auto names = files_.disk().list(path);
  if (!names.ok()) return names.status();
  std::vector<std::uint64_t> segments;
  for (const std::string& name : *names) {
    std::uint64_t number;
    if (parse_numbered_name(name, "jnl", number)) segments.push_back(number);
  }
  std::ranges::sort(segments);
  if (const absl::Status status = remove_leftovers(*names, segments); !status.ok()) return status;
  return segments;
}

absl::Status SegmentPool::remove_leftovers(const std::vector<std::string>& names,
                                           const std::vector<std::uint64_t>& segments) {
  for (const std::string& name : names) {
    std::uint64_t number;
    const bool orphan =
        (parse_numbered_name(name, "sum", number) || parse_numbered_name(name, "idx", number)) &&
        !std::ranges::binary_search(segments, number);
    if (!orphan && !name.ends_with(kUnfinishedSuffix)) continue;
    const absl::Status status = remove_if_there(files_.disk(), journal().directory + "/" + name);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void SegmentPool::advance(WriteQueue& queue, const SegmentDemand& demand, std::uint64_t now_ns,
                          std::uint64_t wall_ns) {
  next_number_ = std::max(next_number_, demand.first);
  while (begin_next(demand, now_ns, wall_ns)) {
  }
  while (continue_preparations(queue, demand.first, now_ns)) {
  }
}

// Returns true if a preparation ended; another one may have been
// waiting for it to take its name.
bool SegmentPool::continue_preparations(WriteQueue& queue, std::uint64_t first,
                                        std::uint64_t now_ns) {
  bool ended = false;
  for (std::size_t i = 0; i < preparations_.size(); ++i) {
    Preparation& preparation = preparations_[i];
    if (preparation.slot == nullptr) continue;
    const std::uint64_t number = preparation.work.number();
    const bool may_name = number == first || find(number - 1) != nullptr;
    preparation.work.advance(queue, tag_base_ + i * kTagsPerPreparation, may_name);
    if (preparation.work.state() == SegmentPreparation::State::kUnderWay) continue;
    finish(preparation, now_ns);
    ended = true;
  }
  return ended;
}

bool SegmentPool::begin_next(const SegmentDemand& demand, std::uint64_t now_ns,
                             std::uint64_t wall_ns) {
  while (is_taken(next_number_)) ++next_number_;
  const bool needed = demand.needed == next_number_;
  const bool pausing = retry_ns_ != UINT64_MAX && now_ns < retry_ns_;
  const bool may_skip_pause = needed && when_full_ == WhenFull::kFail;
  if (next_number_ > demand.last || (pausing && !may_skip_pause) || !failure_.ok()) return false;
  const auto slot = std::ranges::find(slots_, SlotState::kFree, &Slot::state);
  const auto free = std::ranges::find(preparations_, nullptr, &Preparation::slot);
  if (slot == slots_.end() || free == preparations_.end()) return false;
  retry_ns_ = UINT64_MAX;
  slot->state = SlotState::kPreparing;
  free->slot = &*slot;
  free->was_needed = needed;
  const bool holds_records = journal().geometry.segment_first(next_number_) <= demand.written;
  free->work.begin(files_, directory_, slot->segment, next_number_++, holds_records, wall_ns);
  return true;
}

void SegmentPool::finish(Preparation& preparation, std::uint64_t now_ns) {
  if (preparation.work.state() == SegmentPreparation::State::kReady) {
    preparation.slot->state = SlotState::kReady;
    ++prepared_count_;
  } else {
    preparation.work.undo();
    preparation.slot->state = SlotState::kFree;
    next_number_ = std::min(next_number_, preparation.work.number());
    retry_ns_ = now_ns + kPreparationRetryNs;
    const absl::Status& why = preparation.work.failure();
    const bool waits = when_full_ == WhenFull::kWait && errc_of(why) == Errc::kNoSpace;
    if (preparation.was_needed && !waits) failure_ = why;
  }
  preparation.slot = nullptr;
}

void SegmentPool::complete(std::uint64_t tag, std::int64_t result) {
  const std::uint64_t local = tag - tag_base_;
  preparations_[local / kTagsPerPreparation].work.complete(local % kTagsPerPreparation, result);
}

OpenSegment* SegmentPool::find(std::uint64_t number) {
  for (Slot& slot : slots_) {
    if (slot.state == SlotState::kReady && slot.segment.number == number) return &slot.segment;
  }
  return nullptr;
}

OpenSegment* SegmentPool::find_unused(std::uint64_t number) {
  for (Slot& slot : slots_) {
    if (slot.state != SlotState::kReady || slot.segment.number != number) continue;
    if (lost_name(slot.segment).empty()) return &slot.segment;
    give_up(slot);
  }
  return nullptr;
}

// Returns a segment file that no longer has its name, or "" if there
// is none or the check fails.
std::string SegmentPool::lost_name(const OpenSegment& segment) {
  const auto is_lost = [&](const char* suffix, const OpenFile& file) {
    return !files_.disk().names(files_.path(segment.number, suffix), file.get()).value_or(true);
  };
  if (is_lost("jnl", segment.data)) return files_.path(segment.number, "jnl");
  if (is_lost("sum", segment.sums)) return files_.path(segment.number, "sum");
  return "";
}

void SegmentPool::check_names(Sequence written) {
  for (Slot& slot : slots_) {
    if (slot.state != SlotState::kReady) continue;
    if (journal().geometry.segment_first(slot.segment.number) <= written) {
      note_if_lost(slot.segment);
    } else if (!lost_name(slot.segment).empty()) {
      give_up(slot);
    }
  }
}

// Reports a removed file of a segment that holds records.
void SegmentPool::note_if_lost(const OpenSegment& segment) {
  if (journal().geometry.segment_last(segment.number) < oldest_) return;
  const std::string lost = lost_name(segment);
  if (lost.empty()) return;
  failure_.Update(make_system_error(
      ENOENT, absl::StrCat(lost, " was removed or replaced while records were written to it")));
}

// Removes the segment's remaining files, so that it is prepared again. A file that has replaced the
// .jnl is not removed here, because the next preparation checks it.
void SegmentPool::give_up(Slot& slot) {
  const std::uint64_t number = slot.segment.number;
  const bool own =
      files_.disk().names(files_.path(number, "jnl"), slot.segment.data.get()).value_or(false);
  next_number_ = std::min(next_number_, number);
  close(slot);
  if (own) remove(number, "jnl").IgnoreError();
  if (files_.disk().exists(files_.path(number, "jnl")).value_or(true)) return;
  remove(number, "sum").IgnoreError();
  remove(number, "idx").IgnoreError();
}

bool SegmentPool::is_taken(std::uint64_t number) {
  return find(number) != nullptr || std::ranges::any_of(preparations_, [&](const Preparation& one) {
           return one.slot != nullptr && one.work.number() == number;
         });
}

bool SegmentPool::preparing() const {
  return std::ranges::any_of(preparations_, [](const Preparation& one) {
    return one.slot != nullptr && !one.work.awaits_name();
  });
}

void SegmentPool::close(Slot& slot) {
  slot.segment.close();
  slot.state = SlotState::kFree;
}

void SegmentPool::retire(Sequence durable) {
  const JournalGeometry& geometry = journal().geometry;
  for (Slot& slot : slots_) {
    if (slot.state == SlotState::kReady && !slot.segment.index_dirty &&
        geometry.segment_last(slot.segment.number) <= durable) {
      note_if_lost(slot.segment);
      close(slot);
    }
  }
}

// Removes the .jnl names first and syncs the directory, so that no power cut leaves a .jnl file
// without its companions.
absl::Status SegmentPool::discard_beyond(Sequence last) {
  const JournalGeometry& geometry = journal().geometry;
  for (Preparation& preparation : preparations_) {
    if (preparation.slot == nullptr) continue;
    preparation.work.undo();
    preparation.slot->state = SlotState::kFree;
    preparation.slot = nullptr;
  }
  std::vector<std::uint64_t> unused;
  for (Slot& slot : slots_) {
    if (slot.state != SlotState::kReady) continue;
    if (geometry.segment_first(slot.segment.number) <= last) continue;
    unused.push_back(slot.segment.number);
    close(slot);
  }
  absl::Status status;
  for (const std::uint64_t number : unused) status.Update(remove(number, "jnl"));
  if (status.ok() && !unused.empty()) {
    status = files_.disk().sync_directory(journal().directory);
  }
  if (!status.ok()) return status;  // the next start removes files without a .jnl
  for (const std::uint64_t number : unused) {
    status.Update(remove(number, "sum"));
    status.Update(remove(number, "idx"));
  }
  return status;
}

absl::Status SegmentPool::release_beyond(Sequence last) {
  if (last == kNoSequence) return absl::OkStatus();
  OpenSegment* const segment = find(journal().geometry.segment_of(last));
  if (segment == nullptr) return absl::OkStatus();  // the segment is full, or was not needed
  return release_reserved_space(files_.disk(), segment->data.get(), journal().geometry, last);
}

absl::Status SegmentPool::remove(std::uint64_t number, const char* suffix) {
  return remove_if_there(files_.disk(), files_.path(number, suffix));
}

}  // namespace lapwing
