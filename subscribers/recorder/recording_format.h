// What the files of a recording are: DBN files or record files (snapshot/recording/record_file.h).
//
// DBN files hold the schemas that DBN has, and record files all others. A name that ends in
// .records or .records.zst makes a record file of DBN's records, too; one that ends in .dbn or
// .dbn.zst is refused for records that DBN does not have.
//
// Thread safety: immutable. feed_metadata is called by choose() and head().
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

// The feed's DBN metadata, raw. Asked for whenever a DBN file is made.
using FeedMetadata = std::function<absl::StatusOr<std::string>()>;

// That of the bus in `directory`. Errors: kBadInput if it has none, with what to do; those of
// read_feed_metadata.
absl::StatusOr<std::string> dbn_metadata_of(const std::string& directory);

class RecordingFormat {
 public:
  // For records like those of the batch, in files that are called `path` or made from it.
  // Errors: kRecordSize (a schema that a file of this name cannot hold, or another record size than
  // the metadata's version of DBN has), kInvalidArgument (the batch does not say how long a record
  // is, or says what no record can be), kBadInput (metadata), those of `feed_metadata`.
  static absl::StatusOr<RecordingFormat> choose(const RecordBatch& batch, const std::string& path,
                                                FeedMetadata feed_metadata);

  const RecordedKind& kind() const { return kind_; }
  std::uint32_t record_bytes() const { return kind_.record_bytes; }
  const RecordClock& clock() const { return clock_; }
  const EventEnds& ends_event() const { return ends_event_; }

  // Whether the batch holds whole records of this kind: a reader would take others for them.
  // Errors: kRecordSize.
  absl::Status check(const RecordBatch& batch) const;
  // What a file begins with. The metadata of a DBN file then say that its first record is of
  // `began_ns`; kUndefTimestamp: they say what the feed's say. Errors: those of `feed_metadata`.
  absl::StatusOr<std::string> head(std::uint64_t began_ns) const;

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
  // Record files only: the head, and the description in it; null: there is none.
  std::string record_file_head_ = {};
  std::shared_ptr<const Schema> description_ = {};
};

}  // namespace lapwing
