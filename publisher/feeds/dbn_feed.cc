#include "publisher/feeds/dbn_feed.h"

#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/system_error.h"
#include "publisher/feeds/record_times.h"

namespace lapwing {
namespace {

constexpr char kSupported[] =
    "a bus carries mbo (56 bytes), trades (48 bytes) and mbp-1 (80 bytes); give a file of one of "
    "these";

bool fits(std::span<const std::byte> record, const dbn::RecordSchema& schema) {
  return record.size() == schema.record_bytes &&
         static_cast<dbn::RType>(record[offsetof(dbn::RecordHeader, rtype)]) == schema.rtype;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Feed>> DbnFeed::open(const std::string& path,
                                                    const FeedOptions& options) {
  auto reader = DbnReader::open(path, options.stopped);
  if (!reader.ok()) return reader.status();
  std::unique_ptr<DbnFeed> feed(new DbnFeed(*std::move(reader), options.batch_by_burst));
  if (auto status = feed->choose_schema(); !status.ok()) return status;
  if (auto status = feed->describe(path); !status.ok()) return status;
  feed->reader_->stop_waiting();
  return feed;
}

DbnFeed::DbnFeed(std::unique_ptr<DbnReader> reader, bool batch_by_burst)
    : reader_(std::move(reader)), batch_by_burst_(batch_by_burst) {}

absl::Status DbnFeed::choose_schema() {
  const dbn::Metadata& metadata = reader_->metadata();
  if (metadata.ts_out) {
    return make_error(Errc::kRecordSize,
                      absl::StrCat(reader_->name(),
                                   " has a send time after every record (ts_out), which "
                                   "no bus record has room for; ",
                                   kSupported, " without ts_out"));
  }
  if (metadata.schema != dbn::SchemaId::kMixed) {
    schema_ = dbn::find_schema(metadata.schema);
    if (schema_ != nullptr) return absl::OkStatus();
    return make_error(Errc::kRecordSize,
                      absl::StrCat(reader_->name(), " holds records of schema ",
                                   dbn::schema_name(metadata.schema), "; ", kSupported));
  }
  for (;;) {
    const auto record = reader_->next();
    if (!record.ok()) return record.status();
    if (record->empty()) {
      return make_error(Errc::kRecordSize,
                        absl::StrCat(reader_->name(), " holds no record that a bus carries (",
                                     reader_->records(), " of other types); ", kSupported));
    }
    schema_ =
        dbn::find_schema(static_cast<dbn::RType>((*record)[offsetof(dbn::RecordHeader, rtype)]));
    if (schema_ != nullptr && fits(*record, *schema_)) {
      pending_ = *record;
      return absl::OkStatus();
    }
    ++skipped_;
  }
}

absl::Status DbnFeed::describe(const std::string& path) {
  std::string canonical = path;
  if (path != "-") {
    char resolved[PATH_MAX];
    if (::realpath(path.c_str(), resolved) == nullptr) {
      return make_system_error(errno, absl::StrCat("cannot resolve ", path));
    }
    canonical = resolved;
  }
  description_.schema = schema_->name;
  description_.record_bytes = schema_->record_bytes;
  description_.metadata = reader_->raw_metadata();
  description_.source_id = source_id_of(absl::StrCat("dbn:", canonical));
  description_.name = reader_->name();
  batch_.resize(kFeedBatchMax * schema_->record_bytes);
  return absl::OkStatus();
}

absl::StatusOr<FeedBatch> DbnFeed::next() {
  const std::size_t record_bytes = schema_->record_bytes;
  FeedBatch batch;
  std::size_t size = 0;
  while (size < batch_.size()) {
    const bool first = size == 0;
    // An error comes again at the next call, once this batch is delivered.
    const auto record = peek(first);
    if (first && errc_of(record.status()) == Errc::kTimedOut) return FeedBatch{.nothing_yet = true};
    if (!record.ok() && first) return record.status();
    if (!record.ok() || record->empty()) break;
    if (first || batch_by_burst_) {
      const std::uint64_t time_ns = pacing_time_ns(record->data(), *schema_);
      if (first) batch.time_ns = time_ns;
      if (time_ns > batch.time_ns + kBurstNs) break;
    }
    std::memcpy(batch_.data() + size, record->data(), record_bytes);
    size += record_bytes;
    pending_ = {};
  }
  batch.records = std::span(batch_).first(size);
  return batch;
}

absl::StatusOr<std::span<const std::byte>> DbnFeed::peek(bool may_read) {
  while (pending_.empty()) {
    if (!may_read && !reader_->buffered()) break;
    const auto record = reader_->next();
    if (!record.ok()) return record.status();
    if (record->empty()) break;
    if (fits(*record, *schema_)) {
      pending_ = *record;
    } else {
      ++skipped_;
    }
  }
  return pending_;
}

absl::Status DbnFeed::rewind() {
  pending_ = {};
  return reader_->rewind();
}

}  // namespace lapwing
