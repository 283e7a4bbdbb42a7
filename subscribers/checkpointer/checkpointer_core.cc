#include "subscribers/checkpointer/checkpointer_core.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/posix_io.h"
#include "os/system_error.h"
#include "os/thread_placement.h"
#include "snapshot/bus_directory.h"
#include "snapshot/checkpoint/checkpoint_directory.h"
#include "snapshot/checkpoint/checkpoint_ownership.h"
#include "snapshot/checkpoint/loaded_checkpoint.h"
#include "snapshot/fold/entry_digest.h"

namespace lapwing {
namespace {

// What anyone else makes there, root too, the owner could neither read nor replace.
// The group that may read the bus, and so its checkpoints; nullopt: none. Fails if the bus belongs to
// another user.
absl::StatusOr<std::optional<unsigned>> group_of_own_bus(const std::string& bus) {
  struct stat info{};
  if (::stat(bus.c_str(), &info) != 0) {
    return make_system_error(errno, absl::StrCat("cannot look at ", bus));
  }
  if (info.st_uid != ::geteuid()) {
    return make_error(Errc::kNotPermitted,
                      absl::StrCat(bus, " belongs to user ", info.st_uid, ", not to ", ::geteuid(),
                                   "; run the checkpointer as the owner of the bus directory"));
  }
  return (info.st_mode & S_IRGRP) != 0 ? std::optional<unsigned>(info.st_gid) : std::nullopt;
}

}  // namespace

CheckpointerCore::CheckpointerCore(CheckpointerSetUp set_up, std::unique_ptr<Disk> disk,
                                   std::string directory)
    : options_(std::move(set_up)),
      fold_(options_.own_fold.get()),
      disk_(std::move(disk)),
      directory_(std::move(directory)),
      pending_(fold_->shape().record_bytes, options_.pending_bytes_max),
      store_trouble_("the store can be written to again", options_.log),
      checkpoint_trouble_("checkpoints can be written again", options_.log),
      prune_trouble_("the journal is pruned again", options_.log) {}

CheckpointerCore::~CheckpointerCore() = default;

absl::StatusOr<std::unique_ptr<CheckpointerCore>> CheckpointerCore::open(
    CheckpointerSetUp options) {
  if (!options.log) options.log = [](const LogEntry&) {};
  if (options.keep == 0) {
    return make_error(Errc::kInvalidArgument, "at least one checkpoint is to be kept");
  }
  if (!options.subscriber.instruments.empty()) {
    return make_error(Errc::kInvalidArgument,
                      "subscriber.instruments is given, and a checkpoint is the state of the whole "
                      "bus; leave it out");
  }
  if (absl::Status placed = check_placement(options.subscriber.threads); !placed.ok()) {
    return placed;
  }
  const std::string& bus = options.subscriber.directory;
  const absl::StatusOr<std::optional<unsigned>> group = group_of_own_bus(bus);
  if (!group.ok()) return group.status();
  std::unique_ptr<Disk> disk =
      options.make_disk ? options.make_disk() : std::make_unique<PosixDisk>(*group);
  absl::StatusOr<std::string> directory =
      make_checkpoint_directory(*disk, bus, options.own_fold->shape().name);
  if (!directory.ok()) return directory.status();
  if (absl::Status trusted = check_checkpoint_directory(*directory); !trusted.ok()) return trusted;
  disk->anchor(*directory);
  std::unique_ptr<CheckpointerCore> checkpointer(
      new CheckpointerCore(std::move(options), std::move(disk), *std::move(directory)));
  if (absl::Status started = checkpointer->start(); !started.ok()) return started;
  return checkpointer;
}

absl::Status CheckpointerCore::start() {
  const std::string path = absl::StrCat(directory_, "/", kCheckpointStoreName);
  absl::StatusOr<std::unique_ptr<StateStore>> store =
      StateStore::open(path, fold_->shape(), options_.hot_bytes_max);
  if (!store.ok()) return store.status();
  store_ = *std::move(store);
  if (!committed()) {
    if (absl::Status loaded = load_checkpoint(); !loaded.ok()) return loaded;
  }
  if (committed()) {
    const auto kept = retain_checkpoints(*disk_, directory_, fold_->shape(),
                                         committed()->at.journal_id, options_.keep);
    if (!kept.ok()) return kept.status();
    checkpointed_ = kept->newest;
  }
  committed_ns_ = checkpointed_ns_ = monotonic_ns();
  reopen_subscriber();
  return absl::OkStatus();
}

// An empty store need not begin with the journal: the newest checkpoint of that journal is a state.
// Whether its history is still that of the bus is the subscriber's to say.
absl::Status CheckpointerCore::load_checkpoint() {
  const absl::StatusOr<BusDescription> bus = read_bus_description(options_.subscriber.directory);
  if (!bus.ok()) return absl::OkStatus();
  const FoldShape& shape = fold_->shape();
  const auto chosen =
      choose_checkpoint(*disk_, directory_, shape, [&](const CheckpointHeader& header) {
        return header.journal_id == bus->journal_id
                   ? absl::OkStatus()
                   : make_error(Errc::kReset, "is of another journal");
      });
  if (!chosen.ok()) {
    return errc_of(chosen.status()) == Errc::kNotFound ? absl::OkStatus() : chosen.status();
  }
  const LoadedCheckpoint& checkpoint = chosen->checkpoint;
  std::vector<std::byte> key(shape.key_bytes);
  for (std::uint64_t i = 0; i < checkpoint.size(); ++i) {
    fold_->key_of(checkpoint.entry(i), key);
    store_->put(key, checkpoint.entry(i));
    if (!store_->full()) continue;
    if (absl::Status put = store_->commit(std::nullopt); !put.ok()) return put;
  }
  const CheckpointIdentity from = checkpoint.identity();
  options_.log(
      log_entry(LogEvent::kStoreBegins,
                absl::StrCat("the store is made from the checkpoint of sequence ", from.sequence),
                {{"sequence", from.sequence}}));
  return store_->commit(StorePosition{{from.journal_id, from.session_id, from.sequence}, true});
}

absl::Status CheckpointerCore::run_until(std::uint64_t deadline_ns) {
  closed_ = false;
  while (!closed_ && monotonic_ns() < deadline_ns) {
    if (interrupt_.take()) return interrupted();
    if (job_ && job_->is_done()) end_job();
    if (store_trouble_.lasts()) {
      if (store_trouble_.rests(monotonic_ns())) {
        rest(std::min(deadline_ns, store_trouble_.retry_ns()));
        continue;
      }
      if (absl::Status opened = reopen_store(); !opened.ok()) return opened;
      continue;
    }
    if (absl::Status read_one = read(deadline_ns); !read_one.ok()) return read_one;
    fold_ready(false);
    if (absl::Status committed = commit_if_due(); !committed.ok()) return committed;
  }
  return absl::OkStatus();
}

absl::Status CheckpointerCore::interrupted() {
  return make_error(Errc::kInterrupted, "interrupt() ended the run; the next one continues");
}

// A failure that may end by itself, or by what a person does.
bool CheckpointerCore::may_pass(const absl::Status& status) {
  const Errc code = errc_of(status);
  return code == Errc::kNoSpace || code == Errc::kSystem;
}

absl::Status CheckpointerCore::commit_if_due() {
  const std::uint64_t now = monotonic_ns();
  const bool checkpoint = checkpoint_due(now);
  const bool by_time = now - committed_ns_ >= ns_of(options_.commit_interval);
  const bool due = may_commit() && (store_->full() || (settled_ && (by_time || checkpoint)));
  if (due || !store_->failure().ok()) {
    if (absl::Status done = commit(); !done.ok()) return done;
  }
  if (checkpoint && has_checkpoint_to_write()) start_checkpoint();
  return absl::OkStatus();
}

// Commits what is folded. A failure that may pass is told, and leaves store_trouble_.
absl::Status CheckpointerCore::commit() {
  step("before-batch");
  const absl::Status done = store_->commit(StorePosition{folded_, settled_});
  store_trouble_.note(done);
  if (!done.ok()) return may_pass(done) ? absl::OkStatus() : done;
  committed_ns_ = monotonic_ns();
  ++counters_.commits;
  step("after-batch");
  return absl::OkStatus();
}

// RocksDB may hold anything after a failed write: the files say what it is. What was folded since
// is folded again.
absl::Status CheckpointerCore::reopen_store() {
  if (job_) {
    job_->give_up();
    end_job();
  }
  subscriber_ = absl::UnknownError("not open");
  absl::Status opened = store_->reopen();
  if (!opened.ok() && !may_pass(opened)) return opened;
  store_trouble_.note(opened);
  if (opened.ok()) reopen_subscriber();
  return absl::OkStatus();
}

bool CheckpointerCore::checkpoint_due(std::uint64_t now_ns) const {
  if (job_ || checkpoint_trouble_.rests(now_ns)) return false;
  if (options_.every_records > 0 && records_since_ >= options_.every_records) return true;
  return ns_of(options_.every) > 0 && now_ns - checkpointed_ns_ >= ns_of(options_.every);
}

bool CheckpointerCore::has_checkpoint_to_write() const {
  return store_->failure().ok() && committed() && committed()->settled &&
         committed_through() > checkpointed_;
}

CheckpointTask CheckpointerCore::task(bool prune_journal) const {
  return {disk_.get(),   options_.subscriber.directory, directory_, fold_, options_.keep,
          prune_journal, options_.subscriber.threads};
}

void CheckpointerCore::start_checkpoint() {
  step("before-checkpoint");
  absl::StatusOr<std::unique_ptr<CheckpointJob>> job =
      CheckpointJob::start(task(options_.prune_journal), store_->snapshot());
  if (!job.ok()) return checkpoint_trouble_.note(job.status());
  job_ = *std::move(job);
  job_as_of_ = committed_through();
  job_began_ns_ = monotonic_ns();
  job_records_ = records_since_;
}

void CheckpointerCore::end_job() {
  const CheckpointResult result = job_->finish();
  job_.reset();
  take_result(result);
  if (!result.written.ok()) return;  // it is due as before
  checkpointed_ns_ = job_began_ns_;
  records_since_ -= job_records_;
}

void CheckpointerCore::take_result(const CheckpointResult& result) {
  if (errc_of(result.written) == Errc::kClosed) return;
  checkpoint_trouble_.note(result.written.ok() ? result.retained : result.written);
  if (!result.written.ok()) return;
  checkpointed_ = result.as_of;
  ++counters_.checkpoints;
  counters_.last = result;
  // A bus that was closed meanwhile had nobody to ask.
  if (result.is_prune_asked && !closed_) prune_trouble_.note(result.pruned);
}

// They are of a history that is gone, and their sequences may be above all that will come.
void CheckpointerCore::remove_checkpoints() {
  const auto files = list_checkpoints(*disk_, directory_);
  absl::Status done = files.status();
  if (files.ok()) {
    for (const CheckpointFile& file : *files) {
      if (done.ok()) done = disk_->remove(file.path);
    }
    if (done.ok()) done = disk_->sync_directory(directory_);
  }
  checkpointed_ = kNoSequence;
  if (done.ok()) return;
  options_.log(log_entry(LogEvent::kCheckpointerTrouble,
                         absl::StrCat("old checkpoints stay: ", std::string(done.message()))));
}

absl::Status CheckpointerCore::finish() {
  if (store_trouble_.lasts()) return not_finished();
  fold_ready(false);
  if (may_commit() && settled_) {
    if (absl::Status done = commit(); !done.ok()) return done;
    if (store_trouble_.lasts()) return not_finished();
  }
  if (job_) {
    // What is being written is the last one, unless there is something newer to write.
    const bool is_newer = committed()->settled && committed_through() > job_as_of_;
    if (is_newer) job_->give_up();
    end_job();
  }
  if (!has_checkpoint_to_write()) return absl::OkStatus();
  step("before-checkpoint");
  const bool prune = options_.prune_journal && !closed_;  // a closed bus has nobody to ask
  const CheckpointResult last = make_checkpoint(task(prune), store_->snapshot(), StickyFlag());
  if (last.written.ok()) take_result(last);
  return last.written;
}

absl::Status CheckpointerCore::not_finished() const {
  return make_error(errc_of(store_->failure()),
                    absl::StrCat(std::string(store_->failure().message()),
                                 "; the next run goes on after record ", committed_through()));
}

absl::StatusOr<std::uint64_t> CheckpointerCore::digest() const {
  if (!store_->failure().ok()) return store_->failure();
  if (!committed()) return EntryDigest().value();
  const bool is_known = counters_.checkpoints > 0 && counters_.last.as_of == committed_through();
  if (is_known) return counters_.last.digest;
  EntryDigest digest;
  const absl::Status read = store_->snapshot().read([&](std::span<const std::byte> entries) {
    digest.add(entries);
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  return digest.value();
}

}  // namespace lapwing
