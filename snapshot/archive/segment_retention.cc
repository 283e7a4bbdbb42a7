#include "snapshot/archive/segment_retention.h"

#include <algorithm>

#include "os/whole_file.h"
#include "snapshot/journal/segment_file.h"
#include "snapshot/journal/time_index.h"

namespace lapwing {

absl::Status SegmentRetention::open(const std::vector<std::uint64_t>& present,
                                    std::uint64_t session_segment) {
  next_ = session_segment;
  for (const std::uint64_t segment : present) {
    if (segment < session_segment) before_.push_back(segment);
  }
  auto directory = open_file(disk_, journal_.directory, {.mode = OpenMode::kDirectory});
  if (!directory.ok()) return directory.status();
  directory_ = *std::move(directory);
  auto file = RetentionFile::open(journal_, options_.file_permissions);
  if (file.ok()) file_ = *std::move(file);
  return file.status();
}

// Writes even where a file is there: an older copy that was put back says too little.
absl::Status SegmentRetention::restore_file() {
  auto file = RetentionFile::open(journal_, options_.file_permissions);
  if (!file.ok()) return file.status();
  absl::Status status = file->write(file_->oldest());
  if (status.ok()) status = disk_.sync(file->get());
  if (status.ok()) file_ = *std::move(file);
  return status;
}

void SegmentRetention::request_prune(Sequence below, Sequence durable) {
  prune_below_ = std::max(prune_below_, std::min(below, durable + 1));
}

bool SegmentRetention::pruning() const {
  const std::uint64_t oldest = step_ == Step::kNone ? front() : given_up_;
  return journal_.geometry.segment_last(oldest) < prune_below_;
}

void SegmentRetention::advance(WriteQueue& queue, const Turn& turn) {
  next_ns_ = UINT64_MAX;
  if (step_ == Step::kRecording) finish_recording(queue, turn);
  if (step_ == Step::kUnlinking) finish_unlinking(queue);
  if (step_ == Step::kNone && !turn.closing) look(queue, turn);
}

void SegmentRetention::finish_recording(WriteQueue& queue, const Turn& turn) {
  sync_.submit(queue, options_.tag_base);
  if (sync_.failed()) {
    note_failure(sync_.failure(journal_.directory));
    step_ = Step::kNone;
  } else if (sync_.done()) {
    step_ = !turn.closing && unlink("jnl") ? Step::kUnlinking : Step::kNone;
    sync_.clear();
    sync_.add({WriteRequest::Kind::kSyncDirectory, directory_.get(), 0, {}, 0}, {given_up_, "jnl"});
  }
}

void SegmentRetention::finish_unlinking(WriteQueue& queue) {
  sync_.submit(queue, options_.tag_base);
  if (sync_.failed()) {
    // Its companions stay: a power cut may bring the .jnl back.
    note_failure(sync_.failure(journal_.directory));
  } else if (!sync_.done()) {
    return;
  } else {
    unlink("sum");
    unlink("idx");
  }
  ++removed_count_;
  step_ = Step::kNone;
}

void SegmentRetention::look(WriteQueue& queue, const Turn& turn) {
  if (journal_.geometry.segment_last(front()) > turn.durable) return;
  if (is_due(turn)) {
    give_up_front(queue);
    next_ns_ = turn.now_ns;
  } else if (options_.limits.age_ns_max != 0) {
    next_ns_ = age_checked_ns_ + kAgeCheckNs;
  }
}

bool SegmentRetention::is_due(const Turn& turn) {
  if (journal_.geometry.segment_last(front()) < prune_below_) return true;
  const std::uint64_t end = journal_.geometry.segment_of(turn.durable + 1) + 1;
  const std::uint64_t count = before_.size() + (end - next_);
  const std::uint64_t bytes = count * segment_file_bytes(journal_.geometry);
  if (options_.limits.bytes_max != 0 && bytes > options_.limits.bytes_max) return true;
  if (options_.limits.age_ns_max == 0 || turn.now_ns < age_checked_ns_ + kAgeCheckNs) return false;
  if (is_too_old(turn.wall_ns)) return true;  // and the one after it is looked at at once
  age_checked_ns_ = turn.now_ns;
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
  const auto opened = open_file(disk_, journal_.path(segment, "idx"), {});
  if (!opened.ok()) return 0;
  const auto newest = newest_time_entry(disk_, opened->get(), journal_.journal_id);
  return newest.ok() && newest->has_value() ? (*newest)->wall_ns : 0;
}

void SegmentRetention::give_up_front(WriteQueue& queue) {
  given_up_ = front();
  if (before_.empty()) {
    ++next_;
  } else {
    before_.pop_front();
  }
  options_.oldest = std::max(options_.oldest, journal_.geometry.segment_first(front()));
  absl::Status written = file_is_lost() ? restore_file() : absl::OkStatus();
  if (written.ok()) written = file_->write(options_.oldest);
  if (!written.ok()) return note_failure(written);
  step_ = Step::kRecording;
  sync_.clear();
  sync_.add({WriteRequest::Kind::kSync, file_->get(), 0, {}, 0}, {.name = kRetentionFileName});
  sync_.submit(queue, options_.tag_base);
}

bool SegmentRetention::unlink(const char* suffix) {
  const absl::Status status = remove_if_there(disk_, journal_.path(given_up_, suffix));
  if (!status.ok()) note_failure(status);
  return status.ok();
}

void SegmentRetention::note_failure(const absl::Status& why) {
  ++failed_count_;
  failure_.Update(why);
}

}  // namespace lapwing
