// Reads the journal of a bus by sequence, with or without a publisher, and never delays the
// publisher.
//
//   auto history = lapwing::History::open("./es");
//   std::vector<std::byte> rows(1024 * history->info().record_bytes);
//   for (lapwing::Sequence next = history->info().oldest;;) {
//     const auto batch = history->read(next, rows);
//     if (!batch.ok()) break;  // kWouldBlock: not there yet; otherwise history->status()
//     if (batch->event) next = batch->event->gap.last + 1;  // records that are lost, and why
//     else next = use(*batch, rows);
//   }
//
// All results are verified: records at or below `durable` by their checksums, and every record by
// its exact stamp. The class finds the journal and determines how far it can be trusted. It reads
// one journal: the newest one, or the one with the given id.
//
// Threads: one thread at a time, any thread. Owns the open files and a mapping of the ring's
// header.
// Fork: in a forked child every call returns kForked, info() is empty, and the destructor does
// nothing. Open a new History there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/schema.h"
#include "lapwing/sequence.h"
#include "lapwing/subscriber.h"

namespace lapwing {

// As of the call.
struct HistoryInfo {
  std::string schema_name;
  std::shared_ptr<const Schema> schema = {};  // null: the records are not described
  std::uint32_t record_bytes = 0;
  Id128 journal_id = {};
  Sequence oldest = 1;              // the oldest that is kept
  Sequence archived = kNoSequence;  // the newest that can be read
  Sequence durable = kNoSequence;   // the newest that survives a power cut
  // The publisher has begun a new journal, so this one no longer grows. History::journals() lists
  // all of them.
  bool is_discarded = false;
};

// The records of a finished segment in place: verified once, mapped read-only, not copied. This
// object may be copied, outlives the History, and does not change when retention removes the file.
// A forked child does not have the mapping and must map its own.
struct MappedSegment {
  Sequence first = kNoSequence;
  std::uint64_t count = 0;  // records: first, first + 1, …
  std::uint32_t record_bytes = 0;
  std::uint32_t stride = 0;            // bytes from one record to the next
  const std::byte* records = nullptr;  // the first one
  std::shared_ptr<const void> mapping = {};

  // `index` is below count.
  std::span<const std::byte> record(std::uint64_t index) const {
    return {records + index * stride, record_bytes};
  }
};

class History {
 public:
  // Opens the newest journal of the bus in `directory`. It does not switch to a journal that begins
  // later. Errors: kNoBus, kNoJournal, kDamaged, kNotPermitted, kNotALapwingFile, kAbiMismatch,
  // kSystem.
  [[nodiscard]] static absl::StatusOr<History> open(const std::string& directory);
  // Opens the journal with that id. Errors: as above, and kNotFound if the bus does not list it.
  [[nodiscard]] static absl::StatusOr<History> open(const std::string& directory,
                                                    const Id128& journal_id);
  // Returns all journals that the bus lists, oldest first. A publisher begins a new journal if
  // the last one failed, was shed, or was ended by `lapwing repair`. Errors: those of open().
  [[nodiscard]] static absl::StatusOr<std::vector<HistoryInfo>> journals(
      const std::string& directory);
  History(History&&) noexcept;
  History& operator=(History&&) noexcept;
  ~History();

  [[nodiscard]] HistoryInfo info() const;

  // Copies consecutive records, beginning with `first`, into `rows`, end to end, as many as fit. If
  // the journal does not contain the first one, returns one kLost event with the range and the
  // cause. Errors: kWouldBlock (`first` is beyond `archived`); kTooSmall; kInvalidArgument (`first`
  // is not a sequence). For all others status() has the message.
  [[nodiscard]] Result<Batch> read(Sequence first, std::span<std::byte> rows);
  // Maps the finished segment that contains record `n`. If a void divides the segment, maps only
  // the part that contains `n`. Reads the whole segment once, to verify it. Use it for records that
  // are read often or by many processes. For a segment that is still growing, use read().
  // Maps only files that only this user and root can change, because truncating a mapped file ends
  // the process (SIGBUS). Errors: kWouldBlock (not all of the segment is durable). kNotPermitted:
  // the file belongs to another user, or others may write to it; use read(). Also kPruned,
  // kNotFound (a void), kDamaged, kInvalidArgument, kSystem.
  [[nodiscard]] absl::StatusOr<MappedSegment> map(Sequence n);
  // Returns the sequence at which to begin reading so that no record published at or after `utc_ns`
  // is missed. It is exact or slightly too early, and never below the oldest.
  [[nodiscard]] absl::StatusOr<Sequence> find_time(std::uint64_t utc_ns);
  // The error of the last read that returned neither rows nor an event.
  [[nodiscard]] const absl::Status& status() const;

 private:
  struct State;
  struct DeleteState {
    void operator()(State* state) const;  // not in a forked child
  };
  using StateHandle = std::unique_ptr<State, DeleteState>;
  explicit History(StateHandle state);
  static absl::StatusOr<History> open(StateHandle state);
  StateHandle state_;
};

}  // namespace lapwing
