#include "subscribers/recorder/recording_format.h"

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lapwing/dbn.h"
#include "lapwing/error.h"
#include "snapshot/dbn/dbn_metadata.h"
#include "snapshot/dbn/session_metadata.h"
#include "snapshot/recording/record_file.h"
#include "snapshot/recording/record_writer.h"
#include "snapshot/schema/known_schemas.h"

namespace lapwing {
namespace {

constexpr char kDbnSuffix[] = ".dbn";

// True if the name has this suffix, ignoring a compression suffix.
bool is_named(const std::string& path, absl::string_view suffix) {
  return absl::EndsWith(absl::StripSuffix(path, kZstdSuffix), suffix);
}

std::uint32_t record_bytes_of(const RecordBatch& batch) {
  if (batch.record_bytes != 0 || batch.schema == nullptr) return batch.record_bytes;
  return batch.schema->record_bytes;
}

// The hash that distinguishes descriptions; 0 for a schema that Lapwing ships, because releases may
// add names for its values.
std::uint64_t hash_of(const RecordBatch& batch) {
  const bool is_told = batch.schema != nullptr && !known_schema(batch.schema_name);
  return is_told ? batch.schema->hash() : 0;
}

}  // namespace

FeedMetadata dbn_metadata_of(const std::string& directory) {
  const auto metadata = std::make_shared<SessionMetadata>(directory);
  return [metadata, directory](const Id128& session_id) -> absl::StatusOr<std::string> {
    absl::StatusOr<std::string> raw = metadata->of(session_id);
    if (!raw.ok() || !raw->empty()) return raw;
    return make_error(Errc::kBadInput,
                      absl::StrCat("the bus in ", directory,
                                   " has no DBN metadata, which a DBN file needs. Publish with "
                                   "metadata (PublisherOptions::metadata), or name the file *",
                                   kRecordFileSuffix));
  };
}

const Id128& session_of(const RecordBatch& batch) {
  return batch.session_id.is_zero() ? batch.last.session_id : batch.session_id;
}

absl::StatusOr<RecordingFormat> RecordingFormat::choose(const RecordBatch& batch,
                                                        const std::string& path,
                                                        FeedMetadata feed_metadata) {
  const bool is_of_dbn = dbn::find_schema(batch.schema_name) != nullptr;
  if (is_of_dbn && !is_named(path, kRecordFileSuffix)) {
    return dbn_files(batch, path, std::move(feed_metadata));
  }
  if (is_of_dbn || !is_named(path, kDbnSuffix)) return record_files(batch, path);
  return make_error(Errc::kRecordSize,
                    absl::StrCat("the bus carries records of schema ", batch.schema_name,
                                 ", which a DBN file cannot hold: name the file *",
                                 kRecordFileSuffix, " or *", kRecordFileSuffix, kZstdSuffix));
}

// Uses the record layouts of the feed's DBN version.
absl::StatusOr<RecordingFormat> RecordingFormat::dbn_files(const RecordBatch& batch,
                                                           const std::string& path,
                                                           FeedMetadata feed_metadata) {
  const absl::StatusOr<std::string> raw = feed_metadata(session_of(batch));
  if (!raw.ok()) return raw.status();
  const absl::StatusOr<dbn::Metadata> parsed = dbn::parse_metadata(std::as_bytes(std::span(*raw)));
  if (!parsed.ok()) return parsed.status();
  const std::optional<Schema> schema = known_schema(batch.schema_name, parsed->version);
  const std::uint32_t record_bytes = record_bytes_of(batch);
  const bool is_that = schema && (record_bytes == 0 || record_bytes == schema->record_bytes);
  if (!is_that) {
    return make_error(
        Errc::kRecordSize,
        absl::StrCat("the bus's records",
                     record_bytes == 0 ? "" : absl::StrCat(" of ", record_bytes, " bytes"),
                     " are not ", batch.schema_name, " of DBN version ", parsed->version,
                     ", which its metadata is of; publish it with the metadata of "
                     "its own feed"));
  }
  RecordingFormat format(path, {SchemaLabel(batch.schema_name), schema->record_bytes});
  format.clock_ = RecordClock(*schema);
  format.ends_event_ = EventEnds(*schema);
  format.feed_metadata_ = std::move(feed_metadata);
  return format;
}

absl::StatusOr<RecordingFormat> RecordingFormat::record_files(const RecordBatch& batch,
                                                              const std::string& path) {
  const std::uint32_t record_bytes = record_bytes_of(batch);
  if (record_bytes == 0) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("records of schema ", batch.schema_name,
                                   " may have any size: give RecordBatch::record_bytes"));
  }
  RecordFileHead head{.schema = batch.schema_name, .record_bytes = record_bytes};
  if (batch.schema != nullptr) head.description = *batch.schema;
  absl::StatusOr<std::string> bytes = encode_record_file_head(head);
  if (!bytes.ok()) return bytes.status();
  RecordingFormat format(path, {SchemaLabel(batch.schema_name, hash_of(batch)), record_bytes});
  if (head.description) {
    format.clock_ = RecordClock(*head.description);
    format.ends_event_ = EventEnds(*head.description);
  }
  format.description_ = batch.schema;
  format.record_file_head_ = *std::move(bytes);
  return format;
}

