#include "snapshot/checkpoint/checkpoint_directory.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lapwing/error.h"
#include "os/path.h"
#include "proto/text_field.h"

namespace lapwing {
namespace {

// Maximum number of listings of a directory whose files a checkpointer keeps replacing.
constexpr int kListingsMax = 5;

// The sequence in a checkpoint's name.
std::optional<Sequence> sequence_in(const std::string& name) {
  Sequence as_of = kNoSequence;
  if (!parse_numbered_name(name, "ckpt", as_of)) return std::nullopt;
  if (as_of == kNoSequence || as_of > kSequenceMax) return std::nullopt;
  return as_of;
}

bool is_temporary(const std::string& name) {
  return name.ends_with(kTemporarySuffix) &&
         sequence_in(name.substr(0, name.size() - std::strlen(kTemporarySuffix)));
}

absl::Status unusable(const std::string& path, const std::string& what) {
  return make_error(Errc::kReset, absl::StrCat(path, ": ", what));
}

absl::Status check_name(const CheckpointHeader& header, const CheckpointFile& file) {
  if (header.sequence == file.as_of) return absl::OkStatus();
  return unusable(file.path, absl::StrCat("is the checkpoint as of ", header.sequence,
                                          " under another's name"));
}

absl::Status check_shape(const CheckpointHeader& header, const FoldShape& shape,
                         const std::string& path) {
  const std::string fold = get_text(header.fold);
  const std::string schema = get_text(header.schema);
  if (fold != shape.name) {
    return unusable(path, absl::StrCat("is of the fold ", fold, ", not ", shape.name));
  }
  if (header.fold_version != shape.version) {
    return unusable(path, absl::StrCat("is of version ", header.fold_version, " of the fold ", fold,
                                       ", this program folds version ", shape.version));
  }
  if (schema != shape.schema) {
    return unusable(path, absl::StrCat("is of schema ", schema, ", not ", shape.schema));
  }
  if (header.record_bytes != shape.record_bytes) {
    return unusable(path, absl::StrCat("is of records of ", header.record_bytes, " bytes, not ",
                                       shape.record_bytes));
  }
  if (header.entry_bytes != shape.entry_bytes) {
    return unusable(path, absl::StrCat("has entries of ", header.entry_bytes, " bytes, not ",
                                       shape.entry_bytes));
  }
  return absl::OkStatus();
}

// Checks everything that can be checked from the header alone.
absl::Status check_header(const CheckpointHeader& header, const CheckpointFile& file,
                          const FoldShape& shape, const CheckpointJudge& judge) {
  absl::Status status = check_name(header, file);
  if (status.ok()) status = check_shape(header, shape, file.path);
  if (!status.ok() || !judge) return status;
  status = judge(header);
  if (status.ok()) return status;
  return make_error(errc_of(status), absl::StrCat(file.path, ": ", std::string(status.message())));
}

absl::Status none_usable(const std::string& directory, const FoldShape& shape, Errc code,
                         const std::vector<std::string>& skipped) {
  std::string message =
      absl::StrCat(skipped.empty() ? "no checkpoint in " : "no usable checkpoint in ", directory,
                   "; `lapwing checkpoint --fold ", shape.name, "` writes one");
  if (!skipped.empty()) absl::StrAppend(&message, "; passed over: ", absl::StrJoin(skipped, "; "));
  return make_error(code, message);
}

// What happens to a file when old ones are removed.
enum class Fate { kKeep, kRemove, kLeave };

Fate fate_of(const absl::StatusOr<CheckpointHeader>& header, const CheckpointFile& file,
             const FoldShape& shape, const Id128& journal_id, bool enough_kept) {
  const Errc code = errc_of(header.status());
  const bool is_ours = header.ok() || code == Errc::kDamaged || code == Errc::kAbiMismatch;
  if (!is_ours) return Fate::kLeave;
  const bool is_named_right = header.ok() && header->sequence == file.as_of;
  if (is_named_right && header->journal_id != journal_id) return Fate::kRemove;
  if (enough_kept) return Fate::kRemove;
  return is_named_right && check_shape(*header, shape, file.path).ok() ? Fate::kKeep : Fate::kLeave;
}

}  // namespace

std::string checkpoint_directory(const std::string& bus, const std::string& fold) {
  return absl::StrCat(bus, "/", kCheckpointDirectoryName, "/", fold);
}

std::string checkpoint_path(const std::string& directory, Sequence as_of) {
  return numbered_path(directory, as_of, "ckpt");
}

absl::StatusOr<std::string> make_checkpoint_directory(Disk& disk, const std::string& bus,
                                                      const std::string& fold) {
  const std::string all = absl::StrCat(bus, "/", kCheckpointDirectoryName);
  const std::string directory = checkpoint_directory(bus, fold);
  absl::Status status = disk.make_directory(all, 0700);
  if (status.ok()) status = disk.sync_directory(bus);
  if (status.ok()) status = disk.make_directory(directory, 0700);
  if (status.ok()) status = disk.sync_directory(all);
  if (!status.ok()) return status;
  return directory;
}

absl::StatusOr<std::vector<CheckpointFile>> list_checkpoints(Disk& disk,
                                                             const std::string& directory,
                                                             std::vector<std::string>* strangers) {
  std::vector<CheckpointFile> files;
  const auto names = disk.list(directory);
  if (errc_of(names.status()) == Errc::kNotFound) return files;
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    const std::string path = absl::StrCat(directory, "/", name);
    if (const auto as_of = sequence_in(name)) {
      files.push_back({*as_of, path});
    } else if (strangers != nullptr && name != kCheckpointStoreName) {
      strangers->push_back(absl::StrCat(
          path, is_temporary(name)
                    ? ": is not finished; a checkpointer writes it, or was killed while it did"
                    : ": is not named like a checkpoint"));
    }
  }
  std::sort(files.begin(), files.end(),
            [](const CheckpointFile& a, const CheckpointFile& b) { return a.as_of > b.as_of; });
  if (strangers != nullptr) std::sort(strangers->begin(), strangers->end());
  return files;
}

