// The segments an archiver has open: prepared ahead of need, being written, waiting for their sync.
//
// Several preparations run at a time, but segments get their names in order, each synced before the
// next: there is never a hole between segments. A preparation that fails (a full disk) leaves no
// file behind and is tried again after a pause, or at once when the segment is needed now; only if
// that attempt fails too is it the journal's failure.
//
// Somebody may remove the files of an open segment. One that no record has reached is prepared
// anew; one that holds records is the journal's failure: what is written to it is kept by nobody.
//
// Thread safety: one thread. Memory for sums is reserved at the start, and touched by the segment
// that needs it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "snapshot/archive/open_segment.h"
#include "snapshot/archive/segment_preparation.h"

namespace lapwing {

inline constexpr std::size_t kOpenSegmentsMax = 64;
inline constexpr std::size_t kOpenSegmentsMin = 8;
inline constexpr std::size_t kSumMemoryBytesMax =
    64 * 1024 * 1024;                               // of all open segments together
inline constexpr std::size_t kPreparationsMax = 4;  // at a time
inline constexpr std::uint64_t kPreparationRetryNs = 500'000'000;

// Which segments are to be ready.
struct SegmentDemand {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::optional<std::uint64_t> needed;  // the archiver waits for this one now
  Sequence written = 0;                 // the last that was handed to a write; none lies beyond
};

class SegmentPool {
 public:
  SegmentPool(const SegmentOptions& options, std::uint64_t tag_base);

  const JournalFiles& journal() const { return files_.journal(); }
  // Removes what an earlier preparation left unfinished, syncs the directory (a killed publisher
  // may not have), and returns the numbers of the segments that are there, ascending.
  absl::StatusOr<std::vector<std::uint64_t>> open();

  // Starts and continues preparations in the order of their numbers.
  void advance(WriteQueue& queue, const SegmentDemand& demand, std::uint64_t now_ns,
               std::uint64_t wall_ns);
  void complete(std::uint64_t tag, std::int64_t result);

  // The segment if it is ready, or nullptr.
  OpenSegment* find(std::uint64_t number);
  // The same for the first record of a segment: nullptr, too, if its files have lost their names.
  OpenSegment* find_unused(std::uint64_t number);
  // Looks at the names of all that is open. A segment that has lost one and holds records at or
  // below `written` is the failure(); those that hold none are given up, to be prepared anew.
  void check_names(Sequence written);
  // Segments below that of `oldest` lose their names to retention.
  void set_oldest(Sequence oldest) { oldest_ = oldest; }
  // Why the needed segment cannot be had, or which one was lost: final. Ok until then.
  const absl::Status& failure() const { return failure_; }
  // When a failed preparation is tried again; UINT64_MAX: none waits.
  std::uint64_t retry_ns() const { return retry_ns_; }
  // A preparation gets on by itself; one that awaits its name after a failed one does not.
  bool preparing() const;
  std::size_t size() const { return slots_.size(); }
  std::uint64_t prepared_count() const { return prepared_count_; }  // created or adopted

  // Calls visit(OpenSegment&) for every ready segment.
  template <typename Visit>
  void for_each(Visit visit) {
    for (Slot& slot : slots_) {
      if (slot.state == SlotState::kReady) visit(slot.segment);
    }
  }

  // Closes segments that end at or below `durable` and have nothing left to sync; their names are
  // looked at once more.
  void retire(Sequence durable);
  // The clean end, nothing in flight: removes what is beyond `last`, which no record ever reached,
  // and was not removed by somebody else. Fails if something stays; no record is in danger then.
  absl::Status discard_beyond(Sequence last);
  // The clean end, everything up to `last` durable: gives back what its segment has reserved beyond
  // it. Fails if the space stays reserved; no record is in danger then.
  absl::Status release_beyond(Sequence last);

 private:
  enum class SlotState { kFree, kPreparing, kReady };
  struct Slot {
    SlotState state = SlotState::kFree;
    OpenSegment segment;
  };
  struct Preparation {
    SegmentPreparation work;
    Slot* slot = nullptr;
    bool was_needed = false;  // when it began
  };

  bool begin_next(const SegmentDemand& demand, std::uint64_t now_ns, std::uint64_t wall_ns);
  bool continue_preparations(WriteQueue& queue, std::uint64_t first, std::uint64_t now_ns);
  void finish(Preparation& preparation, std::uint64_t now_ns);
  absl::Status remove_leftovers(const std::vector<std::string>& names,
                                const std::vector<std::uint64_t>& segments);
  bool is_taken(std::uint64_t number);  // ready or under way
  std::string lost_name(const OpenSegment& segment);
  void give_up(Slot& slot);
  void note_if_lost(const OpenSegment& segment);
  void close(Slot& slot);
  absl::Status remove(std::uint64_t number, const char* suffix);

  SegmentFiles files_;
  std::uint64_t tag_base_;
  OpenFile directory_;
  std::vector<Slot> slots_;
  std::array<Preparation, kPreparationsMax> preparations_;
  std::uint64_t next_number_ = 0;  // the next to prepare
  std::uint64_t retry_ns_ = UINT64_MAX;
  std::uint64_t prepared_count_ = 0;
  Sequence oldest_ = 1;
  absl::Status failure_;
};

}  // namespace lapwing
