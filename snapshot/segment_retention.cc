#include "snapshot/segment_retention.h"

#include <algorithm>

#include "proto/error.h"
#include "snapshot/segment_file.h"
#include "snapshot/time_index.h"

namespace lapwing {

void SegmentRetention::open(const std::vector<std::uint64_t>& present,
                            std::uint64_t session_segment) {
  next_ = session_segment;
  for (const std::uint64_t segment : present) {
    if (segment < session_segment) before_.push_back(segment);
  }
}

void SegmentRetention::request_prune(Sequence below) {
  prune_below_ = std::max(prune_below_, below);
}

void SegmentRetention::advance(Sequence durable, std::uint64_t end_segment, std::uint64_t now_ns,
                               std::uint64_t wall_ns) {
  next_ns_ = UINT64_MAX;
  if (given_up_) {
    unlink(*given_up_);
    given_up_.reset();
  }
  if (options_.geometry.segment_last(front()) > durable) return;
  if (is_due(front(), end_segment, now_ns, wall_ns)) {
    give_up_front();
    next_ns_ = now_ns;
  } else if (options_.limits.age_ns_max != 0) {
    next_ns_ = age_checked_ns_ + kAgeCheckNs;
  }
}

bool SegmentRetention::is_due(std::uint64_t segment, std::uint64_t end_segment,
                              std::uint64_t now_ns, std::uint64_t wall_ns) {
  if (options_.geometry.segment_last(segment) < prune_below_) return true;
  const std::uint64_t count = before_.size() + (end_segment - next_);
  const std::uint64_t bytes = count * segment_file_bytes(options_.geometry);
  if (options_.limits.bytes_max != 0 && bytes > options_.limits.bytes_max) return true;
  if (options_.limits.age_ns_max == 0 || now_ns < age_checked_ns_ + kAgeCheckNs) return false;
  if (is_too_old(wall_ns)) return true;  // and the one after it is looked at in the next turn
  age_checked_ns_ = now_ns;
  return false;
}

// Its index may be lost to a power cut; then the segments after it, which are newer, speak for it.
bool SegmentRetention::is_too_old(std::uint64_t wall_ns) {
  std::uint64_t newest_ns = newest_wall_ns(front());
  for (auto later = before_.begin(); newest_ns == 0 && later != before_.end(); ++later) {
    newest_ns = newest_wall_ns(*later);
  }
  return newest_ns != 0 && wall_ns > newest_ns && wall_ns - newest_ns > options_.limits.age_ns_max;
}

// 0: nobody knows.
std::uint64_t SegmentRetention::newest_wall_ns(std::uint64_t segment) {
  const auto opened = disk_.open(segment_path(options_.directory, segment, "idx"), {});
  if (!opened.ok()) return 0;
  const OpenFile index(disk_, *opened);
  const auto newest = newest_time_entry(disk_, index.get(), options_.journal_id);
  return newest.ok() && newest->has_value() ? (*newest)->wall_ns : 0;
}

void SegmentRetention::give_up_front() {
  given_up_ = front();
  if (before_.empty()) {
    ++next_;
  } else {
    before_.pop_front();
  }
  options_.oldest = std::max(options_.oldest, options_.geometry.segment_first(front()));
}

// The name .jnl goes first, so that none is ever without its companions.
void SegmentRetention::unlink(std::uint64_t segment) {
  ++removed_count_;
  for (const char* const suffix : {"jnl", "sum", "idx"}) {
    const absl::Status status = disk_.remove(segment_path(options_.directory, segment, suffix));
    if (!status.ok() && errc_of(status) != Errc::kNotFound) ++failed_count_;
  }
}

}  // namespace lapwing
