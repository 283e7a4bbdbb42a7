#include "subscribers/checkpointer/checkpoint_job.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/control/client.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/start_thread.h"
#include "snapshot/checkpoint/checkpoint_directory.h"
#include "snapshot/checkpoint/checkpoint_writer.h"
#include "snapshot/fold/entry_digest.h"

namespace lapwing {
namespace {

absl::Status write(const CheckpointTask& task, const StateSnapshot& snapshot,
                   const StickyFlag& stop, CheckpointResult& result) {
  // A checkpoint allows the journal to be pruned, so the store must be at least as durable.
  if (absl::Status synced = snapshot.sync(); !synced.ok()) return synced;
  const StoredPosition& at = snapshot.position().at;
  absl::StatusOr<CheckpointWriter> writer = CheckpointWriter::create(
      *task.disk, task.directory, *task.fold, {at.journal_id, at.session_id, at.sequence});
  if (!writer.ok()) return writer.status();
  EntryDigest digest;
  const absl::Status read = snapshot.read([&](std::span<const std::byte> entries) {
    if (stop.is_set()) return make_error(Errc::kClosed, "the checkpoint was abandoned");
    digest.add(entries);
    result.entries += entries.size() / task.fold->shape().entry_bytes;
    return writer->append(entries);
  });
  if (!read.ok()) return read;
  result.digest = digest.value();
  result.bytes = result.entries * task.fold->shape().entry_bytes;
  return writer->commit();
}

absl::StatusOr<Sequence> prune(const CheckpointTask& task, const Id128& journal_id,
                               Sequence below) {
  const std::uint64_t deadline_ns = monotonic_ns() + kPruneTimeoutNs;
  absl::StatusOr<ControlClient> client =
      ControlClient::connect({.path = absl::StrCat(task.bus, "/", kControlSocketName),
                              .role = ClientRole::kTool,
                              .name = absl::StrCat("checkpoint-", task.fold->shape().name)},
                             deadline_ns);
  if (!client.ok()) return client.status();
  if (client->welcome().journal_id != journal_id) {
    return make_error(Errc::kReset, "the bus now keeps another journal");
  }
  return client->prune(below, deadline_ns);
}

absl::Status not_pruned(const absl::Status& why) {
  return make_error(errc_of(why),
                    absl::StrCat("the journal was not pruned: ", std::string(why.message())));
}

}  // namespace

CheckpointResult make_checkpoint(const CheckpointTask& task, const StateSnapshot& snapshot,
                                 const StickyFlag& stop) {
  CheckpointResult result;
  const StoredPosition& at = snapshot.position().at;
  result.as_of = at.sequence;
  const std::uint64_t began_ns = monotonic_ns();
  result.written = write(task, snapshot, stop, result);
  result.write_time = std::chrono::nanoseconds(monotonic_ns() - began_ns);
  if (!result.written.ok()) return result;
  const absl::StatusOr<KeptCheckpoints> kept =
      retain_checkpoints(*task.disk, task.directory, task.fold->shape(), at.journal_id, task.keep);
  result.retained = kept.status();
  if (!task.prune_journal || !kept.ok() || kept->oldest == kNoSequence) return result;
  result.is_prune_asked = true;
  // The store must also find the records after its own position. It can be behind a checkpoint if
  // RocksDB's last writes were damaged.
  const Sequence needed_after = std::min(kept->oldest, at.sequence);
  const absl::StatusOr<Sequence> pruned = prune(task, at.journal_id, needed_after + 1);
  if (pruned.ok()) {
    result.journal_oldest = *pruned;
  } else {
    result.pruned = not_pruned(pruned.status());
  }
  return result;
}

absl::StatusOr<std::unique_ptr<CheckpointJob>> CheckpointJob::start(CheckpointTask task,
                                                                    StateSnapshot snapshot) {
  const ThreadPlacement placement = task.threads;
  std::unique_ptr<CheckpointJob> job(new CheckpointJob);
  std::packaged_task<CheckpointResult()> work(
      [stop = &job->stop_, what = std::move(task), of = std::move(snapshot)] {
        return make_checkpoint(what, of, *stop);
      });
  job->result_ = work.get_future();
  absl::Status started =
      start_thread(job->thread_, "lapwing-ckpt", std::move(work), {.placement = placement});
  if (!started.ok()) return started;
  return job;
}

CheckpointJob::~CheckpointJob() {
  give_up();
  if (thread_.joinable()) thread_.join();
}

bool CheckpointJob::is_done() const {
  return result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

CheckpointResult CheckpointJob::finish() {
  CheckpointResult result = result_.get();
  thread_.join();
  return result;
}

}  // namespace lapwing