absl::StatusOr<CheckpointLoad> begin_checkpoint(Disk& disk, const CheckpointFile& file,
                                                const FoldShape& shape,
                                                const CheckpointJudge& judge) {
  absl::StatusOr<CheckpointLoad> load = CheckpointLoad::begin(disk, file.path);
  if (!load.ok()) return load.status();
  absl::Status status = check_header(load->header(), file, shape, judge);
  if (!status.ok()) return status;
  return load;
}

absl::StatusOr<LoadedCheckpoint> load_checkpoint(Disk& disk, const CheckpointFile& file,
                                                 const FoldShape& shape,
                                                 const CheckpointJudge& judge) {
  absl::StatusOr<CheckpointLoad> load = begin_checkpoint(disk, file, shape, judge);
  if (!load.ok()) return load.status();
  return load->finish();
}

absl::StatusOr<ChosenCheckpoint> choose_checkpoint(Disk& disk, const std::string& directory,
                                                   const FoldShape& shape,
                                                   const CheckpointJudge& judge) {
  std::vector<std::string> skipped;
  Errc code = Errc::kNotFound;
  for (int listing = 1, vanished = 1; vanished > 0 && listing <= kListingsMax; ++listing) {
    skipped.clear();
    vanished = 0;
    std::vector<std::string> strangers;
    const auto files = list_checkpoints(disk, directory, &strangers);
    if (!files.ok()) return files.status();
    for (const CheckpointFile& file : *files) {
      auto checkpoint = load_checkpoint(disk, file, shape, judge);
      if (checkpoint.ok()) return ChosenCheckpoint{*std::move(checkpoint), std::move(skipped)};
      if (errc_of(checkpoint.status()) == Errc::kNotFound) ++vanished;
      if (errc_of(checkpoint.status()) == Errc::kDamaged) code = Errc::kDamaged;
      skipped.emplace_back(checkpoint.status().message());
    }
    skipped.insert(skipped.end(), strangers.begin(), strangers.end());
  }
  return none_usable(directory, shape, code, skipped);
}

absl::StatusOr<KeptCheckpoints> retain_checkpoints(Disk& disk, const std::string& directory,
                                                   const FoldShape& shape, const Id128& journal_id,
                                                   std::uint64_t keep) {
  if (keep == 0) return make_error(Errc::kInvalidArgument, "keep must be at least 1");
  const auto files = list_checkpoints(disk, directory);
  if (!files.ok()) return files.status();
  std::vector<std::string> doomed;
  KeptCheckpoints kept;
  std::uint64_t count = 0;
  for (const CheckpointFile& file : *files) {
    const auto header = LoadedCheckpoint::read_header(disk, file.path);
    const Fate fate = fate_of(header, file, shape, journal_id, count >= keep);
    if (fate == Fate::kRemove) doomed.push_back(file.path);
    if (fate != Fate::kKeep) continue;
    if (count++ == 0) kept.newest = file.as_of;
    kept.oldest = file.as_of;
  }
  const auto names = disk.list(directory);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (is_temporary(name)) doomed.push_back(absl::StrCat(directory, "/", name));
  }
  for (const std::string& path : doomed) {
    const absl::Status removed = disk.remove(path);
    if (!removed.ok()) return removed;
  }
  if (!doomed.empty()) {
    const absl::Status synced = disk.sync_directory(directory);
    if (!synced.ok()) return synced;
  }
  return kept;
}

}  // namespace lapwing
