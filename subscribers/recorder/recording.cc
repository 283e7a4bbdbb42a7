#include "lapwing/recording.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/deadline.h"
#include "os/exclusive_lock.h"
#include "os/fork.h"
#include "os/posix_io.h"
#include "subscribers/recorder/recorded_state.h"
#include "subscribers/recorder/recording_files.h"
#include "subscribers/recorder/recording_format.h"

namespace lapwing {
namespace {

constexpr char kLockSuffix[] = ".lock";

absl::Status check_options(const RecordingOptions& options) {
  if (options.path.empty() || options.directory.empty()) {
    return make_error(Errc::kInvalidArgument,
                      "a recording needs the path of its file and the directory of its bus");
  }
  const Rotation& rotation = options.rotation;
  if (rotation.bytes != 0 && rotation.bytes < kRotateBytesMin) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("a rotation after ", rotation.bytes, " bytes is too frequent; ",
                                   "give at least ", kRotateBytesMin));
  }
  return Periods::of(rotation).status();
}

absl::Status misuse(const std::string& what) {
  return make_error(Errc::kMisuse, what);
}

}  // namespace

RecordBatch RecordBatch::of(const Subscriber& subscriber, std::span<const std::byte> records) {
  return {.schema_name = subscriber.schema_name(),
          .records = records,
          .last = subscriber.position(),
          .record_bytes = subscriber.record_bytes(),
          .schema = subscriber.schema(),
          .session_id = subscriber.session_id()};
}

struct Recording::State {
  State(RecordingOptions given, ExclusiveLock held)
      : options(std::move(given)), lock(std::move(held)) {}
  absl::Status open();
  absl::Status append(const RecordBatch& batch);
  absl::Status check_open() const;

  const RecordingOptions options;
  const ExclusiveLock lock;
  PosixDisk disk;
  std::unique_ptr<RecordingFiles> files;
  RecordedState state;
  RecordBatch state_kind;                  // kind of the records in the state
  std::optional<StoredPosition> appended;  // position of the last record
  bool finished = false;
  const ForkWatch fork{"recording"};
};

absl::Status Recording::State::open() {
  auto prepared = RecordingFiles::prepare(
      disk, {options.path, options.rotation, dbn_metadata_of(options.directory)});
  if (!prepared.ok()) return prepared.status();
  files = *std::move(prepared);
  return absl::OkStatus();
}

absl::Status Recording::State::check_open() const {
  if (fork.in_child()) return fork.error();
  if (!finished) return absl::OkStatus();
  return misuse(absl::StrCat(options.path, " was finished; open it again to continue it"));
}

absl::Status Recording::State::append(const RecordBatch& batch) {
  absl::Status done = files->append(batch);
  if (done.ok() && !batch.records.empty()) appended = batch.last;
  return done;
}

absl::StatusOr<Recording> Recording::open(RecordingOptions options, Deadline deadline) {
  if (absl::Status valid = check_options(options); !valid.ok()) return valid;
  // Two recorders that write the same recording would truncate each other's records.
  absl::StatusOr<ExclusiveLock> lock =
      ExclusiveLock::take(options.path + kLockSuffix, left_ns(deadline),
                          {"records it; stop that process, or record to another name", "recorder"});
  if (!lock.ok()) return lock.status();
  StateHandle state(new State(std::move(options), *std::move(lock)));
  if (absl::Status opened = state->open(); !opened.ok()) return opened;
  return Recording(std::move(state));
}

Recording::Recording(StateHandle state) : state_(std::move(state)) {}
void Recording::DeleteState::operator()(State* state) const {
  delete_unless_forked(state, state->fork);
}
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&&) noexcept = default;
Recording::~Recording() = default;

std::optional<StoredPosition> Recording::position() const {
  return state_->files->position();
}

absl::Status Recording::append(const RecordBatch& batch) {
  if (absl::Status is_open = state_->check_open(); !is_open.ok()) return is_open;
  state_->state = RecordedState();
  return state_->append(batch);
}

absl::Status Recording::append_state(const Fold& fold, std::span<const std::byte> entries) {
  State& state = *state_;
  if (absl::Status is_open = state.check_open(); !is_open.ok()) return is_open;
  if (state.appended || state.files->position()) {
    return misuse(absl::StrCat(state.options.path,
                               " has begun: only the beginning of a recording can be a state"));
  }
  const std::size_t entry_bytes = fold.shape().entry_bytes;
  if (entry_bytes == 0 || entries.size() % entry_bytes != 0) {
    return make_error(Errc::kRecordSize,
                      absl::StrCat(entries.size(), " bytes are not whole entries of ", entry_bytes,
                                   " bytes; nothing was recorded"));
  }
  state.state_kind.schema_name = fold.shape().schema;
  state.state_kind.record_bytes = fold.shape().record_bytes;
  for (std::size_t at = 0; at < entries.size(); at += entry_bytes) {
    const absl::Status added = state.state.add(fold, entries.subspan(at, entry_bytes));
    if (!added.ok()) return added;
  }
  return absl::OkStatus();
}

absl::Status Recording::end_state(const RecordBatch& as_of) {
  State& state = *state_;
  if (absl::Status is_open = state.check_open(); !is_open.ok()) return is_open;
  const std::vector<std::byte> records = state.state.take_records();
  RecordBatch batch = state.state_kind;
  batch.records = records;
  batch.last = as_of.last;
  batch.session_id = as_of.session_id;
  batch.schema = as_of.schema;
  absl::Status done = state.files->append_state(batch);
  if (done.ok() && !records.empty()) state.appended = as_of.last;
  return done;
}

absl::Status Recording::commit() {
  if (state_->fork.in_child()) return state_->fork.error();
  if (!state_->appended) return absl::OkStatus();
  return state_->files->commit(*state_->appended);
}

absl::Status Recording::finish(const RecordBatch& joined) {
  if (absl::Status is_open = state_->check_open(); !is_open.ok()) return is_open;
  state_->finished = true;
  RecordBatch end = joined;
  if (state_->appended) end.last = *state_->appended;
  return state_->files->finish(end);
}

RecordingCounters Recording::counters() const {
  return {.records = state_->files->records(),
          .files = state_->files->files(),
          .foreign_sessions = state_->files->foreign_sessions()};
}

}  // namespace lapwing
