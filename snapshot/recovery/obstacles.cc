#include "snapshot/recovery/obstacles.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/path.h"
#include "os/whole_file.h"
#include "proto/text_field.h"
#include "snapshot/dbn/kept_metadata.h"
#include "snapshot/journal/absent_file.h"
#include "snapshot/journal/kept_files.h"
#include "snapshot/journal/retention_file.h"
#include "snapshot/journal/segment_file.h"
#include "snapshot/journal/sum_file.h"
#include "snapshot/schema/kept_schemas.h"
#include "snapshot/schema/known_schemas.h"

namespace lapwing {
namespace {

// True if the names in `directory` cannot be listed because it is not a directory.
bool is_no_directory(const absl::Status& listed) {
  return errno_of(listed) == ENOTDIR || errno_of(listed) == ELOOP;
}

bool is_absent_file(const std::string& name) {
  return name == kAbsentFileName || name == absl::StrCat(kAbsentFileName, kCopySuffix);
}

class Search {
 public:
  explicit Search(Disk& disk) : disk_(disk) {}

  // Checks a file whose length does not matter.
  absl::Status look_at(const std::string& path) { return look_at(path, std::nullopt); }
  absl::Status look_at(const std::string& path, std::optional<std::uint64_t> bytes_due) {
    const auto file = open_file(disk_, path, {OpenMode::kRead});
    if (errc_of(file.status()) == Errc::kNotFound) return absl::OkStatus();
    if (errc_of(file.status()) == Errc::kNotALapwingFile) {
      add_not_a_file(path);
      return absl::OkStatus();
    }
    if (!file.ok() || !bytes_due) return file.status();
    const auto bytes = disk_.size(file->get());
    if (!bytes.ok()) return bytes.status();
    if (*bytes != *bytes_due) {
      found_.push_back({path, Obstacle::Kind::kWrongLength, *bytes, *bytes_due});
    }
    return absl::OkStatus();
  }
  void add_not_a_file(const std::string& path) {
    found_.push_back({path, Obstacle::Kind::kNotAFile, 0, 0});
  }
  std::vector<Obstacle> take() { return std::move(found_); }

 private:
  Disk& disk_;
  std::vector<Obstacle> found_;
};

}  // namespace

std::string Obstacle::what() const {
  if (kind == Kind::kNotAFile) return "it is a link, directory or device, not a file of a bus";
  return absl::StrCat("it has ", bytes, " bytes instead of ", bytes_due);
}

absl::Status Obstacle::refusal() const {
  return make_error(Errc::kNotALapwingFile,
                    absl::StrCat(path, ": ", what(), "; `lapwing repair` renames it"));
}

absl::StatusOr<std::vector<Obstacle>> find_obstacles(const JournalFiles& files,
                                                     std::uint64_t from_segment) {
  Search search(*files.disk);
  const auto names = files.disk->list(files.directory);
  if (errc_of(names.status()) == Errc::kNotFound) return search.take();
  if (is_no_directory(names.status())) {
    search.add_not_a_file(files.directory);
    return search.take();
  }
  if (!names.ok()) return names.status();
  const auto segments = list_segments(files);
  if (!segments.ok()) return segments.status();
  for (const std::string& name : *names) {
    const std::string path = absl::StrCat(files.directory, "/", name);
    std::uint64_t segment = 0;
    absl::Status status;
    if (parse_numbered_name(name, "jnl", segment)) {
      if (segment < from_segment) continue;
      status = search.look_at(path, segment_file_bytes(files.geometry));
    } else if (parse_numbered_name(name, "sum", segment)) {
      // A start removes a .sum without its segment.
      const bool is_orphan = !std::ranges::binary_search(*segments, segment);
      if (!is_orphan && segment < from_segment) continue;
      status =
          is_orphan ? search.look_at(path) : search.look_at(path, sum_file_bytes(files.geometry));
    } else if (parse_numbered_name(name, "idx", segment) || name == kRetentionFileName ||
               is_absent_file(name) || name.ends_with(kUnfinishedSuffix)) {
      status = search.look_at(path);
    }
    if (!status.ok()) return status;
  }
  std::vector<Obstacle> found = search.take();
  std::ranges::sort(found, {}, &Obstacle::path);
  return found;
}

namespace {

absl::Status look_at_kept_files(Search& search, Disk& disk, const std::string& journal_root,
                                const KeptFiles& kind) {
  const std::string directory = absl::StrCat(journal_root, "/", kind.directory);
  const auto names = disk.list(directory);
  if (errc_of(names.status()) == Errc::kNotFound) return absl::OkStatus();
  if (is_no_directory(names.status())) {
    search.add_not_a_file(directory);
    return absl::OkStatus();
  }
  if (!names.ok()) return names.status();
  const std::string suffix = absl::StrCat(".", kind.suffix);
  for (const std::string& name : *names) {
    if (!name.ends_with(suffix) && !name.ends_with(kUnfinishedSuffix)) continue;
    const absl::Status status = search.look_at(absl::StrCat(directory, "/", name));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Obstacle>> find_root_obstacles(Disk& disk,
                                                          const std::string& journal_root) {
  Search search(disk);
  for (const char* const suffix : {"", kCopySuffix}) {
    const absl::Status status =
        search.look_at(absl::StrCat(journal_root, "/", kSessionsFileName, suffix));
    if (!status.ok()) return status;
  }
  for (const KeptFiles& kind : {kKeptSchemas, kKeptMetadata}) {
    const absl::Status status = look_at_kept_files(search, disk, journal_root, kind);
    if (!status.ok()) return status;
  }
  return search.take();
}

absl::Status remove_obstacle(Disk& disk, const Obstacle& obstacle, const Id128& id) {
  if (obstacle.kind == Obstacle::Kind::kNotAFile) {
    const absl::Status renamed =
        disk.rename(obstacle.path, absl::StrCat(obstacle.path, ".aside-", id.hex()));
    return renamed.ok() ? disk.sync_directory(directory_of(obstacle.path)) : renamed;
  }
  const auto file = open_file(disk, obstacle.path, {OpenMode::kReadWrite});
  if (!file.ok()) return file.status();
  const absl::Status status = disk.truncate(file->get(), obstacle.bytes_due);
  return status.ok() ? disk.sync(file->get()) : status;
}

std::optional<LostDescription> find_lost_description(Disk& disk, const std::string& journal_root,
                                                     const SessionLog& sessions) {
  const SessionRecord* const last = sessions.last();
  if (last == nullptr || (last->end && last->end->how == SessionEnd::kFailed)) return std::nullopt;
  const std::uint64_t hash = newest_description(sessions, last->begin.journal_id);
  if (hash == 0 || known_schema(get_text(last->begin.schema))) return std::nullopt;
  const auto kept = read_kept_schema(disk, journal_root, hash);
  if (kept.ok() || errc_of(kept.status()) == Errc::kUnsupported) return std::nullopt;
  return LostDescription{kKeptSchemas.path(journal_root, hash),
                         std::string(kept.status().message()), hash};
}

}  // namespace lapwing
