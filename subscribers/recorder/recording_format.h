// The format of a recording: DBN files or record files (snapshot/recording/record_file.h).
//
// DBN files hold DBN schemas, and record files hold all others. If the name ends in .records or
// .records.zst, DBN records are also written to a record file. If it ends in .dbn or .dbn.zst,
// records that DBN does not have are refused.
//
// Thread safety: immutable. feed_metadata is called by choose(), head() and is_same_feed().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/recording.h"
#include "snapshot/schema/record_clock.h"
#include "subscribers/recorder/recording_position.h"
#include "subscribers/recorder/rotation.h"

namespace lapwing {

// Returns the raw DBN metadata of that session's feed.
using FeedMetadata = std::function<absl::StatusOr<std::string>(const Id128& session_id)>;

// Returns a FeedMetadata for the sessions of the bus in `directory`. Its errors: kBadInput with the
// remedy if the session has no metadata; those of SessionMetadata.
FeedMetadata dbn_metadata_of(const std::string& directory);

// The session of the batch's records.
const Id128& session_of(const RecordBatch& batch);

class RecordingFormat {
 public:
  // Chooses the format for records like the batch's, in files that are named `path` or after it.
  // Errors: kRecordSize (a schema that a file of this name cannot hold, or a record size that
  // differs from the metadata's DBN version), kInvalidArgument (the batch's record size is missing
  // or impossible), kBadInput (metadata), those of `feed_metadata`.
  static absl::StatusOr<RecordingFormat> choose(const RecordBatch& batch, const std::string& path,
                                                FeedMetadata feed_metadata);

  const RecordedKind& kind() const { return kind_; }
  std::uint32_t record_bytes() const { return kind_.record_bytes; }
  const RecordClock& clock() const { return clock_; }
  const EventEnds& ends_event() const { return ends_event_; }

  // Ok if the batch holds whole records of this kind. A reader would misinterpret any other
  // records. Errors: kRecordSize.
  absl::Status check(const RecordBatch& batch) const;
  // The bytes that a file begins with. A DBN file begins with that session's metadata, with its
  // start set to `began_ns` unless that is kUndefTimestamp. Errors: those of `feed_metadata`.
  absl::StatusOr<std::string> head(std::uint64_t began_ns, const Id128& session_id) const;
  // True if the two sessions' metadata is the same except for time range and limit,
  // so that their records may be in one DBN file. True for record files. Errors:
  // those of `feed_metadata`, kBadInput.
  absl::StatusOr<bool> is_same_feed(const Id128& session_id, const Id128& other) const;

 private:
  RecordingFormat(std::string path, RecordedKind kind)
      : path_(std::move(path)), kind_(std::move(kind)) {}
  static absl::StatusOr<RecordingFormat> dbn_files(const RecordBatch& batch,
                                                   const std::string& path,
                                                   FeedMetadata feed_metadata);
  static absl::StatusOr<RecordingFormat> record_files(const RecordBatch& batch,
                                                      const std::string& path);
  bool is_dbn() const { return feed_metadata_ != nullptr; }
  bool is_same_kind(const RecordBatch& batch) const;

  std::string path_;  // for messages
  RecordedKind kind_;
  RecordClock clock_;
  EventEnds ends_event_;
  FeedMetadata feed_metadata_ = {};  // DBN files only
  // Record files only: the head, and the description in it (null: none).
  std::string record_file_head_ = {};
  std::shared_ptr<const Schema> description_ = {};
};

}  // namespace lapwing
