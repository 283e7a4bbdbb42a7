// FILE.position: how far a recording may be believed, and where to go on. The truth about it: what
// stands in its files beyond this was never recorded.
//
//   {"journal":"…","session":"…","sequence":4711,"records":4711,"schema":"dbn.mbo",
//    "record_bytes":56,"schema_hash":"0000000000000000","bytes":81920,"part":2,
//    "began_ns":1795185000000000000,"event_records":0,"stray_records":0,
//    "checksum":"89f1c0a34be77d02","ended":false,"feed_session":"…"}
//
// One line of JSON, replaced as a whole (os/small_file.h). `schema`, `record_bytes` and
// `schema_hash` say what every record of the recording is; it is not continued with others.
// `schema_hash` is of the description in record files; 0 in DBN files, for a schema that Lapwing
// ships, and where there is none.
// `part` and `began_ns` say which file is the one that grows: its number in a series and the time
// of its first record, or part 0 where the recording is one file. All files of a series with lower
// numbers are complete. `bytes` of the one that grows are believed; 0: it may or may not be there,
// and is made anew. `event_records`: in a series, how many records at its end are of an event that
// is not over yet. `stray_records`: in a series that rotates by time, how many records at its end
// have a time far from the file's period (rotation.h). `checksum` is that of those bytes of the
// growing file (content_checksum); 0: unknown. `ended`: the run that wrote this has finished the
// file, so nothing follows `bytes`. `feed_session`: the session whose DBN metadata the growing file has; it
// may be another one than that of the position. Releases before 0.2.0 do not write these four.
//
// Thread safety: free functions; one writer for a recording.
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

// What every record of a recording is.
struct RecordedKind {
  // With the hash of the description that stands in its files; 0: none does.
  SchemaLabel schema;
  std::uint32_t record_bytes = 0;  // 0: a release before 0.2.0 has not said it

  friend bool operator==(const RecordedKind&, const RecordedKind&) = default;
};

// Whether a recording of records that are `held` goes on with `carried` ones.
// Errors: kRecordSize, with what both are; `path` is the recording's.
absl::Status check_same_kind(const std::string& path, const RecordedKind& held,
                             const RecordedKind& carried);

struct RecordingPosition {
  StoredPosition position;    // of the last record that is believed
  std::uint64_t records = 0;  // in the whole recording
  RecordedKind kind;
  std::uint64_t bytes = 0;
  std::uint64_t part = 0;
  std::uint64_t began_ns = dbn::kUndefTimestamp;
  std::uint64_t event_records = 0;  // at the end of that file, of an event that is not over
  std::uint64_t stray_records = 0;  // at the end of that file, with a time far from its period
  std::uint64_t checksum = 0;       // of `bytes`; 0: unknown
  bool ended = false;               // the file has no more than `bytes`
  Id128 feed_session;               // whose metadata the file has; zero: that of `position`

  // Whether anything of the recording is believed.
  bool began() const { return bytes > 0 || part > 1; }
};

std::string position_path(const std::string& recording_path);

// Errors: kNotFound, kNotPermitted, kDamaged (not one of ours), kSystem.
absl::StatusOr<RecordingPosition> read_position(Disk& disk, const std::string& recording_path);
// Errors: kNoSpace, kNotPermitted, kNotFound (the directory), kSystem.
absl::Status write_position(Disk& disk, const std::string& recording_path,
                            const RecordingPosition& position);

// Distinguishes the first `bytes` of a recording's file from those of another file or of an older
// copy. XXH3-64 of the first kChecksumHeadBytes of them and the last kChecksumTailBytes, never 0.
// The cost does not depend on the file's size. Errors: those of the disk; kDamaged (the file is
// shorter).
inline constexpr std::uint64_t kChecksumHeadBytes = 4096;
inline constexpr std::uint64_t kChecksumTailBytes = 65'536;
absl::StatusOr<std::uint64_t> content_checksum(Disk& disk, const std::string& path,
                                               std::uint64_t bytes);
// Checks that the growing file is the one for which the position was written. Errors: kDamaged,
// with the difference and the user's choices; those of the disk.
absl::Status check_content(Disk& disk, const std::string& recording_path,
                           const RecordingPosition& position);
// The error if that file is missing.
absl::Status file_is_gone(const std::string& recording_path, const RecordingPosition& position);

// The file that grows.
std::string file_path(const std::string& recording_path, const RecordingPosition& position);

}  // namespace lapwing
