// Makes one segment ready to be written: creates it, or adopts the one that is there.
//
// Creating: under unfinished names, allocate all of it, write the header and a .sum file of zeros,
// sync both; give .sum and .idx their names and sync the directory; give .jnl its name and sync the
// directory. So whatever has a name .jnl is whole and has its companions, whenever the power goes.
// Allocations, writes and syncs go through the queue; opening and renaming are synchronous. The
// archiver prepares segments ahead of need, and recovery (create_segment) those that a killed
// publisher had not prepared.
//
// Adopting: a segment left prepared by a killed publisher, or the one in which the last session
// ended. Its header and sizes are checked, what a clean end gave back of it is reserved again, and
// the directory is synced, since its name may not be.
// One that is not whole, and that no record has reached, is made anew.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "snapshot/archive/open_segment.h"
#include "snapshot/archive/request_batch.h"

namespace lapwing {

class SegmentPreparation {
 public:
  enum class State { kIdle, kUnderWay, kReady, kFailed };

  // `segment` is filled in.
  void begin(SegmentFiles& files, const OpenFile& directory, OpenSegment& segment,
             std::uint64_t number, bool holds_records, std::uint64_t wall_ns);
  // Goes as far as it can without waiting; as far as the name .jnl only if it may have it now. Tags
  // are tag_base + 0, 1.
  State advance(WriteQueue& queue, std::uint64_t tag_base, bool may_name);
  void complete(std::size_t index, std::int64_t result) { requests_.complete(index, result); }

  State state() const { return state_; }
  // As of the last advance(): all is done but the name, which it may not have yet.
  bool awaits_name() const { return awaits_name_; }
  std::uint64_t number() const { return number_; }
  const absl::Status& failure() const { return failure_; }
  // With nothing in flight: removes what was made so far.
  void undo();

 private:
  // Creating goes from kAllocating to kNaming, adopting from kReserving to kAdopting.
  enum class Stage {
    kAllocating,
    kWriting,
    kSyncing,
    kNamingCompanions,
    kNaming,
    kReserving,
    kAdopting,
  };

  absl::Status start(bool holds_records, std::uint64_t wall_ns);
  absl::Status adopt(bool holds_records, bool& adopted);
  void enter(Stage stage);
  void add(WriteRequest::Kind kind, const OpenFile& file, std::span<const std::byte> bytes,
           const char* suffix);
  absl::Status give_name(const char* suffix);
  bool is_allocating() const { return stage_ == Stage::kAllocating || stage_ == Stage::kReserving; }
  absl::Status allocate_by_disk();
  void fail(const absl::Status& why);

  SegmentFiles* files_ = nullptr;
  const OpenFile* directory_ = nullptr;
  OpenSegment* segment_ = nullptr;
  std::uint64_t number_ = 0;
  State state_ = State::kIdle;
  Stage stage_ = Stage::kAllocating;
  bool awaits_name_ = false;
  RequestBatch requests_;
  Page header_{};
  absl::Status failure_;
};

// Creates, at once, a segment that has no .jnl yet: each request is a call of the disk. What an
// earlier attempt left unfinished is replaced. Errors: kNoSpace, kNotPermitted, kSystem.
absl::Status create_segment(const SegmentOptions& options, std::uint64_t number,
                            std::uint64_t wall_ns);

}  // namespace lapwing
