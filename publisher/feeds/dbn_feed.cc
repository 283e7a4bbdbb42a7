#include "publisher/feeds/dbn_feed.h"

#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "snapshot/schema/known_schemas.h"

namespace lapwing {
namespace {

dbn::RType type_of(std::span<const std::byte> record) {
  return static_cast<dbn::RType>(record[offsetof(dbn::RecordHeader, rtype)]);
}

// Accepts "dbn.mbo" and "mbo".
const dbn::RecordSchema* find_by_name(const std::string& name) {
  const dbn::RecordSchema* const found = dbn::find_schema(name);
  return found != nullptr ? found : dbn::find_schema(absl::StrCat("dbn.", name));
}

// Standard input may also be a file, but that is read from its current offset.
bool is_regular_file(const std::string& path) {
  std::error_code error;
  return path != "-" && std::filesystem::is_regular_file(path, error);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Feed>> DbnFeed::open(const std::string& path,
                                                    const FeedOptions& options) {
  auto reader = DbnReader::open(path, options.stopped);
  if (!reader.ok()) return reader.status();
  std::unique_ptr<DbnFeed> feed(new DbnFeed(*std::move(reader), options.batch_by_burst));
  if (auto status = feed->choose_schema(options.schema); !status.ok()) return status;
  if (auto status = feed->find_symbols(options, is_regular_file(path)); !status.ok()) return status;
  if (auto status = feed->describe(path); !status.ok()) return status;
  feed->reader_->stop_waiting();
  return feed;
}

DbnFeed::DbnFeed(std::unique_ptr<DbnReader> reader, bool batch_by_burst)
    : reader_(std::move(reader)),
      batch_by_burst_(batch_by_burst),
      mappings_(reader_->metadata().version) {}

absl::Status DbnFeed::choose_schema(const std::string& wanted) {
  const dbn::Metadata& metadata = reader_->metadata();
  if (metadata.ts_out) {
    return make_error(Errc::kRecordSize,
                      absl::StrCat(reader_->name(),
                                   " has a send time after every record (ts_out), for which bus "
                                   "records have no room; give a file without ts_out"));
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
                                                      ", which this release does not support"));
  }
  if (chosen != nullptr && chosen != own) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat(reader_->name(), " holds records of schema ", dbn::schema_name(own->id),
                     ", not of ", dbn::schema_name(chosen->id)));
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
    mappings_.add(*record);
    ++skipped_;
  }
}

void DbnFeed::remark_on_schemas_of_the_same_type() {
  for (const dbn::RecordSchema& other : dbn::kRecordSchemas) {
    if (other.rtype != schema_->rtype || other.id == schema_->id) continue;
    remark(absl::StrCat(reader_->name(), " mixes schemas, and records of ",
                        dbn::schema_name(schema_->id), " and ", dbn::schema_name(other.id),
                        " have the same type in DBN: both are published as ", schema_->name,
                        ". Give a file of one schema to avoid this"));
  }
}

void DbnFeed::remark(const std::string& sentence) {
  absl::StrAppend(&description_.remark, description_.remark.empty() ? "" : ". ", sentence);
}

// Called before the first delivery. It does not wait for the first record of a single-schema
// stream, because live streams are mixed.
absl::Status DbnFeed::find_symbols(const FeedOptions& options, bool is_file) {
  const dbn::Metadata& metadata = reader_->metadata();
  if (!metadata.mappings.empty()) return absl::OkStatus();
  if (!is_file && metadata.schema != dbn::SchemaId::kMixed) return absl::OkStatus();
  if (absl::Status read = read_leading_records(); !read.ok()) return read;
  if (!is_file || (mappings_.empty() && !pending_.empty())) return absl::OkStatus();
  if (!mappings_.empty()) {
    if (absl::Status read = read_all_mappings(options.stopped); !read.ok()) return read;
  }
  pending_ = {};
  skipped_ = 0;
  return reader_->rewind();
}

// Reads up to the first market record. next() finds any damage again, and reports it.
absl::Status DbnFeed::read_leading_records() {
  while (pending_.empty()) {
    const auto record = reader_->next();
    if (errc_of(record.status()) == Errc::kClosed) return record.status();
    if (!record.ok() || record->empty()) break;
    if (fits(*record)) {
      pending_ = *record;
      break;
    }
    ++skipped_;
    if (!dbn::is_control_record(*record)) break;
    mappings_.add(*record);
  }
  return absl::OkStatus();
}

absl::Status DbnFeed::read_all_mappings(const Stopped& stopped) {
  constexpr std::uint64_t kCheckEvery = 65'536;  // records
  if (absl::Status rewound = reader_->rewind(); !rewound.ok()) return rewound;
  mappings_ = dbn::MappingRecords(reader_->metadata().version);
  for (;;) {
    const auto record = reader_->next();
    if (!record.ok() || record->empty()) return absl::OkStatus();  // next() reports damage
    mappings_.add(*record);
    if (reader_->records() % kCheckEvery != 0 || !stopped || !stopped()) continue;
    return make_error(Errc::kClosed,
                      absl::StrCat("stopped while reading the symbols of ", reader_->name()));
  }
}

void DbnFeed::add_symbols() {
  dbn::Metadata metadata = reader_->metadata();
  metadata.stype_in = dbn::SType::kRawSymbol;
  metadata.stype_out = dbn::SType::kInstrumentId;
  metadata.mappings = mappings_.mappings();
  absl::StatusOr<std::string> encoded = dbn::encode_metadata(metadata);
  if (encoded.ok() && encoded->size() <= dbn::kMetadataBytesMax) {
    description_.metadata = *std::move(encoded);
    return;
  }
  remark(absl::StrCat("the bus has no symbols: the ", metadata.mappings.size(),
                      " mapping records of ", reader_->name(), " cannot be made metadata (",
                      encoded.ok() ? "it would have more than 64 MiB" : encoded.status().message(),
                      "). Choose instruments by number (id:N)"));
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
  if (!mappings_.empty()) add_symbols();
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
    // If the batch already has records, the next call returns the error again.
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

// Records that were skipped before an undelivered record are read again.
absl::Status DbnFeed::rewind() {
  if (!pending_.empty()) skipped_ = skipped_for_good_;
  skipped_for_good_ = skipped_;
  pending_ = {};
  return reader_->rewind();
}

}  // namespace lapwing
