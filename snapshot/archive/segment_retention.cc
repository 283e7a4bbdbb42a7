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

absl::Status SegmentRetention::add_discarded(const std::vector<ListedJournal>& journals) {
  const std::string root = journal_.directory.substr(0, journal_.directory.rfind('/'));
  for (const ListedJournal& listed : journals) {
    if (listed.id() == journal_.journal_id) continue;
    Discarded journal;
    journal.files = journal_files_of(disk_, root, listed.first.begin);
    if (listed.last.end) {
      journal.last = listed.last.end->last;
      journal.ended_wall_ns = listed.last.end->wall_ns;
    }
    const auto segments = list_segments(journal.files);
    if (!segments.ok()) return segments.status();
    if (segments->empty()) continue;
    journal.segments.assign(segments->begin(), segments->end());
    discarded_.push_back(std::move(journal));
  }
  return absl::OkStatus();
}

// Writes even if a file exists, because it may be a restored older
// copy with an outdated value.
absl::Status SegmentRetention::restore_file() {
  auto file = RetentionFile::open(journal_, options_.file_permissions);
  if (!file.ok()) return file.status();
  absl::Status status = file->write(file_->oldest());
  if (status.ok()) status = disk_.sync(file->get());
  if (status.ok()) file_ = *std::move(file);
  return status;
}

absl::Status SegmentRetention::record_published(Sequence published) {
  const absl::Status written = file_->write_published(published);
  return written.ok() ? disk_.sync(file_->get()) : written;
}

void SegmentRetention::request_prune(Sequence below, Sequence durable) {
  prune_below_ = std::max(prune_below_, std::min(below, durable + 1));
}

bool SegmentRetention::pruning() const {
  const std::uint64_t oldest = step_ == Step::kNone || is_discarded_ ? front() : given_up_;
  return journal_.geometry.segment_last(oldest) < prune_below_;
}

void SegmentRetention::advance(WriteQueue& queue, const Turn& turn) {
  next_ns_ = UINT64_MAX;
  note_times(turn);
  if (step_ == Step::kRecording) finish_recording(queue, turn);
  if (step_ == Step::kUnlinking) finish_unlinking(queue);
  if (step_ == Step::kNone && !turn.closing) look(queue, turn);
}

void SegmentRetention::finish_recording(WriteQueue& queue, const Turn& turn) {
  sync_.submit(queue, options_.tag_base);
  if (sync_.failed()) {
    note_failure(sync_.failure(given_up_journal().directory));
    finish_step();
  } else if (sync_.done()) {
    sync_.clear();
    if (turn.closing || !unlink("jnl")) return finish_step();
    step_ = Step::kUnlinking;
    const OpenFile& directory = is_discarded_ ? discarded_.front().directory : directory_;
    sync_.add({WriteRequest::Kind::kSyncDirectory, directory.get(), 0, {}, 0}, {given_up_, "jnl"});
  }
}

void SegmentRetention::finish_unlinking(WriteQueue& queue) {
  sync_.submit(queue, options_.tag_base);
  if (sync_.failed()) {
    // The companions are kept, because a power cut may restore the .jnl.
    note_failure(sync_.failure(given_up_journal().directory));
  } else if (!sync_.done()) {
    return;
  } else {
    unlink("sum");
    unlink("idx");
  }
  ++removed_count_;
  finish_step();
}

// Closes a discarded journal that has no segments left.
void SegmentRetention::finish_step() {
  step_ = Step::kNone;
  const bool is_empty = is_discarded_ && discarded_.front().segments.empty();
  is_discarded_ = false;
  if (is_empty) discarded_.pop_front();
}

// Never removes the segment that holds durable + 1, or a newer one.
void SegmentRetention::look(WriteQueue& queue, const Turn& turn) {
  const Sequence front_last = journal_.geometry.segment_last(front());
  const bool may_go = front_last <= turn.durable;
  if (may_go && front_last < prune_below_) {
    give_up_front(queue);
    next_ns_ = turn.now_ns;
  } else if (!may_go && discarded_.empty()) {
    return;
  } else if (is_due(turn)) {
    discarded_.empty() ? give_up_front(queue) : give_up_discarded(queue);
    next_ns_ = turn.now_ns;
  } else if (options_.limits.age_ns_max != 0) {
    next_ns_ = age_checked_ns_ + kAgeCheckNs;
  }
}

// True if the limits require the removal of the oldest segment.
bool SegmentRetention::is_due(const Turn& turn) {
  if (options_.limits.bytes_max != 0 && kept_bytes(turn) > options_.limits.bytes_max) return true;
  if (options_.limits.age_ns_max == 0 || turn.now_ns < age_checked_ns_ + kAgeCheckNs) return false;
  if (is_too_old(turn)) return true;  // and the next one is checked at once
  age_checked_ns_ = turn.now_ns;
  return false;
}

std::uint64_t SegmentRetention::kept_bytes(const Turn& turn) const {
  const std::uint64_t end = journal_.geometry.segment_of(turn.durable + 1) + 1;
  const std::uint64_t count = before_.size() + (end - next_);
  std::uint64_t bytes = count * segment_file_bytes(journal_.geometry);
  for (const Discarded& journal : discarded_) {
    bytes += journal.segments.size() * segment_file_bytes(journal.files.geometry);
  }
  return bytes;
}

