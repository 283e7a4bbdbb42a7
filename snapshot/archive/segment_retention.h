// Removes whole segments, oldest first, according to the limits on bytes and age, and to requests.
//
// The limits apply to the total of all journals in `sessions`. Segments of discarded journals are
// removed first, all of them if necessary. Requests apply only to the current journal.
//
// Each segment is removed in steps. `oldest` moves past it and is written to the file `retention`.
// On a later iteration, once that is synced and the owner has published the new `oldest` to
// readers, .jnl is unlinked. Then the directory is synced, and .sum and .idx are unlinked. So after
// a power cut, there is no .jnl without its companions, no hole between segments, and no removed
// segment that `retention` does not cover. A reader that has a segment open can still read it. The
// segment that holds durable + 1 and newer segments are never removed. Failures to record, unlink
// or sync are counted, and the file is left in place. The journal is not affected, and the next
// start removes files without a .jnl.
//
// Thread safety: one thread. Borrows the Disk.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "lapwing/sequence.h"
#include "os/io.h"
#include "snapshot/archive/request_batch.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/listed_journals.h"
#include "snapshot/journal/retention_file.h"

namespace lapwing {

struct Retention {
  // Limit on the bytes of segment files up to the durable end, including those of discarded
  // journals. Segments beyond that end, written or prepared, are not counted: a power cut removes
  // them, so counting them could remove all durable records. 0: no limit.
  std::uint64_t bytes_max = 0;
  // The maximum age of a segment's newest record; 0: no limit. Segments of this session are timed
  // by the monotonic clock, so a step of the wall clock does not change their age. Older segments
  // are timed by the wall clock as of the start of the session. Later times count as that time.
  std::uint64_t age_ns_max = 0;
};

inline constexpr std::uint64_t kAgeCheckNs = 1'000'000'000;  // between checks of the age

class SegmentRetention {
 public:
  struct Options {
    Retention limits;
    Sequence oldest = 1;         // oldest retained sequence at the start
    unsigned file_permissions;   // of `retention`
    std::uint64_t tag_base = 0;  // of its requests
  };

  SegmentRetention(JournalFiles journal, const Options& options)
      : journal_(std::move(journal)), disk_(*journal_.disk), options_(options) {}

  // Takes the segments that existed at the start, ascending, and the session's first segment.
  // Creates `retention` now, because it is needed when the disk is full.
  absl::Status open(const std::vector<std::uint64_t>& present, std::uint64_t session_segment);
  // Adds the discarded journals of the same root, oldest first. Errors: those of the disk.
  absl::Status add_discarded(const std::vector<ListedJournal>& journals);
  // Applies only to records that are durable now, never to later ones.
  void request_prune(Sequence below, Sequence durable);
  // True while a requested removal is not complete.
  bool pruning() const;

  struct Turn {
    Sequence durable = 0;
    std::uint64_t now_ns = 0;
    std::uint64_t wall_ns = 0;
    bool closing = false;  // finish the current removal, but begin no further one
  };
  // Runs one iteration.
  void advance(WriteQueue& queue, const Turn& turn);
  void complete(std::uint64_t tag, std::int64_t result) {
    sync_.complete(tag - options_.tag_base, result);
  }
  bool syncing() const { return step_ != Step::kNone; }
  // True if `retention` was removed or replaced.
  bool file_is_lost() const { return file_->is_lost(); }
  absl::Status restore_file();  // recreates it
  // Stores the newest sequence published by this failed journal's last session. Synchronous.
  absl::Status record_published(Sequence published);

  Sequence oldest() const { return options_.oldest; }
  // The time at which advance() next has work. UINT64_MAX: only when durable moves or on a request.
  std::uint64_t next_ns() const { return next_ns_; }
  std::uint64_t removed_count() const { return removed_count_; }
  std::uint64_t failed_count() const { return failed_count_; }
  const absl::Status& failure() const { return failure_; }  // the first failure, or ok

 private:
  enum class Step { kNone, kRecording, kUnlinking };

  // A discarded journal with segments.
  struct Discarded {
    JournalFiles files;
    Sequence last = kSequenceMax;  // segments beyond it hold no records
    std::uint64_t ended_wall_ns = 0;
    std::deque<std::uint64_t> segments;  // ascending
    OpenFile directory;                  // from the first removal on
    std::optional<RetentionFile> file;   // from the first removal on
  };

  std::uint64_t front() const { return before_.empty() ? next_ : before_.front(); }
  void look(WriteQueue& queue, const Turn& turn);
  bool is_due(const Turn& turn);
  std::uint64_t kept_bytes(const Turn& turn) const;
  void note_times(const Turn& turn);
  bool is_too_old(const Turn& turn);
  std::uint64_t newest_of_front() const;
  std::uint64_t newest_wall_ns(const JournalFiles& journal, std::uint64_t segment) const;
  void give_up_front(WriteQueue& queue);
  void give_up_discarded(WriteQueue& queue);
  absl::Status open_discarded(Discarded& journal);
  void record(WriteQueue& queue, RetentionFile& file, Sequence oldest);
  const JournalFiles& given_up_journal() const {
    return is_discarded_ ? discarded_.front().files : journal_;
  }
  void finish_recording(WriteQueue& queue, const Turn& turn);
  void finish_unlinking(WriteQueue& queue);
  void finish_step();
  bool unlink(const char* suffix);
  void note_failure(const absl::Status& why);

  const JournalFiles journal_;
  Disk& disk_;
  Options options_;
  OpenFile directory_;
  std::optional<RetentionFile> file_;
  std::deque<std::uint64_t> before_;  // segments before this session, ascending; may have holes
  std::uint64_t next_ = 0;            // oldest of this session's segments, which have no holes
  std::deque<Discarded> discarded_;   // oldest first
  Sequence prune_below_ = 0;
  Step step_ = Step::kNone;
  std::uint64_t given_up_ = 0;  // the segment being removed …
  bool is_discarded_ = false;   // … of the oldest discarded journal
  RequestBatch sync_;
  std::uint64_t age_checked_ns_ = 0;
  struct {
    std::uint64_t ns = 0;  // CLOCK_MONOTONIC
    std::uint64_t wall_ns = 0;
  } began_;  // the first iteration
  // The monotonic times at which segments from next_ on became completely durable.
  std::deque<std::uint64_t> finished_ns_;
  std::uint64_t next_ns_ = UINT64_MAX;
  std::uint64_t removed_count_ = 0;
  std::uint64_t failed_count_ = 0;
  absl::Status failure_;
};

}  // namespace lapwing
