// The files of a recording: a bus's records, in one file or a series of files
// (recording_format.h). FILE.position next to them (recording_position.h) lets the recording
// continue exactly where it stopped, with no record duplicated or missing.
//
// commit() ends a zstd frame, syncs the file, and then moves FILE.position. To continue after a
// crash, the file is truncated to the size in FILE.position. So up to its last commit, the file is
// always complete, and other programs may read it.
//
// A rotation (rotation.h) has these steps, in this order, and may be interrupted between any two:
//
//   1  the old file is ended and synced, its directory too    position: in the old file, before this
//   2  FILE.position names the new file, 0 bytes of it        position: the old file's end
//   3  the new file is created                                a file of 0 bytes is recreated
//   4  the next commit
//
// Invariant: a file not named by FILE.position is complete, or was never ours. Finished files
// may be moved away. If the file that FILE.position names is missing, a series continues with the
// next number, but only if the previous run ended properly. Otherwise the file may have contained
// records that would be recorded again, and this is an error. It is also an error if that file's
// contents differ from what was recorded (content_checksum).
//
// Errors: the first one is final. Records committed before it are kept, and a new object with the
// same path continues there.
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
  // names; a series would become a single file, or a single file a series), kNotFound (the
  // directory), kDamaged (FILE.position is damaged, or the file that it names is missing or was
  // replaced), kNotPermitted, kSystem.
  static absl::StatusOr<std::unique_ptr<RecordingFiles>> prepare(Disk& disk,
                                                                 RecordingFilesOptions options);

  // The position of the last commit, at which to continue; nullopt before the first one.
  std::optional<StoredPosition> position() const;
  std::uint64_t records() const { return records_; }                    // in the whole recording
  std::uint64_t files() const { return files_; }                        // written to by this object
  std::uint64_t foreign_sessions() const { return foreign_sessions_; }  // RecordingCounters

  // Creates or opens the file when the first records arrive. Errors: kRecordSize if their kind
  // differs from the recording's; those of RecordingFormat::choose(); kInvalidArgument for rotation
  // by time if records have no time; kNoSpace, kSystem, …
  absl::Status append(const RecordBatch& batch);
  // Appends the state that a new recording begins with (recorded_state.h), as of batch.last. It
  // must come first, and is written to one file, whose time is the newest time in the state.
  absl::Status append_state(const RecordBatch& batch);
  // Makes the appended records durable and moves FILE.position to `position`, the position of the
  // last appended record.
  absl::Status commit(const StoredPosition& position);
  // Makes the last commit, at joined.last. A single-file recording without records becomes a valid,
  // empty file: its schema is known, and it can be continued where the bus was joined.
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
  absl::Status begin_file(RecordingPosition next, std::uint64_t time_ns);  // `next`: as before it
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
  RecordingPosition at_;  // contents of FILE.position; part 0 with 0 bytes before it exists
  bool continues_ = false;
  bool file_gone_ = false;  // the last file of the series was moved away
  std::uint64_t records_ = 0;
  std::uint64_t files_ = 0;
  bool uncommitted_ = false;
  std::uint64_t foreign_sessions_ = 0;
  Id128 file_session_;                     // session whose metadata is in the growing file
  Id128 session_;                          // of the last records
  Id128 judged_session_;                   // the last one compared with file_session_
  std::optional<RecordingFormat> format_;  // set by the first records
  std::unique_ptr<RecordWriter> writer_;

  // For a series.
  bool has_records_ = false;         // in the growing file
  std::uint64_t event_records_ = 0;  // at its end, of an unfinished event
  std::uint64_t stray_records_ = 0;  // at its end, with a time far from its own
  absl::Status failure_;
};

}  // namespace lapwing
