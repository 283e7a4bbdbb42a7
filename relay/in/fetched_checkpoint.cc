#include "relay/in/fetched_checkpoint.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/whole_file.h"
#include "proto/text_field.h"
#include "snapshot/checkpoint/checkpoint_directory.h"
#include "snapshot/wide_xxh3.h"

namespace lapwing {
namespace {

absl::Status damaged(const std::string& what) {
  return make_error(Errc::kDamaged, absl::StrCat("the origin's checkpoint cannot be used: ", what));
}

// The name becomes a directory.
bool is_fold_name(const std::string& fold) {
  return !fold.empty() && std::ranges::all_of(fold, [](char byte) {
    return absl::ascii_isalnum(static_cast<unsigned char>(byte)) || byte == '_' || byte == '-';
  });
}

}  // namespace

absl::StatusOr<CheckpointHeader> check_checkpoint(std::string_view file) {
  CheckpointHeader header;
  if (file.size() < sizeof header) return damaged("it is shorter than its header");
  std::memcpy(&header, file.data(), sizeof header);
  if (header.magic != kCheckpointMagic) return damaged("it does not have the magic");
  if (header.checksum != XXH3_64bits(file.data(), offsetof(CheckpointHeader, checksum))) {
    return damaged("its header does not have its checksum");
  }
  if (!is_fold_name(get_text(header.fold))) return damaged("its fold has an invalid name");
  return header;
}

absl::StatusOr<std::string> keep_checkpoint(Disk& disk, const std::string& bus,
                                            std::string_view file) {
  const absl::StatusOr<CheckpointHeader> header = check_checkpoint(file);
  if (!header.ok()) return header.status();
  const absl::StatusOr<std::string> directory =
      make_checkpoint_directory(disk, bus, get_text(header->fold));
  if (!directory.ok()) return directory.status();
  const std::string path = checkpoint_path(*directory, header->sequence);
  const absl::Status written = write_whole_file(disk, path, file);
  if (!written.ok()) return written;
  return path;
}

}  // namespace lapwing
