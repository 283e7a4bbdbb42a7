// A recording: a DBN file that grows, and beside it FILE.position, which says how far it may be
// believed and where to go on.
//
// Every commit() ends a zstd frame, syncs the file, and then replaces FILE.position. A recording
// that was cut short by a crash is truncated to its last commit when it is continued, so it never
// holds a torn record and never one twice.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/dbn.h"
#include "snapshot/dbn/dbn_writer.h"
#include "snapshot/posix_io.h"
#include "subscribers/subscriber.h"

namespace lapwing::cli {

class Recording {
 public:
  // Looks at what stands at `path` without changing it: nothing (a new recording), or a recording
  // with its position (it is continued). Errors: kInvalidArgument if a file stands there that is no
  // recording of ours, or the directory is missing.
  static absl::StatusOr<Recording> prepare(const std::string& path);

  // Where to go on; nullopt for a new recording.
  const std::optional<StoredPosition>& position() const { return position_; }
  std::uint64_t records() const { return records_; }  // in the whole recording

  // Writes records laid end to end. Opens the file when the first arrive, with the feed's metadata
  // from the bus directory. Errors: kRecordSize for a schema that DBN does not have, or that is not
  // the recording's; kNoSpace, kSystem.
  absl::Status append(const std::string& bus, const std::string& schema,
                      std::span<const std::byte> records, std::uint32_t record_bytes);
  // Makes what was appended durable and moves FILE.position to `position`.
  absl::Status commit(const StoredPosition& position);
  // The last commit. A recording without records still becomes a valid, empty DBN file where the
  // feed's metadata is known.
  absl::Status finish(const std::string& bus, const std::string& schema,
                      const StoredPosition& position);

 private:
  explicit Recording(std::string path)
      : path_(std::move(path)), disk_(std::make_unique<PosixDisk>()) {}
  std::string position_path() const { return path_ + ".position"; }
  absl::Status open(const std::string& bus, const std::string& schema);
  absl::Status open_again(dbn::SchemaId schema);
  absl::Status other_schema(const std::string& recorded) const;
  absl::Status write_position(const StoredPosition& position, std::uint64_t bytes) const;

  std::string path_;
  std::optional<StoredPosition> position_;  // of the last commit before this process
  std::uint64_t committed_bytes_ = 0;
  std::uint64_t records_ = 0;
  bool uncommitted_ = false;
  std::string schema_;               // of the bus when the file was opened
  std::unique_ptr<PosixDisk> disk_;  // outlives the writer, which borrows it
  std::unique_ptr<DbnWriter> writer_;
};

}  // namespace lapwing::cli
