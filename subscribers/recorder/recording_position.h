// FILE.position: which part of a recording is confirmed, and where to continue. It is
// authoritative: anything beyond it in the files was never recorded.
//
//   {"journal":"…","session":"…","sequence":4711,"records":4711,"schema":"dbn.mbo",
//    "record_bytes":56,"schema_hash":"0000000000000000","bytes":81920,"part":2,
//    "began_ns":1795185000000000000,"event_records":0,"stray_records":0,
//    "checksum":"89f1c0a34be77d02","ended":false,"feed_session":"…"}
//
// One line of JSON, replaced as a whole (os/small_file.h). `schema`, `record_bytes` and
// `schema_hash` are the kind of every record in the recording, which cannot continue with another
// kind. `schema_hash` is that of the description in record files. It is 0 in DBN files, for a
// schema that Lapwing ships, and if there is no description.
// `part` and `began_ns` identify the growing file: its number in a series and the time of its first
// record. `part` is 0 if the recording is one file. All files in a series with lower numbers are
// complete. `bytes` is the confirmed size of the growing file; 0: it may not exist, and is
// recreated. `event_records`: in a series, the number of records at its end whose event has not
// ended. `stray_records`: in a series that rotates by time, the number of records at its end with a
// time far from the file's period (rotation.h). `checksum` is that of the confirmed bytes
// (content_checksum); 0: unknown. `ended`: the run that wrote this has finished the file, so
// nothing follows `bytes`. `feed_session`: the session whose DBN metadata is in the growing file;
// it may differ from the session in the position. Releases before 0.2.0 do not write the last four.
//
// Thread safety: free functions; one writer per recording.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/dbn.h"
#include "lapwing/subscriber.h"
#include "os/io.h"
#include "proto/schema_label.h"

namespace lapwing {

// The kind of every record in a recording.
struct RecordedKind {
  // Its hash is that of the description in the files; 0: they have none.
  SchemaLabel schema;
  std::uint32_t record_bytes = 0;  // 0: not written (by a release before 0.2.0)

  friend bool operator==(const RecordedKind&, const RecordedKind&) = default;
};

// Ok if a recording of `held` records may continue with `carried` ones. Errors: kRecordSize, with
// both kinds. `path` is the recording's path.
absl::Status check_same_kind(const std::string& path, const RecordedKind& held,
                             const RecordedKind& carried);

struct RecordingPosition {
  StoredPosition position;    // of the last confirmed record
  std::uint64_t records = 0;  // in the whole recording
  RecordedKind kind;
  std::uint64_t bytes = 0;
  std::uint64_t part = 0;
  std::uint64_t began_ns = dbn::kUndefTimestamp;
  std::uint64_t event_records = 0;  // at the end of that file, of an unfinished event
  std::uint64_t stray_records = 0;  // at the end of that file, with a time far from its period
  std::uint64_t checksum = 0;       // of `bytes`; 0: unknown
  bool ended = false;               // the file has no more than `bytes`
  Id128 feed_session;               // session of the file's metadata; zero: that of `position`

  // True if any part of the recording is confirmed.
  bool began() const { return bytes > 0 || part > 1; }
};

std::string position_path(const std::string& recording_path);

// Errors: kNotFound, kNotPermitted, kDamaged (not a FILE.position), kSystem.
absl::StatusOr<RecordingPosition> read_position(Disk& disk, const std::string& recording_path);
// Errors: kNoSpace, kNotPermitted, kNotFound (the directory), kSystem.
absl::Status write_position(Disk& disk, const std::string& recording_path,
                            const RecordingPosition& position);

// Distinguishes the first `bytes` bytes of a recording's file from another file's or an
// older copy's. XXH3-64 of the first kChecksumHeadBytes and the last kChecksumTailBytes of
// them, never 0. The cost does not depend on the file's size. Errors: those of the disk;
// kDamaged (the file is shorter).
inline constexpr std::uint64_t kChecksumHeadBytes = 4096;
inline constexpr std::uint64_t kChecksumTailBytes = 65'536;
absl::StatusOr<std::uint64_t> content_checksum(Disk& disk, const std::string& path,
                                               std::uint64_t bytes);
// Checks that the growing file is the one for which the position was written. Errors: kDamaged with
// the difference and the user's choices; those of the disk.
absl::Status check_content(Disk& disk, const std::string& recording_path,
                           const RecordingPosition& position);
// The error to return if that file is missing.
absl::Status file_is_gone(const std::string& recording_path, const RecordingPosition& position);

// The path of the growing file.
std::string file_path(const std::string& recording_path, const RecordingPosition& position);

}  // namespace lapwing
