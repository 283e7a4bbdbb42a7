#include "subscribers/recorder/recording_position.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/path.h"
#include "os/small_file.h"
#include "subscribers/recorder/rotation.h"

namespace lapwing {
namespace {

constexpr std::size_t kPositionBytesMax = 4096;

}  // namespace

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
  try {
    const auto journal = Id128::from_hex(json.at("journal").get<std::string>());
    const auto session = Id128::from_hex(json.at("session").get<std::string>());
    read.position.sequence = json.at("sequence").get<Sequence>();
    read.records = json.at("records").get<std::uint64_t>();
    read.schema = json.at("schema").get<std::string>();
    read.bytes = json.at("bytes").get<std::uint64_t>();
    read.part = json.at("part").get<std::uint64_t>();
    read.began_ns = json.at("began_ns").get<std::uint64_t>();
    read.event_records = json.at("event_records").get<std::uint64_t>();
    if (journal && session) {
      read.position.journal_id = *journal;
      read.position.session_id = *session;
      return read;
    }
  } catch (const nlohmann::json::exception&) {
    // Said below, as for ids that are none.
  }
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
                                       {"schema", position.schema},
                                       {"bytes", position.bytes},
                                       {"part", position.part},
                                       {"began_ns", position.began_ns},
                                       {"event_records", position.event_records}};
  return replace_file(disk, directory_of(recording_path),
                      name_in_directory(position_path(recording_path)), json.dump() + "\n");
}

}  // namespace lapwing
