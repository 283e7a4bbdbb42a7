#include "lapwing/checkpointer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/fork.h"
#include "os/kernel.h"
#include "os/posix_io.h"
#include "os/system_error.h"
#include "os/thread_placement.h"
#include "snapshot/bus_directory.h"
#include "snapshot/checkpoint/checkpoint_directory.h"
#include "snapshot/checkpoint/checkpoint_ownership.h"
#include "snapshot/checkpoint/loaded_checkpoint.h"
#include "snapshot/fold/entry_digest.h"
#include "subscribers/checkpointer/checkpointer_state.h"
#include "subscribers/snapshot_join.h"

namespace lapwing {
namespace {

// The records of the bus determine which fold a name selects.
absl::StatusOr<std::shared_ptr<const Fold>> named_fold(const CheckpointerOptions& options) {
  const absl::StatusOr<BusDescription> bus = read_bus_description(options.subscriber.directory);
  if (!bus.ok()) return bus.status();
  return choose_fold(nullptr, options.fold, records_of(*bus));
}

// The group that may read the bus, and therefore its checkpoints; nullopt if there is none. Fails
// if the bus belongs to another user, even for root: the owner could neither read nor replace files
// that another user creates there.
absl::StatusOr<std::optional<unsigned>> group_of_own_bus(const std::string& bus) {
  struct stat info{};
  if (::stat(bus.c_str(), &info) != 0) {
    return make_system_error(errno, absl::StrCat("cannot check ", bus));
  }
  if (info.st_uid != ::geteuid()) {
    return make_error(Errc::kNotPermitted,
                      absl::StrCat(bus, " belongs to user ", info.st_uid, ", not to ", ::geteuid(),
                                   "; run the checkpointer as the owner of the bus directory"));
  }
  return (info.st_mode & S_IRGRP) != 0 ? std::optional<unsigned>(info.st_gid) : std::nullopt;
}

}  // namespace

bool may_pass(const absl::Status& status) {
  const Errc code = errc_of(status);
  return code == Errc::kNoSpace || code == Errc::kSystem;
}

absl::Status interrupted_run() {
  return make_error(Errc::kInterrupted, "interrupt() ended the run; the next one continues");
}

// Opening.

absl::StatusOr<Checkpointer> Checkpointer::open(CheckpointerOptions options) {
  if (absl::Status valid = check_fold_choice(options.fold, options.own_fold); !valid.ok()) {
    return valid;
  }
  if (options.own_fold == nullptr) {
    absl::StatusOr<std::shared_ptr<const Fold>> named = named_fold(options);
    if (!named.ok()) return named.status();
    options.own_fold = *std::move(named);
  }
  return start_checkpointer({std::move(options)});
}

absl::StatusOr<Checkpointer> start_checkpointer(CheckpointerSetUp set_up) {
  if (!set_up.log) set_up.log = [](const LogEntry&) {};
  if (set_up.keep == 0) {
    return make_error(Errc::kInvalidArgument, "keep must be at least 1");
  }
  if (!set_up.subscriber.instruments.empty()) {
    return make_error(
        Errc::kInvalidArgument,
        "subscriber.instruments is set, but a checkpoint is the state of the whole bus. Remove it");
  }
  if (absl::Status placed = check_placement(set_up.subscriber.threads); !placed.ok()) {
    return placed;
  }
  const std::string& bus = set_up.subscriber.directory;
  const absl::StatusOr<std::optional<unsigned>> group = group_of_own_bus(bus);
  if (!group.ok()) return group.status();
  std::unique_ptr<Disk> disk =
      set_up.make_disk ? set_up.make_disk() : std::make_unique<PosixDisk>(*group);
  absl::StatusOr<std::string> directory =
      make_checkpoint_directory(*disk, bus, set_up.own_fold->shape().name);
  if (!directory.ok()) return directory.status();
  if (absl::Status trusted = check_checkpoint_directory(*directory); !trusted.ok()) return trusted;
  disk->anchor(*directory);
  Checkpointer::StateHandle state(
      new Checkpointer::State(std::move(set_up), std::move(disk), *std::move(directory)));
  if (absl::Status started = state->start(); !started.ok()) return started;
  return Checkpointer(std::move(state));
}

Checkpointer::State::State(CheckpointerSetUp set_up, std::unique_ptr<Disk> disk,
                           std::string directory)
    : options(std::move(set_up)),
      checkpoints(options, std::move(disk), std::move(directory), counters),
      pending(fold().shape().record_bytes, options.pending_bytes_max),
      store_trouble("the store can be written to again", options.log) {}

absl::Status Checkpointer::State::start() {
  const std::string path = absl::StrCat(checkpoints.directory(), "/", kCheckpointStoreName);
  absl::StatusOr<std::unique_ptr<StateStore>> opened =
      StateStore::open(path, fold().shape(), options.hot_bytes_max);
  if (!opened.ok()) return opened.status();
  store = *std::move(opened);
  if (!committed()) {
    if (absl::Status loaded = load_checkpoint(); !loaded.ok()) return loaded;
  }
  if (absl::Status begun = checkpoints.begin(committed()); !begun.ok()) return begun;
  committed_ns = monotonic_ns();
  reopen_subscriber();
  return absl::OkStatus();
}

// An empty store starts from the journal's newest checkpoint, if there is one, and not from the
// first record. The subscriber then detects whether the bus still has that history.
absl::Status Checkpointer::State::load_checkpoint() {
  const absl::StatusOr<BusDescription> bus = read_bus_description(options.subscriber.directory);
  if (!bus.ok()) return absl::OkStatus();
  const absl::StatusOr<LoadedCheckpoint> checkpoint = checkpoints.newest(bus->journal_id);
  if (errc_of(checkpoint.status()) == Errc::kNotFound) return absl::OkStatus();
  if (!checkpoint.ok()) return checkpoint.status();
  std::vector<std::byte> key(fold().shape().key_bytes);
  for (std::uint64_t i = 0; i < checkpoint->size(); ++i) {
    fold().key_of(checkpoint->entry(i), key);
    store->put(key, checkpoint->entry(i));
    if (!store->full()) continue;
    if (absl::Status put = store->commit(std::nullopt); !put.ok()) return put;
  }
  const CheckpointIdentity from = checkpoint->identity();
  options.log(
      log_entry(LogEvent::kStoreBegins,
                absl::StrCat("the store is built from the checkpoint of sequence ", from.sequence),
                {{"sequence", from.sequence}}));
  return store->commit(StorePosition{{from.journal_id, from.session_id, from.sequence}, true});
}

// Keeping the state.

absl::Status Checkpointer::State::commit_if_due() {
  const std::uint64_t now = monotonic_ns();
  const bool checkpoint = checkpoints.is_due(now);
  const bool by_time = now - committed_ns >= ns_of(options.commit_interval);
  const bool due = may_commit() && (store->full() || (settled && (by_time || checkpoint)));
  if (due || !store->failure().ok()) {
    if (absl::Status done = commit(); !done.ok()) return done;
  }
  if (checkpoint) checkpoints.start_if_new(*store);
  return absl::OkStatus();
}

// Commits the folded records. A temporary failure is logged and recorded in store_trouble.
absl::Status Checkpointer::State::commit() {
  options.step("before-batch");
  const absl::Status done = store->commit(StorePosition{folded, settled});
  store_trouble.note(done);
  if (!done.ok()) return may_pass(done) ? absl::OkStatus() : done;
  committed_ns = monotonic_ns();
  ++counters.commits;
  options.step("after-batch");
  return absl::OkStatus();
}

// After a failed write, RocksDB may hold anything in memory, but its files hold a whole commit. The
// records folded since that commit are folded again.
absl::Status Checkpointer::State::reopen_store() {
  checkpoints.give_up();
  subscriber = absl::UnknownError("not open");
  absl::Status opened = store->reopen();
  if (!opened.ok() && !may_pass(opened)) return opened;
  store_trouble.note(opened);
  if (opened.ok()) reopen_subscriber();
  return absl::OkStatus();
}

absl::Status Checkpointer::State::not_finished() const {
  return make_error(errc_of(store->failure()),
                    absl::StrCat(std::string(store->failure().message()),
                                 "; the next run continues after record ", committed_through()));
}

// The checkpointer.

Checkpointer::Checkpointer(StateHandle state) : state_(std::move(state)) {}
Checkpointer::Checkpointer(Checkpointer&&) noexcept = default;
Checkpointer& Checkpointer::operator=(Checkpointer&&) noexcept = default;
Checkpointer::~Checkpointer() = default;
void Checkpointer::DeleteState::operator()(State* state) const {
  delete_unless_forked(state, state->fork);
}

absl::Status Checkpointer::run(Deadline deadline) {
  State& state = *state_;
  if (state.fork.in_child()) return state.fork.error();
  const std::uint64_t deadline_ns = deadline.monotonic_ns();
  state.closed = false;
  while (!state.closed && monotonic_ns() < deadline_ns) {
    if (state.interrupt.take()) return interrupted_run();
    state.checkpoints.end_if_done();
    if (state.store_trouble.lasts()) {
      if (state.store_trouble.rests(monotonic_ns())) {
        state.rest(std::min(deadline_ns, state.store_trouble.retry_ns()));
        continue;
      }
      if (absl::Status opened = state.reopen_store(); !opened.ok()) return opened;
      continue;
    }
    if (absl::Status read_one = state.read(deadline_ns); !read_one.ok()) return read_one;
    state.fold_ready(false);
    if (absl::Status committed = state.commit_if_due(); !committed.ok()) return committed;
  }
  return absl::OkStatus();
}

void Checkpointer::interrupt() noexcept {
  state_->interrupt.raise();
}

bool Checkpointer::is_closed() const {
  return state_->closed;
}

absl::Status Checkpointer::finish() {
  State& state = *state_;
  if (state.fork.in_child()) return state.fork.error();
  if (state.store_trouble.lasts()) return state.not_finished();
  state.fold_ready(false);
  if (state.may_commit() && state.settled) {
    if (absl::Status done = state.commit(); !done.ok()) return done;
    if (state.store_trouble.lasts()) return state.not_finished();
  }
  return state.checkpoints.finish(*state.store, state.closed);
}

const Fold& Checkpointer::fold() const {
  return state_->fold();
}

Sequence Checkpointer::folded_through() const {
  return state_->folded_through();
}

std::optional<StoredPosition> Checkpointer::committed() const {
  if (!state_->committed()) return std::nullopt;
  return state_->committed()->at;
}

const CheckpointerCounters& Checkpointer::counters() const {
  return state_->counters;
}

absl::StatusOr<std::uint64_t> Checkpointer::digest() const {
  const State& state = *state_;
  if (state.fork.in_child()) return state.fork.error();
  if (!state.store->failure().ok()) return state.store->failure();
  if (!state.committed()) return EntryDigest().value();
  const WrittenCheckpoint& last = state.counters.last;
  const bool is_known = state.counters.checkpoints > 0 && last.as_of == state.committed_through();
  if (is_known) return last.digest;
  EntryDigest digest;
  const absl::Status read = state.store->snapshot().read([&](std::span<const std::byte> entries) {
    digest.add(entries);
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  return digest.value();
}

}  // namespace lapwing
