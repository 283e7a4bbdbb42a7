// The journal of a bus by sequence: with a publisher or without one, beside it and never in its way.
//
//   auto history = lapwing::History::open("./es");
//   std::vector<std::byte> rows(1024 * history->info().record_bytes);
//   for (lapwing::Sequence next = history->info().oldest;;) {
//     const lapwing::Batch batch = history->read(next, rows);
//     if (batch.kind == lapwing::Batch::Kind::kRecords) next = use(batch, rows);
//     else if (batch.event) next = batch.event->gap.last + 1;  // what nothing can give, and why
//     else break;                                              // not there yet, or an error
//   }
//
// What it returns is proven: by its sum at or below `durable`, by its exact stamp everywhere. It
// finds the journal and how far that may be trusted by itself.
//
// Threads: one thread at a time, any thread. Owns the open files and a mapping of the ring's header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "lapwing/subscriber.h"

namespace lapwing {

// As of the call.
struct HistoryInfo {
  std::string schema;
  std::uint32_t record_bytes = 0;
  Id128 journal_id = {};
  Sequence oldest = 1;              // that retention has kept
  Sequence archived = kNoSequence;  // the newest that can be read
  Sequence durable = kNoSequence;   // the newest that no power cut takes back
};

class History {
 public:
  // `directory` is of the bus. Errors: kNoBus, kNoJournal, kDamaged, kNotPermitted,
  // kNotALapwingFile, kAbiMismatch, kSystem.
  [[nodiscard]] static absl::StatusOr<History> open(const std::string& directory);
  History(History&&) noexcept;
  History& operator=(History&&) noexcept;
  ~History();

  [[nodiscard]] HistoryInfo info() const;

  // Copies records from `first` on into `rows`, end to end, as many as fit and follow one another in
  // the journal; or one event kLost with the range that the journal cannot give and why.
  // Results: kOk; kWouldBlock (`first` is beyond `archived`); kTooSmall; kInvalidArgument (`first`
  // is no sequence); others with the words in status().
  [[nodiscard]] Batch read(Sequence first, std::span<std::byte> rows);
  // The sequence from which to read so that no record published at or after `utc_ns` is missed: at,
  // or a little before. Never below the oldest.
  [[nodiscard]] absl::StatusOr<Sequence> find_time(std::uint64_t utc_ns);
  // Why the last read that gave neither rows nor an event did not.
  [[nodiscard]] const absl::Status& status() const;

 private:
  struct State;
  explicit History(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lapwing