void SegmentRetention::note_times(const Turn& turn) {
  if (began_.wall_ns == 0) {
    began_ = {turn.now_ns, turn.wall_ns};
  }
  if (options_.limits.age_ns_max == 0) return;
  while (journal_.geometry.segment_last(next_ + finished_ns_.size()) <= turn.durable) {
    finished_ns_.push_back(turn.now_ns);
  }
}

bool SegmentRetention::is_too_old(const Turn& turn) {
  const std::uint64_t session_ns = turn.now_ns - began_.ns;
  const bool is_of_session = discarded_.empty() && before_.empty();
  if (is_of_session) {
    return !finished_ns_.empty() && turn.now_ns - finished_ns_.front() > options_.limits.age_ns_max;
  }
  const std::uint64_t newest_ns = newest_of_front();
  // The time is unknown, but an earlier segment was complete before this session began.
  if (newest_ns == 0) return session_ns > options_.limits.age_ns_max;
  const std::uint64_t before_session_ns = began_.wall_ns - std::min(began_.wall_ns, newest_ns);
  return session_ns + before_session_ns > options_.limits.age_ns_max;
}

// The publish time of the oldest segment's newest record; 0: unknown. A power cut may
// have removed the segment's index. Then the time is taken from later segments, or from
// the end of a discarded journal.
std::uint64_t SegmentRetention::newest_of_front() const {
  if (!discarded_.empty()) {
    const Discarded& journal = discarded_.front();
    const std::uint64_t front = journal.segments.front();
    if (journal.files.geometry.segment_first(front) > journal.last) return 1;  // it has no records
    for (const std::uint64_t segment : journal.segments) {
      const std::uint64_t newest_ns = newest_wall_ns(journal.files, segment);
      if (newest_ns != 0) return newest_ns;
    }
    return journal.ended_wall_ns;
  }
  std::uint64_t newest_ns = newest_wall_ns(journal_, front());
  for (auto later = before_.begin(); newest_ns == 0 && later != before_.end(); ++later) {
    newest_ns = newest_wall_ns(journal_, *later);
  }
  return newest_ns;
}

std::uint64_t SegmentRetention::newest_wall_ns(const JournalFiles& journal,
                                               std::uint64_t segment) const {
  const auto opened = open_file(disk_, journal.path(segment, "idx"), {});
  if (!opened.ok()) return 0;
  const auto newest = newest_time_entry(disk_, opened->get(), journal.journal_id);
  return newest.ok() && newest->has_value() ? (*newest)->wall_ns : 0;
}

void SegmentRetention::give_up_front(WriteQueue& queue) {
  given_up_ = front();
  if (before_.empty()) {
    ++next_;
    if (!finished_ns_.empty()) finished_ns_.pop_front();
  } else {
    before_.pop_front();
  }
  options_.oldest = std::max(options_.oldest, journal_.geometry.segment_first(front()));
  const absl::Status restored = file_is_lost() ? restore_file() : absl::OkStatus();
  if (!restored.ok()) return note_failure(restored);
  record(queue, *file_, options_.oldest);
}

// A journal that cannot be opened for removal is left unchanged.
void SegmentRetention::give_up_discarded(WriteQueue& queue) {
  Discarded& journal = discarded_.front();
  const absl::Status opened = open_discarded(journal);
  if (!opened.ok()) {
    note_failure(opened);
    return discarded_.pop_front();
  }
  is_discarded_ = true;
  given_up_ = journal.segments.front();
  journal.segments.pop_front();
  const std::uint64_t next = journal.segments.empty() ? given_up_ + 1 : journal.segments.front();
  record(queue, *journal.file, journal.files.geometry.segment_first(next));
}

absl::Status SegmentRetention::open_discarded(Discarded& journal) {
  if (journal.file) return absl::OkStatus();
  auto directory = open_file(disk_, journal.files.directory, {.mode = OpenMode::kDirectory});
  if (!directory.ok()) return directory.status();
  auto file = RetentionFile::open(journal.files, options_.file_permissions);
  if (!file.ok()) return file.status();
  journal.directory = *std::move(directory);
  journal.file = *std::move(file);
  return absl::OkStatus();
}

void SegmentRetention::record(WriteQueue& queue, RetentionFile& file, Sequence oldest) {
  const absl::Status written = file.write(oldest);
  if (!written.ok()) {
    note_failure(written);
    return finish_step();
  }
  step_ = Step::kRecording;
  sync_.clear();
  sync_.add({WriteRequest::Kind::kSync, file.get(), 0, {}, 0}, {.name = kRetentionFileName});
  sync_.submit(queue, options_.tag_base);
}

bool SegmentRetention::unlink(const char* suffix) {
  const absl::Status status = remove_if_there(disk_, given_up_journal().path(given_up_, suffix));
  if (!status.ok()) note_failure(status);
  return status.ok();
}

void SegmentRetention::note_failure(const absl::Status& why) {
  ++failed_count_;
  failure_.Update(why);
}

}  // namespace lapwing
