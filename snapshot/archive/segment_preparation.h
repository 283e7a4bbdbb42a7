// Prepares one segment for writing: creates it, or adopts the existing one.
//
// Creating: allocates the whole segment under unfinished names, writes the header and a zeroed .sum
// file, and syncs both. Then it gives .sum and .idx their names and syncs the directory, and then
// gives .jnl its name and syncs the directory. So a file with a .jnl name is complete and has its
// companions, even after a power cut. Allocations, writes and syncs use the queue; opening and
// renaming are synchronous. The archiver prepares segments in advance, and recovery
// (create_segment) prepares those that a killed publisher had not prepared.
//
// Adopting: uses a segment that a killed publisher had prepared, or the one in which the last
// session ended. Its header and sizes are checked, and the space that a clean end released is
// reserved again. The directory is synced, because the name may not have been. An incomplete
// segment that no record has reached is created again.
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

  // Fills in `segment`.
  void begin(SegmentFiles& files, const OpenFile& directory, OpenSegment& segment,
             std::uint64_t number, bool holds_records, std::uint64_t wall_ns);
  // Proceeds as far as possible without waiting. Gives the .jnl name only if `may_name`. Tags are
  // tag_base + 0 and 1.
  State advance(WriteQueue& queue, std::uint64_t tag_base, bool may_name);
  void complete(std::size_t index, std::int64_t result) { requests_.complete(index, result); }

  State state() const { return state_; }
  // As of the last advance(): everything is done except the name, which is not allowed yet.
  bool awaits_name() const { return awaits_name_; }
  std::uint64_t number() const { return number_; }
  const absl::Status& failure() const { return failure_; }
  // Removes everything created so far. Nothing may be in flight.
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

// Creates a segment that has no .jnl yet, synchronously: each request is a Disk call. Replaces
// unfinished files of an earlier attempt. Errors: kNoSpace, kNotPermitted, kSystem.
absl::Status create_segment(const SegmentOptions& options, std::uint64_t number,
                            std::uint64_t wall_ns);

}  // namespace lapwing
