// A recording writes a bus into a file, or a series of files, that other programs can read. It
// continues exactly where it stopped, even after a crash: no record is duplicated or missing.
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
// Records of a DBN schema are written to DBN files. All others are written to record
// files, which begin with the description of their records (docs/reference/file-formats.md). A path
// that ends in ".records" or ".records.zst" also selects record files for DBN schemas. A path
// that ends in ".zst" selects zstd compression.
//
// A recording at `path` consists of the file or files of records, <path>.position and <path>.lock.
// <path>.position contains the end of the valid data. <path>.lock excludes other recordings at this
// path. The kernel releases the lock when the process ends for any reason; the file remains.
//
// commit() makes appended records durable, and only then moves <path>.position. After a crash the
// next open() continues there and truncates everything after it. A file is therefore always
// complete up to its last commit, and other programs may read it. A recording holds records of one
// schema, size and description. Other records are refused, in this run and in later ones.
//
// With rotation, the recording is a series: es.dbn.zst becomes es.000001.20261120T143000Z.dbn.zst,
// es.000002.…. Each file is complete in itself, and its name contains a number and the time of its
// first record. A venue's event is not split. A complete file may be moved away. The last file is
// complete after finish().
//
// Threads: one thread at a time, any thread. Owns the files and the lock.
// Fork: in a forked child every call that records returns kForked, position() and counters() are as
// they were at the fork, and the destructor does nothing. Errors: the first one of append(),
// append_state(), end_state(), commit() and finish() is final. Everything committed before it
// remains. A new Recording at the same path continues there.
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

// When a recording starts a new file. Limits that differ from those of the last run apply from
// the next record on. A single file cannot become a series, nor a series a single file.
struct Rotation {
  // File size in bytes; 0: not by size. A file that has reached it ends with the current event.
  // With zstd, the file may be larger by the compressed size of 384 KiB of records.
  std::uint64_t bytes = 0;
  // At each multiple of `every` in UTC; 0: not by time. The records' times decide: ts_recv,
  // for bars ts_event, otherwise the field with the role kTime. So the same records make the same
  // files, live or read from the journal a day later. Schemas without a time are refused. A record
  // goes to the open file if its time is undefined (0, or 2^63 - 1 or more) or far from the file's
  // period. The 16th far record in a row begins a new file (docs/reference/file-formats.md,
  // "Recordings").
  std::chrono::nanoseconds every = {};

  // Instead of `every`: at a time of day in a time zone, each day, each week, or on the first day
  // of each month. A day on which clocks change has 23 or 25 hours. If the change skips that time,
  // the period begins at the change. If the time occurs twice, it begins at the first occurrence.
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

// Consecutive records of one session, stored end to end, with their description.
struct RecordBatch {
  std::string schema_name = {};
  std::span<const std::byte> records = {};
  StoredPosition last = {};  // of the last record: Subscriber::position()
  // Record size in bytes. 0: that of the description, or of the metadata of DBN files.
  std::uint32_t record_bytes = 0;
  // Null: the records are not described. DBN files do not need a description.
  std::shared_ptr<const Schema> schema = {};
  // The session that published the records. A DBN file begins with the metadata of its feed. Zero:
  // the session of `last`.
  Id128 session_id = {};

  // Makes a batch of records that the subscriber has just read, with its position and description.
  [[nodiscard]] static RecordBatch of(const Subscriber& subscriber,
                                      std::span<const std::byte> records = {});
};

struct RecordingCounters {
  std::uint64_t records = 0;  // in the whole recording, including earlier runs
  std::uint64_t files = 0;    // files that this object has written to
  // Sessions whose feed's symbols or dataset differ from the metadata of the DBN file that contains
  // their records. Always 0 with a rotation, where such a session starts a new file.
  std::uint64_t foreign_sessions = 0;
};

class Recording {
 public:
  // Waits for the lock until the deadline, takes it and examines the existing files. Changes
  // nothing else: files are created when the first records arrive.
  // Errors: kInUse: another process, which the message names, has a recording at this path open.
  // kInvalidArgument: an invalid limit, an unknown time zone, other files with these names, or a
  // change between a single file and a series. kNotFound: the path's directory does not exist.
  // kDamaged: <path>.position is damaged, or the file that it names is missing, truncated, changed
  // or replaced. Also kNotALapwingFile, kNotPermitted, kSystem.
  [[nodiscard]] static absl::StatusOr<Recording> open(RecordingOptions options,
                                                      Deadline deadline = std::chrono::seconds(1));
  Recording(Recording&&) noexcept;
  Recording& operator=(Recording&&) noexcept;
  // Keeps everything committed. Without finish(), the next open() truncates the rest.
  ~Recording();

  // The last commit, at which to continue; nullopt for a new recording.
  [[nodiscard]] std::optional<StoredPosition> position() const;

  // Appends records. Errors:
  // kRecordSize: records whose schema, size or description differs from earlier ones; not whole
  // records; or a schema that DBN does not have and a path that ends in .dbn. kBadInput: a DBN
  // schema, but the bus has no metadata (PublisherOptions::metadata). kInvalidArgument: no size is
  // given, or rotation by time, but the records have no time. kMisuse: after finish(); changes
  // nothing. Also kNoSpace, kNotPermitted, kSystem.
  [[nodiscard]] absl::Status append(const RecordBatch& batch);

  // Records the state with which a recording begins if the bus was joined with Start::snapshot().
  // Pass its entries, stored end to end, as kState delivers them. At kSnapshotComplete, pass a
  // batch without records to end_state(). Orders are recorded like a venue's own snapshot: a clear,
  // then the orders as adds, flagged SNAPSHOT. The latest records are recorded unchanged. They
  // precede everything else and are in one file. Entries are held in memory until end_state();
  // append() without it drops them.
  // Errors: those of append(); kInvalidArgument (entries that are not records of the bus); kMisuse
  // (the recording has already begun).
  [[nodiscard]] absl::Status append_state(const Fold& fold, std::span<const std::byte> entries);
  [[nodiscard]] absl::Status end_state(const RecordBatch& as_of);

  // Makes the appended records durable and moves position() to their end. Costs a sync of the file.
  [[nodiscard]] absl::Status commit();
  // Makes the last commit and ends the file. If a single-file recording has no records, and
  // `joined` describes the records, it becomes an empty file as of the join. `joined` is a batch
  // without records.
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
