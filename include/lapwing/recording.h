// A recording: what a bus carries, in a DBN file or a series of them that other programs can read.
// It continues exactly where it was, after a crash as well: no record twice, none missing.
//
//   auto recording = lapwing::Recording::open({.path = "es.dbn.zst", .directory = "./es"});
//   if (!recording.ok()) return fail(recording.status());
//   const auto position = recording->position();
//   auto subscriber = lapwing::Subscriber::open(
//       {.directory = "./es",
//        .start = position ? lapwing::Start::after(*position) : lapwing::Start::oldest()});
//   ...
//   const lapwing::Batch batch = subscriber->read(rows, std::chrono::milliseconds(500));
//   if (batch.kind == lapwing::Batch::Kind::kRecords) {
//     absl::Status done = recording->append(
//         {subscriber->schema(), std::span(rows).first(batch.count * batch.row_bytes),
//          subscriber->position()});
//   }
//   absl::Status durable = recording->commit();  // now and then
//
// Three files belong to a recording at `path`: the DBN file or files, zstd if the path ends in
// ".zst"; <path>.position, which says how far they may be believed; and <path>.lock, which keeps
// every other recording of this path out. The kernel releases that lock when the process ends,
// however it ends; the file stays.
//
// commit() makes what was appended durable, and only then moves <path>.position. After a crash the
// next open() continues there and cuts off what stands behind it. So a file up to its last commit
// is a complete DBN file at any time, and others may read it.
//
// With a rotation the recording is a series: es.dbn.zst becomes es.000001.20261120T143000Z.dbn.zst,
// es.000002.…, each complete by itself, with a number and the time (ts_recv) of its first record.
// A venue's event is not split. A file that is complete may be moved away.
//
// Threads: one thread at a time, any thread. Owns the files and the lock.
// Fork: in a forked child every call that records answers kForked, position() and counters() are
// those of the fork, and the destructor does nothing.
// Errors: the first one of append(), append_state(), end_state(), commit() and finish() is final.
// What was committed before it stays, and a new Recording of the same path continues there.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/fold.h"
#include "lapwing/subscriber.h"
#include "lapwing/waiting.h"

namespace lapwing {

inline constexpr std::uint64_t kRotateBytesMin = 64 * 1024;

// When a recording begins another file. Other limits than those of the last run apply from the next
// record on; one file does not become a series, nor a series one file.
struct Rotation {
  // A file of so many bytes is the last of its records' event. zstd may keep back the bytes of
  // 384 KiB of records besides. 0: not by size.
  std::uint64_t bytes = 0;
  // At each multiple of `every` in UTC, by the records' ts_recv. So the same records make the same
  // files, live or read from the journal a day later. 0: not by time.
  std::chrono::nanoseconds every = {};

  bool on() const { return bytes != 0 || every.count() != 0; }
};

struct RecordingOptions {
  std::string path = {};
  std::string directory = {};  // of the bus: its feed's metadata go into each file that is made
  Rotation rotation = {};
};

// Records of one schema that follow one another on the bus, laid end to end.
struct RecordBatch {
  std::string schema = {};
  std::span<const std::byte> records = {};
  StoredPosition last = {};  // of the last of them: Subscriber::position()
};

struct RecordingCounters {
  std::uint64_t records = 0;  // in the whole recording, those of earlier runs included
  std::uint64_t files = 0;    // that this object has written to
};

class Recording {
 public:
  // Takes the lock, for which it waits until the deadline, and looks at what is there. Changes
  // nothing else: files are made when the first records arrive.
  // Errors: kBusTaken (a recording of this path is open, with its process); kInvalidArgument (a
  // limit; files of others stand there; one file would become a series or a series one file);
  // kNotFound (the path's directory), kDamaged (<path>.position), kNotALapwingFile, kNotPermitted,
  // kSystem.
  [[nodiscard]] static absl::StatusOr<Recording> open(RecordingOptions options,
                                                      Deadline deadline = std::chrono::seconds(1));
  Recording(Recording&&) noexcept;
  Recording& operator=(Recording&&) noexcept;
  // Leaves what was committed. Without finish() the rest is cut off by the next open().
  ~Recording();

  // Where to continue: the last commit. Nothing for a recording that begins.
  [[nodiscard]] std::optional<StoredPosition> position() const;

  // Errors: kRecordSize (a schema that DBN does not have, or another one than before; no whole
  // records), kBadInput (the bus has no DBN metadata: PublisherOptions::metadata), kMisuse (after
  // finish(); changes nothing), kNoSpace, kNotPermitted, kSystem.
  [[nodiscard]] absl::Status append(const RecordBatch& batch);

  // The state with which a recording begins that was joined with Start::snapshot(): its entries,
  // laid end to end, as kState delivers them; then its end, at kSnapshotComplete. It is recorded as
  // the records of a venue's own snapshot are (a clear, then the orders as adds, flagged SNAPSHOT),
  // before anything else and in one file. Held in memory until end_state(); append() without it
  // drops the entries. Errors: as of append(); kInvalidArgument (entries that are no records that
  // DBN has), kMisuse (the recording has begun).
  [[nodiscard]] absl::Status append_state(const Fold& fold, std::span<const std::byte> entries);
  [[nodiscard]] absl::Status end_state(const StoredPosition& as_of);

  // Makes what was appended durable and moves position() behind it. Costs a sync of the file.
  [[nodiscard]] absl::Status commit();
  // The last commit; ends the file. One file without records still becomes an empty DBN file where
  // the bus was joined: `schema` and `joined` are the subscriber's.
  [[nodiscard]] absl::Status finish(const std::string& schema = {},
                                    const StoredPosition& joined = {});

  [[nodiscard]] RecordingCounters counters() const;

 private:
  struct State;
  struct DeleteState {
    void operator()(State* state) const;  // not in a forked child
  };
  using StateHandle = std::unique_ptr<State, DeleteState>;
  explicit Recording(StateHandle state);
  StateHandle state_;
};

}  // namespace lapwing
