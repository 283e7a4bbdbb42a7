// FILE.position: how far a recording may be believed, and where to go on. The truth about it: what
// stands in its files beyond this was never recorded.
//
//   {"journal":"…","session":"…","sequence":4711,"records":4711,"schema":"dbn.mbo",
//    "bytes":81920,"part":2,"began_ns":1795185000000000000,"event_records":0}
//
// One line of JSON, replaced as a whole (os/small_file.h). `part` and `began_ns` say which
// file is the one that grows: its number in a series and the ts_recv of its first record, or part 0
// where the recording is one file. All files of a series with lower numbers are complete. `bytes`
// of the one that grows are believed; 0: it may or may not be there, and is made anew.
// `event_records`: in a series, how many records at its end are of an event that is not over yet.
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

namespace lapwing {

struct RecordingPosition {
  StoredPosition position;    // of the last record that is believed
  std::uint64_t records = 0;  // in the whole recording
  std::string schema;
  std::uint64_t bytes = 0;
  std::uint64_t part = 0;
  std::uint64_t began_ns = dbn::kUndefTimestamp;
  std::uint64_t event_records = 0;  // at the end of that file, of an event that is not over

  // Whether anything of the recording is believed.
  bool began() const { return bytes > 0 || part > 1; }
};

std::string position_path(const std::string& recording_path);

// Errors: kNotFound, kNotPermitted, kDamaged (not one of ours), kSystem.
absl::StatusOr<RecordingPosition> read_position(Disk& disk, const std::string& recording_path);
// Errors: kNoSpace, kNotPermitted, kNotFound (the directory), kSystem.
absl::Status write_position(Disk& disk, const std::string& recording_path,
                            const RecordingPosition& position);

// The file that grows.
std::string file_path(const std::string& recording_path, const RecordingPosition& position);

}  // namespace lapwing
