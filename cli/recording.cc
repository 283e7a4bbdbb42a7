#include "cli/recording.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/dbn.h"
#include "proto/error.h"
#include "snapshot/bus_directory.h"
#include "snapshot/dbn/dbn_metadata.h"
#include "snapshot/small_file.h"

namespace lapwing::cli {
namespace {

constexpr std::size_t kPositionBytesMax = 4096;

using Json = nlohmann::ordered_json;

struct Committed {
  StoredPosition position;
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;
};

absl::StatusOr<Committed> read_committed(const std::string& path) {
  const absl::StatusOr<std::string> text = read_small_file(path, kPositionBytesMax);
  if (!text.ok()) return text.status();
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  Committed committed;
  try {
    const auto journal = Id128::from_hex(json.at("journal").get<std::string>());
    const auto session = Id128::from_hex(json.at("session").get<std::string>());
    committed.position.sequence = json.at("sequence").get<Sequence>();
    committed.bytes = json.at("bytes").get<std::uint64_t>();
    committed.records = json.at("records").get<std::uint64_t>();
    if (journal && session) {
      committed.position.journal_id = *journal;
      committed.position.session_id = *session;
      return committed;
    }
  } catch (const nlohmann::json::exception&) {
    // Said below, as for ids that are none.
  }
  return make_error(Errc::kDamaged,
                    absl::StrCat(path,
                                 " is not a recording's position: remove it and the recording, "
                                 "or record to another name"));
}

}  // namespace

absl::StatusOr<Recording> Recording::prepare(const std::string& path) {
  Recording recording(path);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return recording;
  absl::StatusOr<Committed> committed = read_committed(recording.position_path());
  if (errc_of(committed.status()) == Errc::kNotFound) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat(path,
                                   " is there already and is no recording that could be "
                                   "continued (no ",
                                   recording.position_path(), "): choose another name"));
  }
  if (!committed.ok()) return committed.status();
  if (committed->bytes == 0) {  // killed before its first commit: nothing of it is believed
    if (absl::Status removed = recording.disk_->remove(path); !removed.ok()) return removed;
    return recording;
  }
  recording.position_ = committed->position;
  recording.committed_bytes_ = committed->bytes;
  recording.records_ = committed->records;
  return recording;
}

absl::Status Recording::open(const std::string& bus, const std::string& schema) {
  const dbn::RecordSchema* const known = dbn::find_schema(schema);
  if (known == nullptr) {
    return make_error(Errc::kRecordSize, absl::StrCat("the bus carries records of schema ", schema,
                                                      ", which a DBN file cannot hold"));
  }
  schema_ = schema;
  if (position_) return open_again(known->id);
  const absl::StatusOr<std::string> metadata = read_feed_metadata(bus);
  if (!metadata.ok()) return metadata.status();
  // Before the file itself, so that a file without a position is never one of ours.
  if (absl::Status marked = write_position({}, 0); !marked.ok()) return marked;
  absl::StatusOr<std::unique_ptr<DbnWriter>> writer = DbnWriter::create(*disk_, path_, *metadata);
  if (!writer.ok()) return writer.status();
  writer_ = *std::move(writer);
  return absl::OkStatus();
}

absl::Status Recording::open_again(dbn::SchemaId schema) {
  absl::StatusOr<std::unique_ptr<DbnWriter>> writer =
      DbnWriter::resume(*disk_, path_, committed_bytes_);
  if (!writer.ok()) return writer.status();
  const absl::StatusOr<dbn::Metadata> metadata =
      dbn::parse_metadata(std::as_bytes(std::span((*writer)->raw_metadata())));
  if (!metadata.ok()) return metadata.status();
  if (metadata->schema != schema && metadata->schema != dbn::SchemaId::kMixed) {
    return other_schema(dbn::schema_name(metadata->schema));
  }
  writer_ = *std::move(writer);
  return absl::OkStatus();
}

absl::Status Recording::other_schema(const std::string& recorded) const {
  return make_error(Errc::kRecordSize,
                    absl::StrCat(path_, " holds records of schema ", recorded,
                                 ", and the bus now carries others: record those into another "
                                 "file"));
}

absl::Status Recording::append(const std::string& bus, const std::string& schema,
                               std::span<const std::byte> records, std::uint32_t record_bytes) {
  if (writer_ == nullptr) {
    if (absl::Status opened = open(bus, schema); !opened.ok()) return opened;
  }
  if (schema != schema_) return other_schema(schema_);
  if (absl::Status written = writer_->write(records); !written.ok()) return written;
  records_ += records.size() / record_bytes;
  uncommitted_ = true;
  return absl::OkStatus();
}

absl::Status Recording::commit(const StoredPosition& position) {
  if (writer_ == nullptr || !uncommitted_) return absl::OkStatus();
  const absl::StatusOr<std::uint64_t> bytes = writer_->commit();
  if (!bytes.ok()) return bytes.status();
  uncommitted_ = false;
  return write_position(position, *bytes);
}

absl::Status Recording::write_position(const StoredPosition& position, std::uint64_t bytes) const {
  const Json json = {{"journal", position.journal_id.hex()},
                     {"session", position.session_id.hex()},
                     {"sequence", position.sequence},
                     {"records", records_},
                     {"bytes", bytes}};
  const std::filesystem::path path(position_path());
  const std::string directory = path.has_parent_path() ? path.parent_path().string() : ".";
  return replace_file(directory, path.filename().string(), json.dump() + "\n", std::nullopt);
}

absl::Status Recording::finish(const std::string& bus, const std::string& schema,
                               const StoredPosition& position) {
  if (writer_ == nullptr && !position_ && !schema.empty()) {
    if (absl::Status opened = open(bus, schema); !opened.ok()) return opened;
    uncommitted_ = true;
  }
  if (absl::Status committed = commit(position); !committed.ok()) return committed;
  return writer_ == nullptr ? absl::OkStatus() : writer_->finish();
}

}  // namespace lapwing::cli
