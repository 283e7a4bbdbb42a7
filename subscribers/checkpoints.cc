#include "lapwing/checkpoints.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/fork.h"
#include "os/mapping.h"
#include "os/posix_io.h"
#include "proto/text_field.h"
#include "snapshot/bus_directory.h"
#include "snapshot/checkpoint/checkpoint_directory.h"
#include "snapshot/checkpoint/checkpoint_judge.h"
#include "snapshot/checkpoint/checkpoint_ownership.h"
#include "subscribers/attachment.h"
#include "subscribers/snapshot_join.h"

namespace lapwing {
namespace {

// Reads files where PosixDisk would map them.
class CopyingDisk final : public PosixDisk {
 public:
  std::optional<Pages> map_finished(FileHandle) override { return std::nullopt; }
};

std::unique_ptr<Disk> make_disk(bool copy) {
  if (copy) return std::make_unique<CopyingDisk>();
  return std::make_unique<PosixDisk>();
}

// The fold, the directory of its checkpoints, and the checks that a usable checkpoint must pass.
struct CheckpointPlace {
  std::shared_ptr<const Fold> fold;
  std::string directory;
  CheckpointJudge judge;
};

// Checks the directory's owner. Callers open files only in the directory that this returns.
absl::StatusOr<CheckpointPlace> find_place(const CheckpointOptions& options) {
  if (absl::Status valid = check_fold_choice(options.fold, options.own_fold); !valid.ok()) {
    return valid;
  }
  const absl::StatusOr<BusDescription> bus = read_bus_description(options.directory);
  if (!bus.ok()) return bus.status();
  if (bus->journal_root.empty()) {
    return make_error(
        Errc::kNoJournal,
        absl::StrCat("bus ", options.directory, " keeps no journal, so it has no checkpoints"));
  }
  const absl::StatusOr<Attachment> remains = Attachment::to_remains(options.directory, *bus);
  if (!remains.ok()) return remains.status();
  const auto fold = choose_fold(options.own_fold, options.fold, remains->records());
  if (!fold.ok()) return fold.status();
  std::string directory = checkpoint_directory(options.directory, (*fold)->shape().name);
  if (absl::Status trusted = check_checkpoint_directory(directory); !trusted.ok()) return trusted;
  return CheckpointPlace{*fold, std::move(directory),
                         make_checkpoint_judge(remains->journal()->sessions(), bus->journal_id,
                                               remains->bounds().durable)};
}

CheckpointInfo info_of(const CheckpointHeader& header, std::string path) {
  return {.path = std::move(path),
          .as_of = header.sequence,
          .journal_id = header.journal_id,
          .session_id = header.session_id,
          .fold = get_text(header.fold),
          .fold_version = header.fold_version,
          .schema_name = get_text(header.schema),
          .record_bytes = header.record_bytes,
          .entries = header.entry_count,
          .entry_bytes = header.entry_bytes,
          .written_wall_ns = header.created_wall_ns};
}

}  // namespace

struct Checkpoint::State {
  std::shared_ptr<const Fold> fold;
  LoadedCheckpoint loaded;
  CheckpointInfo info;
  std::vector<std::string> passed_over;
  ForkMark made = {};

  bool is_key(std::span<const std::byte> key) const {
    return key.size() == fold->shape().key_bytes;
  }
};

absl::StatusOr<Checkpoint> Checkpoint::open(const CheckpointOptions& options) {
  const absl::StatusOr<CheckpointPlace> place = find_place(options);
  if (!place.ok()) return place.status();
  const std::unique_ptr<Disk> disk = make_disk(options.copy);
  const FoldShape& shape = place->fold->shape();
  std::optional<ChosenCheckpoint> chosen;
  if (options.as_of == kNoSequence) {
    absl::StatusOr<ChosenCheckpoint> newest =
        choose_checkpoint(*disk, place->directory, shape, place->judge);
    if (!newest.ok()) return newest.status();
    chosen.emplace(*std::move(newest));
  } else {
    absl::StatusOr<LoadedCheckpoint> loaded =
        load_checkpoint(*disk, {options.as_of, checkpoint_path(place->directory, options.as_of)},
                        shape, place->judge);
    if (!loaded.ok()) return loaded.status();
    chosen.emplace(ChosenCheckpoint{*std::move(loaded), {}});
  }
  const CheckpointHeader& header = chosen->checkpoint.header();
  CheckpointInfo info = info_of(header, checkpoint_path(place->directory, header.sequence));
  return Checkpoint(std::make_unique<State>(State{place->fold, std::move(chosen->checkpoint),
                                                  std::move(info), std::move(chosen->skipped)}));
}

absl::StatusOr<std::vector<ListedCheckpoint>> Checkpoint::list(const CheckpointOptions& options) {
  const absl::StatusOr<CheckpointPlace> place = find_place(options);
  if (!place.ok()) return place.status();
  PosixDisk disk;
  const auto files = list_checkpoints(disk, place->directory);
  if (!files.ok()) return files.status();
  std::vector<ListedCheckpoint> listed;
  for (const CheckpointFile& file : *files) {
    const auto begun = begin_checkpoint(disk, file, place->fold->shape(), place->judge);
    if (errc_of(begun.status()) == Errc::kNotFound) continue;  // removed since
    listed.push_back({.info = begun.ok() ? info_of(begun->header(), file.path)
                                         : CheckpointInfo{.path = file.path, .as_of = file.as_of},
                      .usable = begun.status()});
  }
  return listed;
}

Checkpoint::Checkpoint(std::unique_ptr<State> state) : state_(std::move(state)) {}
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

const CheckpointInfo& Checkpoint::info() const {
  return state_->info;
}

const Fold& Checkpoint::fold() const {
  return *state_->fold;
}

const std::vector<std::string>& Checkpoint::passed_over() const {
  return state_->passed_over;
}

std::uint64_t Checkpoint::size() const {
  return state_->made.in_child() ? 0 : state_->loaded.size();
}

std::span<const std::byte> Checkpoint::entries() const {
  if (state_->made.in_child()) return {};
  return state_->loaded.entries();
}

std::span<const std::byte> Checkpoint::entry(std::uint64_t index) const {
  if (state_->made.in_child()) return {};
  return state_->loaded.entry(index);
}

std::span<const std::byte> Checkpoint::find(std::span<const std::byte> key) const {
  if (state_->made.in_child() || !state_->is_key(key)) return {};
  return state_->loaded.find(*state_->fold, key);
}

std::uint64_t Checkpoint::lower_bound(std::span<const std::byte> key) const {
  if (state_->made.in_child() || !state_->is_key(key)) return size();
  return state_->loaded.lower_bound(*state_->fold, key);
}

std::uint64_t Checkpoint::digest() const {
  return state_->made.in_child() ? 0 : state_->loaded.digest();
}

}  // namespace lapwing
