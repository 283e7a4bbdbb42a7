// The phases of a subscriber. It follows one bus from the join through gaps, and through the death
// and return of the publisher. Specification: docs/explanation/joining.md.
//
//   phase      a step                               leads to
//   ---------  -----------------------------------  -------------------------------------------
//   kSeeking   looks for a publisher that answers,  kFlushing          first time, with a journal
//              or for the files of an ended one     kCatchUp, kLive    otherwise
//              (bus_search.h)                       kEnded             reattach_ns have passed
//   kFlushing  waits for F: everything up to the    kSnapshot          a state was requested
//              join is durable (backlog.h)          kCatchUp, kLive    otherwise
//                                                   kEnded             no answer in time
//   kSnapshot  loads a slice of a checkpoint, or    kCatchUp, kLive    all is posted, or there is no
//              posts an entry of it                                    usable checkpoint
//              (snapshot_join.h)                    kEnded             no such fold
//   kCatchUp   reads the journal up to `archived`,  kLive    the ring holds the next record with
//              the ring beyond it (catch_up.h)               half its slots to spare
//                                                   kSeeking a discarded journal is read to its end
//   kLive      reads the ring (read_cursor.h)       kCatchUp    lapped, and the gap is to be filled
//                                                   kSnapshot   lapped, and a state is to follow
//                                                   kSeeking    the session is read to its end
//                                                   kEnded      lapped, and the policy is stop
//   kEnded     posts the end
//
// Laps. Until `caught up`, the requested history is in the journal, so a lap during the join only
// leads back to the journal, whatever the policy. Without a journal, it is a gap. After `caught
// up`, each lap is one gap with exact bounds, and the policy decides. Only kLive can be lapped: a
// subscriber that still reads the journal stays there until the ring holds its next record.
//
// The end of a session. A closed socket, a silent heartbeat or the ring's `closed` ends only the
// watch (publisher_watch.h). After that, the ring is read once more, and the first empty read is
// the end.
//
// Discarded journals. After each search, choose_discarded() (starting_point.h) returns the journal
// to read first, if any. It is an attachment without a ring or a publisher. At its end, the search
// starts again, and the next journal in `sessions` follows.
//
// Invariants
//  1. A step reads no clock and never waits: the caller passes the time and decides how to wait.
//  2. In kCatchUp and kLive there are an attachment and a trail, and kSession was posted.
//
// Thread safety: one thread. Borrows the options and the stream.
// Errors end the subscriber with a status. They are never thrown or ignored.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "lapwing/fold.h"
#include "subscribers/bus_search.h"
#include "subscribers/catch_up.h"
#include "subscribers/snapshot_join.h"
#include "subscribers/starting_point.h"
#include "subscribers/stream.h"
#include "subscribers/upkeep.h"

namespace lapwing {

inline constexpr std::uint64_t kCatchUpPauseNs = 1'000'000;  // for the archiver to catch up

// The outcome of a step.
struct Step {
  enum class Kind : std::uint32_t {
    kMoved,    // changed phase or posted events; take another step unless an event is due
    kRecords,  // copied records, which are not counted yet; none if there was no room
    kIdle,     // there is nothing to do now
  };
  Kind kind = Kind::kMoved;
  std::uint64_t records = 0;
};

// How long a phase that does not read the ring may pause, and the descriptor that may end the pause
// earlier.
struct Pause {
  std::uint64_t until_ns;
  int fd = -1;
};

class SubscriberMachine {
 public:
  SubscriberMachine(const SubscriberOptions& options, Stream& stream)
      : options_(options), stream_(stream), cursor_(stream.cursor) {}

  // Takes one step, if no event is due. Copies records into `out`, as many as fit and are available
  // before the next event. `now_ns` is the time if needs_time(), and is otherwise unused.
  Step step(std::span<std::byte> out, std::uint64_t now_ns);
  bool needs_time() const { return !cursor_.reads() || cursor_.next >= cursor_.due; }

  // True if the first session was posted. From then on, the record size is known.
  bool is_introduced() const { return join_ >= Join::kIntroduced; }
  // True if the next step may read a record at once.
  bool may_read() const;
  // nullopt: the next step has something to do at once, or the phase is kLive.
  std::optional<Pause> pause_from(std::uint64_t now_ns) const;

  Upkeep& upkeep() { return upkeep_; }
  const Upkeep& upkeep() const { return upkeep_; }
  // The fold of the last state, whether or not it could be loaded, and the number of entries in the
  // last one that was loaded.
  const std::shared_ptr<const Fold>& fold() const { return fold_; }
  std::uint64_t state_size() const { return state_size_; }

 private:
  // The progress of the first join.
  enum class Join : std::uint32_t {
    kNotYet,
    kAttached,
    kIntroduced,  // the first session was posted
    kFloating,    // as above, but live without a publisher: the stream begins with the next session
  };

  Step post(EventKind kind, Sequence sequence, std::string text = {}, const Gap& gap = {}) {
    stream_.post(kind, sequence, std::move(text), gap);
    return {};
  }
  bool pass_boundary();
  void leave(LeftSession left);
  Step end(absl::Status status);

  // Phases before records can be read, at the join and for each session.
  Step on_seeking();
  Step on_attached(Attachment found);
  absl::Status check_fits(const Attachment& found);
  Step join();
  Step on_flushing();
  Step begin();
  Step begin_at(StartingPoint start);
  Step introduce(Sequence first);
  absl::Status rejoin();
  absl::Status start_over(std::string why);
  Step enter_stream();
  Step begin_snapshot(const std::optional<Gap>& gap);
  Step on_snapshot();
  Step post_entry();
  Step continue_without_state();

  // Phases while records are read, and at the end of a session.
  Step on_catch_up(std::span<std::byte> out);
  Step on_live(std::span<std::byte> out);
  Step on_lap(const RingReadResult& read);
  Step catch_up_below(Sequence ring_floor);
  Step on_hole(CatchUp::Read hole);
  Step end_session();
  Step end_journal();

  const SubscriberOptions& options_;
  Stream& stream_;
  ReadCursor& cursor_;        // the stream's
  std::uint64_t now_ns_ = 0;  // of the step
  Join join_ = Join::kNotYet;
  BusSearch search_{options_};
  CatchUp catch_up_{options_.missing_file_grace};
  std::optional<SnapshotJoin> snapshot_;  // in kSnapshot
  std::shared_ptr<const Fold> fold_;
  std::uint64_t state_size_ = 0;
  // The last session for which kPublisherGone was posted, and its last sequence.
  std::pair<Id128, Sequence> gone_ = {Id128{}, kNoSequence};
  Upkeep upkeep_{options_, stream_, search_.client_options()};
};

}  // namespace lapwing
