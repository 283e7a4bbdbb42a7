#include "subscribers/recorder/recording_position.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lapwing/error.h"
#include "os/path.h"
#include "os/small_file.h"
#include "snapshot/fold/entry_digest.h"
#include "snapshot/json_members.h"
#include "subscribers/recorder/rotation.h"

namespace lapwing {
namespace {

constexpr std::size_t kPositionBytesMax = 4096;

std::string hash_text(std::uint64_t hash) {
  return absl::StrFormat("%016x", hash);
}

// Releases before 0.2.0 wrote neither of these.
bool take_kind(const nlohmann::json& json, RecordedKind& kind) {
  if (!json.contains("record_bytes")) return true;
  std::string hash;
  return take(json, "record_bytes", kind.record_bytes) && take(json, "schema_hash", hash) &&
         absl::SimpleHexAtoi(hash, &kind.schema.hash);
}

// Releases before 0.2.0 wrote none of these.
bool take_added(const nlohmann::json& json, RecordingPosition& position) {
  std::string checksum;
  return (!json.contains("stray_records") || take(json, "stray_records", position.stray_records)) &&
         (!json.contains("ended") || take(json, "ended", position.ended)) &&
         (!json.contains("feed_session") || take(json, "feed_session", position.feed_session)) &&
         (!json.contains("checksum") ||
          (take(json, "checksum", checksum) && absl::SimpleHexAtoi(checksum, &position.checksum)));
}

// "es.dbn (81920 bytes were recorded, up to record 4711)": the beginning of an error.
std::string recorded_file(const std::string& path, const RecordingPosition& position) {
  return absl::StrCat(path, " (", position.bytes, " bytes were recorded, up to record ",
                      position.position.sequence, ")");
}

std::string choices(const std::string& path, const RecordingPosition& position) {
  return absl::StrCat(". Put the recorded file back, or move ", position_path(path),
                      " away with the recording's files and begin a new recording: with --from ",
                      "after:", position.position.text(), " it continues after that record.");
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
      take_added(json, read);
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
                                       {"stray_records", position.stray_records},
                                       {"checksum", hash_text(position.checksum)},
                                       {"ended", position.ended},
                                       {"feed_session", position.feed_session.hex()}};
  // A name that is not valid UTF-8 must not throw here.
  const std::string text =
      json.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::ordered_json::error_handler_t::replace);
  return replace_file(disk, directory_of(recording_path),
                      name_in_directory(position_path(recording_path)), text + "\n");
}

absl::StatusOr<std::uint64_t> content_checksum(Disk& disk, const std::string& path,
                                               std::uint64_t bytes) {
  const auto file = open_file(disk, path, {.mode = OpenMode::kRead});
  if (!file.ok()) return file.status();
  const std::uint64_t head_bytes = std::min(bytes, kChecksumHeadBytes);
  const std::uint64_t tail_bytes = std::min(bytes - head_bytes, kChecksumTailBytes);
  std::vector<std::byte> content(head_bytes + tail_bytes);
  const std::span<std::byte> head = std::span(content).first(head_bytes);
  const std::span<std::byte> tail = std::span(content).subspan(head_bytes);
  auto read = disk.read_at(file->get(), 0, head);
  if (read.ok() && *read == head_bytes) read = disk.read_at(file->get(), bytes - tail_bytes, tail);
  if (!read.ok()) return read.status();
  if (*read != tail_bytes) {
    return make_error(Errc::kDamaged, absl::StrCat(path, " has fewer than ", bytes, " bytes"));
  }
  return std::max<std::uint64_t>(digest_entries(content), 1);
}

absl::Status check_content(Disk& disk, const std::string& recording_path,
                           const RecordingPosition& position) {
  const std::string path = file_path(recording_path, position);
  const auto file = open_file(disk, path, {.mode = OpenMode::kRead});
  if (!file.ok()) return file.status();
  const auto size = disk.size(file->get());
  if (!size.ok()) return size.status();
  if (*size < position.bytes) {
    return make_error(Errc::kDamaged,
                      absl::StrCat(recorded_file(path, position), " has only ", *size,
                                   " bytes: it was cut, or replaced by an older "
                                   "copy or another file",
                                   choices(recording_path, position)));
  }
  if (position.checksum == 0) return absl::OkStatus();
  const auto checksum = content_checksum(disk, path, position.bytes);
  if (!checksum.ok()) return checksum.status();
  if (*checksum == position.checksum) return absl::OkStatus();
  return make_error(
      Errc::kDamaged,
      absl::StrCat(recorded_file(path, position),
                   " has other content: the checksum of these bytes is ", hash_text(*checksum),
                   " and not ", hash_text(position.checksum),
                   ", so the file was changed or replaced", choices(recording_path, position)));
}

absl::Status file_is_gone(const std::string& recording_path, const RecordingPosition& position) {
  return make_error(Errc::kDamaged,
                    absl::StrCat(recorded_file(file_path(recording_path, position), position),
                                 " is missing", choices(recording_path, position)));
}

}  // namespace lapwing
