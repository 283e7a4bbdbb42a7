#include "subscribers/recorder/recording_position.h"

#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lapwing/error.h"
#include "os/path.h"
#include "os/small_file.h"
#include "snapshot/json_members.h"
#include "subscribers/recorder/rotation.h"

namespace lapwing {
namespace {

constexpr std::size_t kPositionBytesMax = 4096;

std::string hash_text(std::uint64_t hash) {
  return absl::StrFormat("%016x", hash);
}

// Releases before 0.2.0 have written neither.
bool take_kind(const nlohmann::json& json, RecordedKind& kind) {
  if (!json.contains("record_bytes")) return true;
  std::string hash;
  return take(json, "record_bytes", kind.record_bytes) && take(json, "schema_hash", hash) &&
         absl::SimpleHexAtoi(hash, &kind.schema.hash);
}

// Releases before 0.2.0 have not written it.
bool take_stray_records(const nlohmann::json& json, RecordingPosition& position) {
  return !json.contains("stray_records") || take(json, "stray_records", position.stray_records);
}

std::string words_for(const RecordedKind& kind) {
  std::string words = absl::StrCat("records of schema ", kind.schema.name);
  if (kind.record_bytes == 0) return words;
  absl::StrAppend(&words, " (", kind.record_bytes, " bytes");
  if (kind.schema.hash != 0) absl::StrAppend(&words, ", description ", hash_text(kind.schema.hash));
  return words + ")";
}

}  // namespace

absl::Status check_same_kind(const std::string& path, const RecordedKind& held,
                             const RecordedKind& carried) {
  const bool is_known = held.record_bytes != 0;
  if (is_known ? held == carried : held.schema.name == carried.schema.name) {
    return absl::OkStatus();
  }
  return make_error(Errc::kRecordSize,
                    absl::StrCat(path, " holds ", words_for(held), ", and the bus now carries ",
                                 words_for(carried), ": record those into another file"));
}

std::string position_path(const std::string& recording_path) {
  return recording_path + ".position";
}

std::string file_path(const std::string& recording_path, const RecordingPosition& position) {
  if (position.part == 0) return recording_path;
  return part_path(recording_path, position.part, position.began_ns);
}

absl::StatusOr<RecordingPosition> read_position(Disk& disk, const std::string& recording_path) {
  const std::string path = position_path(recording_path);
  const absl::StatusOr<std::string> text = read_small_file(disk, path, kPositionBytesMax);
  if (!text.ok()) return text.status();
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  RecordingPosition read;
  const bool complete =
      json.is_object() && take(json, "journal", read.position.journal_id) &&
      take(json, "session", read.position.session_id) &&
      take(json, "sequence", read.position.sequence) && take(json, "records", read.records) &&
      take(json, "schema", read.kind.schema.name) && take(json, "bytes", read.bytes) &&
      take(json, "part", read.part) && take(json, "began_ns", read.began_ns) &&
      take(json, "event_records", read.event_records) && take_kind(json, read.kind) &&
      take_stray_records(json, read);
  if (complete) return read;
  return make_error(Errc::kDamaged,
                    absl::StrCat(path,
                                 " is not a recording's position: remove it and the recording, "
                                 "or record to another name"));
}

absl::Status write_position(Disk& disk, const std::string& recording_path,
                            const RecordingPosition& position) {
  const nlohmann::ordered_json json = {{"journal", position.position.journal_id.hex()},
                                       {"session", position.position.session_id.hex()},
                                       {"sequence", position.position.sequence},
                                       {"records", position.records},
                                       {"schema", position.kind.schema.name},
                                       {"record_bytes", position.kind.record_bytes},
                                       {"schema_hash", hash_text(position.kind.schema.hash)},
                                       {"bytes", position.bytes},
                                       {"part", position.part},
                                       {"began_ns", position.began_ns},
                                       {"event_records", position.event_records},
                                       {"stray_records", position.stray_records}};
  // A name that is no UTF-8 must not throw here.
  const std::string text =
      json.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::ordered_json::error_handler_t::replace);
  return replace_file(disk, directory_of(recording_path),
                      name_in_directory(position_path(recording_path)), text + "\n");
}

}  // namespace lapwing
