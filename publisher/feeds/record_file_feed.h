// The feed for a record file or stream: file:PATH, file:-.
//
// The file describes its records, and the feed passes that description to the bus. A partial record
// at the end is not delivered, but reported as an error after all earlier records.
//
// Thread safety: one thread.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "publisher/feeds/feed.h"
#include "snapshot/recording/record_file_reader.h"
#include "snapshot/schema/record_clock.h"

namespace lapwing {

class RecordFileFeed : public Feed {
 public:
  // `path` may be "-". Errors: those of RecordFileReader::open.
  static absl::StatusOr<std::unique_ptr<Feed>> open(const std::string& path,
                                                    const FeedOptions& options);

  const FeedDescription& description() const override { return description_; }
  absl::StatusOr<FeedBatch> next() override;
  int fd() const override { return reader_->fd(); }
  absl::Status rewind() override;

 private:
  RecordFileFeed(std::unique_ptr<RecordFileReader> reader, bool batch_by_burst);

  std::unique_ptr<RecordFileReader> reader_;
  const bool batch_by_burst_;
  FeedDescription description_;
  RecordClock clock_;
  std::span<std::byte> pending_;  // read, not yet delivered
};

}  // namespace lapwing
