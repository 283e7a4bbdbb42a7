// An archiver's open segments: prepared in advance, being written, or waiting for their sync.
//
// Several preparations run at the same time, but segments get their names in order, and each name
// is synced before the next one. So there is never a hole between segments. If a preparation fails
// (for example because the disk is full), it removes its files and is retried after a pause, or at
// once if the segment is needed now. Only if that attempt also fails does the journal fail. With
// WhenFull::kWait, a full disk only delays the segment.
//
// Other processes can remove an open segment's files. A segment without records is
// prepared again. If the segment holds records, the journal fails, because writes to a removed file
// are lost.
//
// Thread safety: one thread. Memory for sums is reserved at the start, and first touched by the
// segment that needs it.
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
    64 * 1024 * 1024;                               // for all open segments together
inline constexpr std::size_t kPreparationsMax = 4;  // at a time
inline constexpr std::uint64_t kPreparationRetryNs = 500'000'000;

// The segments that should be ready.
struct SegmentDemand {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::optional<std::uint64_t> needed;  // the archiver waits for this one now
  Sequence written = 0;                 // the last sequence submitted for writing
};

class SegmentPool {
 public:
  SegmentPool(const SegmentOptions& options, std::uint64_t tag_base);

  const JournalFiles& journal() const { return files_.journal(); }
  // Removes an earlier preparation's unfinished files and syncs the directory, because a killed
  // publisher may not have done so. Returns the numbers of the existing segments, ascending.
  absl::StatusOr<std::vector<std::uint64_t>> open();

  // Starts and continues preparations in the order of their numbers.
  void advance(WriteQueue& queue, const SegmentDemand& demand, std::uint64_t now_ns,
               std::uint64_t wall_ns);
  void complete(std::uint64_t tag, std::int64_t result);

  // The segment if it is ready, or nullptr.
  OpenSegment* find(std::uint64_t number);
  // Like find(), for a segment's first record: also returns nullptr if its
  // files' names were removed.
  OpenSegment* find_unused(std::uint64_t number);
  // Checks the names of all open files. If a segment has lost one and holds records at or below
  // `written`, failure() reports it. A segment without records is discarded, to be prepared again.
  void check_names(Sequence written);
  // Retention removes the names of the segments below the one that holds `oldest`.
  void set_oldest(Sequence oldest) { oldest_ = oldest; }
  // Why the needed segment cannot be prepared, or which segment was removed. Final once not ok.
  const absl::Status& failure() const { return failure_; }
  // The time at which a failed preparation is retried; UINT64_MAX if none is waiting.
  std::uint64_t retry_ns() const { return retry_ns_; }
  // True if a preparation can progress. One whose name has to wait for a failed one cannot.
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

  // Closes segments that end at or below `durable` and have nothing left to sync, after a last
  // check of their names.
  void retire(Sequence durable);
  // For the clean end, with nothing in flight: removes the segments beyond `last`, which have no
  // records, unless they have already been removed. A failure leaves files behind, but no record is
  // in danger.
  absl::Status discard_beyond(Sequence last);
  // For the clean end, with everything up to `last` durable: releases the space reserved after
  // `last` in its segment. If that fails, the space stays reserved, but no record is in danger.
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
    bool was_needed = false;  // as of its start
  };

  bool begin_next(const SegmentDemand& demand, std::uint64_t now_ns, std::uint64_t wall_ns);
  bool continue_preparations(WriteQueue& queue, std::uint64_t first, std::uint64_t now_ns);
  void finish(Preparation& preparation, std::uint64_t now_ns);
  absl::Status remove_leftovers(const std::vector<std::string>& names,
                                const std::vector<std::uint64_t>& segments);
  bool is_taken(std::uint64_t number);  // ready or being prepared
  std::string lost_name(const OpenSegment& segment);
  void give_up(Slot& slot);
  void note_if_lost(const OpenSegment& segment);
  void close(Slot& slot);
  absl::Status remove(std::uint64_t number, const char* suffix);

  SegmentFiles files_;
  std::uint64_t tag_base_;
  WhenFull when_full_;
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
