#include "publisher/feeds/dbn_feed.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "snapshot/schema/known_schemas.h"

namespace lapwing {
namespace {

dbn::RType type_of(std::span<const std::byte> record) {
  return static_cast<dbn::RType>(record[offsetof(dbn::RecordHeader, rtype)]);
}

// "dbn.mbo" or "mbo".
const dbn::RecordSchema* find_by_name(const std::string& name) {
  const dbn::RecordSchema* const found = dbn::find_schema(name);
  return found != nullptr ? found : dbn::find_schema(absl::StrCat("dbn.", name));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Feed>> DbnFeed::open(const std::string& path,
                                                    const FeedOptions& options) {
  auto reader = DbnReader::open(path, options.stopped);
  if (!reader.ok()) return reader.status();
  std::unique_ptr<DbnFeed> feed(new DbnFeed(*std::move(reader), options.batch_by_burst));
  if (auto status = feed->choose_schema(options.schema); !status.ok()) return status;
  if (auto status = feed->describe(path); !status.ok()) return status;
  feed->reader_->stop_waiting();
  return feed;
}

DbnFeed::DbnFeed(std::unique_ptr<DbnReader> reader, bool batch_by_burst)
    : reader_(std::move(reader)), batch_by_burst_(batch_by_burst) {}

absl::Status DbnFeed::choose_schema(const std::string& wanted) {
  const dbn::Metadata& metadata = reader_->metadata();
  if (metadata.ts_out) {
    return make_error(Errc::kRecordSize,
                      absl::StrCat(reader_->name(),
                                   " has a send time after every record (ts_out), which no bus "
                                   "record has room for; give a file without ts_out"));
  }
  const dbn::RecordSchema* const chosen = wanted.empty() ? nullptr : find_by_name(wanted);
  if (!wanted.empty() && chosen == nullptr) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("DBN has no schema ", wanted, "; give one as mbo or mbp-1"));
  }
  if (metadata.schema == dbn::SchemaId::kMixed) {
    const absl::Status taken = chosen != nullptr ? take_schema(*chosen) : choose_by_first_record();
    if (taken.ok()) remark_on_schemas_of_the_same_type();
    return taken;
  }
  const dbn::RecordSchema* const own = dbn::find_schema(metadata.schema);
  if (own == nullptr) {
    return make_error(Errc::kRecordSize, absl::StrCat(reader_->name(), " holds records of schema ",
                                                      dbn::schema_name(metadata.schema),
                                                      ", which this release does not know"));
  }
  if (chosen != nullptr && chosen != own) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat(reader_->name(), " holds records of schema ", dbn::schema_name(own->id),
                     ", and none of ", dbn::schema_name(chosen->id)));
  }
  return take_schema(*own);
}

absl::Status DbnFeed::take_schema(const dbn::RecordSchema& schema) {
  schema_ = &schema;
  description_.records = known_schema(schema.name, reader_->metadata().version);
  if (description_.records) return absl::OkStatus();
  return make_error(
      Errc::kRecordSize,
      absl::StrCat(reader_->name(), " holds records of schema ", dbn::schema_name(schema.id),
                   ", which DBN version ", reader_->metadata().version, " does not have"));
}

absl::Status DbnFeed::choose_by_first_record() {
  for (;;) {
    const auto record = reader_->next();
    if (!record.ok()) return record.status();
    if (record->empty()) {
      return make_error(Errc::kRecordSize,
                        absl::StrCat(reader_->name(), " holds no record that a bus carries (",
                                     reader_->records(), " of other types)"));
    }
    const dbn::RecordSchema* const schema = dbn::find_schema(type_of(*record));
    if (schema != nullptr && take_schema(*schema).ok() && fits(*record)) {
      pending_ = *record;
      return absl::OkStatus();
    }
    ++skipped_;
  }
}

void DbnFeed::remark_on_schemas_of_the_same_type() {
  for (const dbn::RecordSchema& other : dbn::kRecordSchemas) {
    if (other.rtype != schema_->rtype || other.id == schema_->id) continue;
    description_.remark = absl::StrCat(
        reader_->name(), " mixes schemas, and records of ", dbn::schema_name(schema_->id), " and ",
        dbn::schema_name(other.id), " have the same type in DBN: both are published as ",
        schema_->name, "; give a file of one schema to have no other records");
  }
}

bool DbnFeed::fits(std::span<const std::byte> record) const {
  return record.size() == description_.records->record_bytes && type_of(record) == schema_->rtype;
}

absl::Status DbnFeed::describe(const std::string& path) {
  const auto source_id = source_id_of_file("dbn", path);
  if (!source_id.ok()) return source_id.status();
  description_.schema = schema_->name;
  description_.record_bytes = description_.records->record_bytes;
  clock_ = RecordClock(*description_.records);
  description_.metadata = reader_->raw_metadata();
  description_.source_id = *source_id;
  description_.name = reader_->name();
  batch_.resize(kFeedBatchMax * description_.record_bytes);
  return absl::OkStatus();
}

absl::StatusOr<FeedBatch> DbnFeed::next() {
  const std::size_t record_bytes = description_.record_bytes;
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
      const std::uint64_t time_ns = clock_.pacing_time_ns(*record);
      if (first) batch.time_ns = time_ns;
      if (time_ns > batch.time_ns + kBurstNs) break;
    }
    std::memcpy(batch_.data() + size, record->data(), record_bytes);
    size += record_bytes;
    pending_ = {};
    skipped_for_good_ = skipped_;
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
    if (fits(*record)) {
      pending_ = *record;
    } else {
      ++skipped_;
    }
  }
  return pending_;
}

// What was passed over on the way to a record that is not delivered comes again.
absl::Status DbnFeed::rewind() {
  if (!pending_.empty()) skipped_ = skipped_for_good_;
  skipped_for_good_ = skipped_;
  pending_ = {};
  return reader_->rewind();
}

}  // namespace lapwing
