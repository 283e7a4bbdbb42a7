#include "snapshot/archive/sync_schedule.h"

#include <algorithm>

namespace lapwing {

void SyncSchedule::request_flush(Sequence through) {
  flush_through_ = std::max(flush_through_, through);
}

void SyncSchedule::observe(const Progress& progress, std::uint64_t now_ns) {
  if (progress.head != head_) {
    head_ = progress.head;
    moved_ns_ = now_ns;
  }
  if (interval_ns_ != 0 && due_ns_ == UINT64_MAX && progress.head > progress.covered) {
    due_ns_ = now_ns + interval_ns_;
    due_head_ = kNoSequence;
  }
  if (interval_passed(now_ns) && due_head_ == kNoSequence) due_head_ = progress.head;
}

bool SyncSchedule::partial_due(const Progress& progress, std::uint64_t now_ns) const {
  if (progress.head <= progress.submitted) return false;
  const bool flush = std::min(flush_through_, progress.head) > progress.submitted;
  return flush || interval_passed(now_ns) || now_ns >= moved_ns_ + kIdlePartialNs;
}

bool SyncSchedule::sync_due(const Progress& progress, std::uint64_t now_ns) const {
  const Sequence provable = progress.provable();
  if (provable <= progress.covered) return false;
  const Sequence flush = std::min({flush_through_, progress.head, progress.provable_max});
  if (flush > progress.covered && provable >= flush) return true;
  const std::uint64_t segment = geometry_.segment_of(progress.covered + 1);
  if (provable >= geometry_.segment_last(segment)) return true;
  if (!interval_passed(now_ns)) return false;
  return provable >= due_head_ || now_ns >= due_ns_ + interval_ns_;
}

void SyncSchedule::begun(const Progress& progress, std::uint64_t now_ns) {
  const bool more = interval_ns_ != 0 && progress.head > progress.provable();
  due_ns_ = more ? now_ns + interval_ns_ : UINT64_MAX;
  due_head_ = kNoSequence;
}

std::uint64_t SyncSchedule::next_ns(const Progress& progress, std::uint64_t now_ns) const {
  std::uint64_t next = UINT64_MAX;
  const auto consider = [&](std::uint64_t at_ns) {
    if (at_ns > now_ns) next = std::min(next, at_ns);
  };
  if (progress.head > progress.submitted) consider(moved_ns_ + kIdlePartialNs);
  if (due_ns_ != UINT64_MAX) {
    consider(due_ns_);
    consider(due_ns_ + interval_ns_);
  }
  return next;
}

}  // namespace lapwing
