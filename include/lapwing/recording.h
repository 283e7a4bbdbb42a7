// A recording: what a bus carries, in a file or a series of them that other programs can read. It
// continues exactly where it was, after a crash as well: no record twice, none missing.
//
//   auto recording = lapwing::Recording::open({.path = "es.dbn.zst", .directory = "./es"});
//   if (!recording.ok()) return fail(recording.status());
//   const auto position = recording->position();
//   auto subscriber = lapwing::Subscriber::open(
//       {.directory = "./es",
//        .start = position ? lapwing::Start::after(*position) : lapwing::Start::oldest()});
//   ...
//   const auto batch = subscriber->read(rows, std::chrono::milliseconds(500));
//   if (batch.ok() && batch->kind == lapwing::ItemKind::kRecord) {
//     const auto records = std::span(rows).first(batch->count * batch->row_bytes);
//     absl::Status done = recording->append(lapwing::RecordBatch::of(*subscriber, records));
//   }
//   absl::Status durable = recording->commit();  // now and then
//
// Records of a schema that DBN has become DBN files. All others become record files, which begin
// with the description of their records (docs/reference/file-formats.md); so do those of DBN if the path ends in
// ".records" or ".records.zst". A path that ends in ".zst" makes zstd files.
//
// Three files belong to a recording at `path`: the file or files of records; <path>.position,
// which says how far they may be believed; and <path>.lock, which keeps every other recording of
// this path out. The kernel releases that lock when the process ends, however it ends; the file
// stays.
//
// commit() makes what was appended durable, and only then moves <path>.position. After a crash the
// next open() continues there and cuts off what stands behind it. So a file up to its last commit
// is a complete one at any time, and others may read it. A recording holds records of one schema,
// size and description; others are refused, in this run and in later ones.
//
// With a rotation the recording is a series: es.dbn.zst becomes es.000001.20261120T143000Z.dbn.zst,
// es.000002.…, each complete by itself, with a number and the time of its first record. A venue's
// event is not split. A complete file may be moved away; the last one is complete after finish().
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
#include "lapwing/schema.h"
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
  // At each multiple of `every` in UTC, by the records' time (ts_recv, of bars ts_event, otherwise
  // the field of the role kTime). So the same records make the same files, live or read from the
  // journal a day later. Schemas without a time are refused. A record goes to the open file if its
  // time is undefined (0, or from 2^63 - 1 on) or far from the file's period. The 16th far record
  // in a row begins a new file (docs/reference/file-formats.md, "Recordings"). 0: not by time.
  std::chrono::nanoseconds every = {};

  // Instead of `every`: at a time of day in a time zone, each day, each week, or on the first day
  // of each month. A day on which clocks change has 23 or 25 hours. If the change skips that time,
  // the period begins at the change. If the time occurs twice, it begins at the first one.
  enum class Calendar : std::uint8_t { kNone, kDay, kWeek, kMonth };
  Calendar calendar = Calendar::kNone;
  std::chrono::minutes at = {};                           // from midnight, less than a day
  std::chrono::weekday week_begin = std::chrono::Monday;  // kWeek
  std::string time_zone = "UTC";                          // of the IANA database: America/Chicago

  bool by_time() const { return every.count() != 0 || calendar != Calendar::kNone; }
  bool on() const { return bytes != 0 || by_time(); }
};

struct RecordingOptions {
  std::string path = {};
  std::string directory = {};  // of the bus; DBN files begin with the metadata of its sessions
  Rotation rotation = {};
};

// Records of one session that follow one another on the bus, laid end to end; and what they are.
struct RecordBatch {
  std::string schema_name = {};
  std::span<const std::byte> records = {};
  StoredPosition last = {};  // of the last of them: Subscriber::position()
  // Of one record, bytes. 0: as the description says, or the metadata of DBN files.
  std::uint32_t record_bytes = 0;
  // Null: nobody has described them. DBN files do not need it.
  std::shared_ptr<const Schema> schema = {};
  // The session that published the records. A DBN file begins with the metadata of its feed. Zero:
  // the session of `last`.
  Id128 session_id = {};

  // Records that the subscriber has just read, with what it says of them and their position.
  [[nodiscard]] static RecordBatch of(const Subscriber& subscriber,
                                      std::span<const std::byte> records = {});
};

struct RecordingCounters {
  std::uint64_t records = 0;  // in the whole recording, those of earlier runs included
  std::uint64_t files = 0;    // that this object has written to
  // Sessions whose feed has other symbols or another dataset than the metadata of the DBN file that
  // their records went into. Always 0 with a rotation, where such a session begins a new file.
  std::uint64_t foreign_sessions = 0;
};

class Recording {
 public:
  // Takes the lock, for which it waits until the deadline, and looks at what is there. Changes
  // nothing else: files are made when the first records arrive.
  // Errors: kInUse (another process, which the message names, has a recording of this path
  // open); kInvalidArgument (a limit; an unknown time zone; other files have these names; one file
  // would become a series or a series one file); kNotFound (the path's directory); kDamaged
  // (<path>.position; or the file that it names is missing, or was cut, changed or replaced);
  // kNotALapwingFile, kNotPermitted, kSystem.
  [[nodiscard]] static absl::StatusOr<Recording> open(RecordingOptions options,
                                                      Deadline deadline = std::chrono::seconds(1));
  Recording(Recording&&) noexcept;
  Recording& operator=(Recording&&) noexcept;
  // Leaves what was committed. Without finish() the rest is cut off by the next open().
  ~Recording();

  // Where to continue: the last commit. Nothing for a recording that begins.
  [[nodiscard]] std::optional<StoredPosition> position() const;

  // Errors: kRecordSize (records of another schema, size or description than before; no whole
  // records; a schema that DBN does not have and a path that ends in .dbn), kBadInput (a schema of
  // DBN, and the bus has no metadata: PublisherOptions::metadata), kInvalidArgument (no size is
  // given; a rotation by time of records without one), kMisuse (after finish(); changes nothing),
  // kNoSpace, kNotPermitted, kSystem.
  [[nodiscard]] absl::Status append(const RecordBatch& batch);

  // The state with which a recording begins that was joined with Start::snapshot(): its entries,
  // laid end to end, as kState delivers them; then its end, at kSnapshotComplete: a batch without
  // records. Orders are recorded as the records of a venue's own snapshot are (a clear, then the
  // orders as adds, flagged SNAPSHOT), the latest records as they are; before anything else and in
  // one file. Held in memory until end_state(); append() without it drops the entries.
  // Errors: as of append(); kInvalidArgument (entries that are no records of the bus), kMisuse (the
  // recording has begun).
  [[nodiscard]] absl::Status append_state(const Fold& fold, std::span<const std::byte> entries);
  [[nodiscard]] absl::Status end_state(const RecordBatch& as_of);

  // Makes what was appended durable and moves position() behind it. Costs a sync of the file.
  [[nodiscard]] absl::Status commit();
  // The last commit; ends the file. One file without records still becomes an empty one where the
  // bus was joined, if `joined`, a batch without records, says what they are.
  [[nodiscard]] absl::Status finish(const RecordBatch& joined = {});

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