bool RecordingFormat::is_same_kind(const RecordBatch& batch) const {
  const std::uint32_t record_bytes = record_bytes_of(batch);
  if (batch.schema_name != kind_.schema.name) return false;
  if (record_bytes != 0 && record_bytes != kind_.record_bytes) return false;
  if (is_dbn() || batch.schema == description_) return true;
  return hash_of(batch) == kind_.schema.hash;
}

absl::Status RecordingFormat::check(const RecordBatch& batch) const {
  if (!is_same_kind(batch)) {
    const SchemaLabel carried(batch.schema_name, is_dbn() ? 0 : hash_of(batch));
    return check_same_kind(path_, kind_, {carried, record_bytes_of(batch)});
  }
  const std::size_t record_bytes = kind_.record_bytes;
  bool is_whole = batch.records.size() % record_bytes == 0;
  if (is_dbn()) {  // its records contain their own length
    for (std::size_t at = 0; is_whole && at < batch.records.size(); at += record_bytes) {
      is_whole = static_cast<std::size_t>(batch.records[at]) * dbn::kLengthUnit == record_bytes;
    }
  }
  if (is_whole) return absl::OkStatus();
  return make_error(Errc::kRecordSize, absl::StrCat(batch.records.size(), " bytes of schema ",
                                                    batch.schema_name, " are not whole records of ",
                                                    record_bytes, " bytes; nothing was recorded"));
}

absl::StatusOr<bool> RecordingFormat::is_same_feed(const Id128& session_id,
                                                   const Id128& other) const {
  if (!is_dbn() || session_id == other) return true;
  const absl::StatusOr<std::string> raw = feed_metadata_(session_id);
  if (!raw.ok()) return raw.status();
  const absl::StatusOr<std::string> others = feed_metadata_(other);
  if (!others.ok()) return others.status();
  if (*raw == *others) return true;
  absl::StatusOr<dbn::Metadata> parsed = dbn::parse_metadata(std::as_bytes(std::span(*raw)));
  if (!parsed.ok()) return parsed.status();
  const absl::StatusOr<dbn::Metadata> that = dbn::parse_metadata(std::as_bytes(std::span(*others)));
  if (!that.ok()) return that.status();
  parsed->start = that->start;
  parsed->end = that->end;
  parsed->limit = that->limit;
  return *parsed == *that;
}

absl::StatusOr<std::string> RecordingFormat::head(std::uint64_t began_ns,
                                                  const Id128& session_id) const {
  if (!is_dbn()) return record_file_head_;
  absl::StatusOr<std::string> raw = feed_metadata_(session_id);
  if (!raw.ok() || began_ns == dbn::kUndefTimestamp) return raw;
  // DBN's documentation specifies this for files that were split. The end is not known yet.
  absl::Status set = dbn::set_time_range(*raw, began_ns, dbn::kUndefTimestamp);
  if (!set.ok()) return set;
  return raw;
}

}  // namespace lapwing
