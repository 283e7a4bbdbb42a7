#include "publisher/feeds/record_file_feed.h"

#include <utility>

#include "lapwing/error.h"
#include "publisher/feeds/burst.h"
#include "snapshot/schema/known_schemas.h"

namespace lapwing {

absl::StatusOr<std::unique_ptr<Feed>> RecordFileFeed::open(const std::string& path,
                                                           const FeedOptions& options) {
  auto reader = RecordFileReader::open(path, options.stopped);
  if (!reader.ok()) return reader.status();
  const auto source_id = source_id_of_file("file", path);
  if (!source_id.ok()) return source_id.status();
  std::unique_ptr<RecordFileFeed> feed(
      new RecordFileFeed(*std::move(reader), options.batch_by_burst));
  feed->description_.source_id = *source_id;
  feed->reader_->stop_waiting();
  return feed;
}

RecordFileFeed::RecordFileFeed(std::unique_ptr<RecordFileReader> reader, bool batch_by_burst)
    : reader_(std::move(reader)), batch_by_burst_(batch_by_burst) {
  const RecordFileHead& head = reader_->head();
  description_.schema = head.schema;
  description_.record_bytes = head.record_bytes;
  description_.records = head.description;
  if (!description_.records) {
    description_.records = known_schema_of_size(head.schema, head.record_bytes);
  }
  description_.name = reader_->name();
  if (description_.records) clock_ = RecordClock(*description_.records);
}

absl::StatusOr<FeedBatch> RecordFileFeed::next() {
  if (pending_.empty()) {
    const auto records = reader_->next(kFeedBatchMax);
    if (errc_of(records.status()) == Errc::kTimedOut) return FeedBatch{.nothing_yet = true};
    if (!records.ok()) return records.status();
    pending_ = *records;
  }
  if (pending_.empty()) return FeedBatch{};
  return take_batch(pending_, description_.record_bytes, clock_, batch_by_burst_);
}

absl::Status RecordFileFeed::rewind() {
  pending_ = {};
  return reader_->rewind();
}

}  // namespace lapwing
