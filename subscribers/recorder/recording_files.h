// The files of a recording: what a bus carries, in a file or a series of them (recording_format.h),
// with FILE.position beside it (recording_position.h), so that it goes on exactly where it was: no
// record twice, none missing.
//
// commit() ends a zstd frame, syncs the file, and then moves FILE.position. After a crash the file
// is cut back to what the position says when it is continued. So at any time a file up to its last
// commit is a complete one, which others may read.
//
// A rotation (rotation.h) is, in this order, and may be cut short between any two steps:
//
//   1  the old file is ended and synced, and its directory   position: in the old file, before this
//   2  FILE.position names the new file, 0 bytes of it        position: the old file's end
//   3  the new file is made                                   a file of 0 bytes is made anew
//   4  the next commit
//
// Invariant: a file that is not named by FILE.position is complete, or was never ours. Finished
// files may be moved away. If the file that FILE.position names is missing, a series continues with
// the next number, but only if the run before ended properly. Otherwise the file may have had
// records that would be recorded again, and this is an error. It is also an error if that file has
// other content than was recorded (content_checksum).
//
// Errors: the first one is final. What was committed before it stays, and a new object of the same
// path goes on there.
//
// Thread safety: one thread. Borrows the Disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/recording.h"
#include "lapwing/subscriber.h"
#include "os/io.h"
#include "snapshot/recording/record_writer.h"
#include "subscribers/recorder/recording_format.h"
#include "subscribers/recorder/recording_position.h"
#include "subscribers/recorder/rotation.h"

namespace lapwing {

struct RecordingFilesOptions {
  std::string path;
  Rotation rotation;
  FeedMetadata feed_metadata;
};

class RecordingFiles {
 public:
  // Examines existing files, and changes nothing. Errors: kInvalidArgument (other files have these
  // names; a series would become one file, or one file a series), kNotFound (the directory),
  // kDamaged (FILE.position; or the file that it names is missing or was replaced), kNotPermitted,
  // kSystem.
  static absl::StatusOr<std::unique_ptr<RecordingFiles>> prepare(Disk& disk,
                                                                 RecordingFilesOptions options);

  // The last commit, where to go on; nullopt before the first one.
  std::optional<StoredPosition> position() const;
  std::uint64_t records() const { return records_; }                    // in the whole recording
  std::uint64_t files() const { return files_; }                        // written to by this object
  std::uint64_t foreign_sessions() const { return foreign_sessions_; }  // RecordingCounters

  // Makes or opens the file when the first records arrive. Errors: kRecordSize for records that are
  // not the recording's; those of RecordingFormat::choose(); kInvalidArgument for a rotation by
  // time of records that have none; kNoSpace, kSystem, …
  absl::Status append(const RecordBatch& batch);
  // The state that a new recording begins with (recorded_state.h), as of batch.last: before
  // anything else, in one file. That file begins at the newest time in it.
  absl::Status append_state(const RecordBatch& batch);
  // Makes what was appended durable and moves FILE.position to `position`, which is that of the
  // last record appended.
  absl::Status commit(const StoredPosition& position);
  // The last commit, at joined.last. One file without records still becomes a valid, empty file
  // where the bus was joined: its schema is known, and there is a position to go on from.
  absl::Status finish(const RecordBatch& joined);

 private:
  RecordingFiles(Disk& disk, RecordingFilesOptions options, Periods periods)
      : disk_(disk), options_(std::move(options)), periods_(std::move(periods)) {}

  absl::Status check_continuation() const;
  absl::Status check_beginning() const;
  absl::Status record(const RecordBatch& batch);
  absl::Status record_state(const RecordBatch& batch);
  absl::Status record_in_parts(const RecordBatch& batch);
  absl::Status choose_format(const RecordBatch& batch);
  absl::Status open(std::uint64_t time_ns);
  absl::Status begin_file(RecordingPosition next, std::uint64_t time_ns);  // `next`: before it
  absl::Status remove_leftover() const;
  absl::Status rotate(const StoredPosition& position, std::uint64_t time_ns);
  bool rotation_due(bool period_is_over) const;
  bool period_is_over(std::uint64_t time_ns);
  std::uint64_t began_with(std::uint64_t time_ns) const;
  absl::Status follow_feed(const RecordBatch& batch);
  absl::Status move_position(const RecordingPosition& position);
  absl::Status keep(absl::Status status);

  Disk& disk_;
  const RecordingFilesOptions options_;
  const Periods periods_;
  RecordingPosition at_;  // as FILE.position has it; 0 bytes of part 0 before there is one
  bool continues_ = false;
  bool file_gone_ = false;  // the last file of the series was moved away
  std::uint64_t records_ = 0;
  std::uint64_t files_ = 0;
  bool uncommitted_ = false;
  std::uint64_t foreign_sessions_ = 0;
  Id128 file_session_;                     // whose metadata the growing file has
  Id128 session_;                          // of the last records
  Id128 judged_session_;                   // the last one that was compared with file_session_
  std::optional<RecordingFormat> format_;  // from the first records on
  std::unique_ptr<RecordWriter> writer_;

  // Of a series.
  bool has_records_ = false;         // the file that grows
  std::uint64_t event_records_ = 0;  // at its end, of an event that is not over
  std::uint64_t stray_records_ = 0;  // at its end, with a time far from its own
  absl::Status failure_;
};

}  // namespace lapwing
