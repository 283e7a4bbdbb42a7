#include "subscribers/checkpointer/checkpoint_series.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/thread_words.h"
#include "snapshot/checkpoint/checkpoint_directory.h"

namespace lapwing {

CheckpointSeries::CheckpointSeries(const CheckpointerSetUp& options, std::unique_ptr<Disk> disk,
                                   std::string directory, CheckpointerCounters& counters)
    : options_(options),
      disk_(std::move(disk)),
      directory_(std::move(directory)),
      counters_(counters),
      trouble_("checkpoints can be written again", options.log),
      prune_trouble_("the journal is pruned again", options.log) {}

absl::StatusOr<LoadedCheckpoint> CheckpointSeries::newest(const Id128& journal_id) const {
  absl::StatusOr<ChosenCheckpoint> chosen =
      choose_checkpoint(*disk_, directory_, shape(), [&](const CheckpointHeader& header) {
        return header.journal_id == journal_id ? absl::OkStatus()
                                               : make_error(Errc::kReset, "is of another journal");
      });
  if (!chosen.ok()) return chosen.status();
  return std::move(chosen->checkpoint);
}

absl::Status CheckpointSeries::begin(const std::optional<StorePosition>& committed) {
  newest_ns_ = monotonic_ns();
  if (!committed) return absl::OkStatus();
  const auto kept =
      retain_checkpoints(*disk_, directory_, shape(), committed->at.journal_id, options_.keep);
  if (kept.ok()) newest_ = kept->newest;
  return kept.status();
}

bool CheckpointSeries::is_due(std::uint64_t now_ns) const {
  if (job_ || trouble_.rests(now_ns)) return false;
  if (options_.every_records > 0 && records_since_ >= options_.every_records) return true;
  return ns_of(options_.every) > 0 && now_ns - newest_ns_ >= ns_of(options_.every);
}

bool CheckpointSeries::is_new(const StateStore& store) const {
  const std::optional<StorePosition>& committed = store.position();
  return store.failure().ok() && committed && committed->settled &&
         committed->at.sequence > newest_;
}

CheckpointTask CheckpointSeries::task(bool prune_journal) const {
  return {disk_.get(),
          options_.subscriber.directory,
          directory_,
          options_.own_fold.get(),
          options_.keep,
          prune_journal,
          options_.subscriber.threads};
}

void CheckpointSeries::start_if_new(const StateStore& store) {
  if (!is_new(store)) return;
  options_.step("before-checkpoint");
  absl::StatusOr<std::unique_ptr<CheckpointJob>> job =
      CheckpointJob::start(task(options_.prune_journal), store.snapshot());
  if (!job.ok()) return trouble_.note(job.status());
  job_ = *std::move(job);
  job_as_of_ = store.position()->at.sequence;
  job_began_ns_ = monotonic_ns();
  job_records_ = records_since_;
}

void CheckpointSeries::end_if_done() {
  if (job_ && job_->is_done()) end(false);
}

void CheckpointSeries::give_up() {
  if (!job_) return;
  job_->give_up();
  end(false);
}

void CheckpointSeries::end(bool is_closed) {
  const CheckpointResult result = job_->finish();
  job_.reset();
  take_result(result, is_closed);
  if (!result.written.ok()) return;  // it is still due
  newest_ns_ = job_began_ns_;
  records_since_ -= job_records_;
}

void CheckpointSeries::take_result(const CheckpointResult& result, bool is_closed) {
  if (errc_of(result.written) == Errc::kClosed) return;
  trouble_.note(result.written.ok() ? result.retained : result.written);
  if (!result.written.ok()) return;
  newest_ = result.as_of;
  ++counters_.checkpoints;
  counters_.last = result;
  // If the bus has been closed since, there was no publisher to prune the journal.
  if (result.is_prune_asked && !is_closed) prune_trouble_.note(result.pruned);
}

void CheckpointSeries::remove_all() {
  const auto files = list_checkpoints(*disk_, directory_);
  absl::Status done = files.status();
  if (files.ok()) {
    for (const CheckpointFile& file : *files) {
      if (done.ok()) done = disk_->remove(file.path);
    }
    if (done.ok()) done = disk_->sync_directory(directory_);
  }
  newest_ = kNoSequence;
  if (done.ok()) return;
  options_.log(log_entry(LogEvent::kCheckpointerTrouble,
                         absl::StrCat("old checkpoints stay: ", std::string(done.message()))));
}

absl::Status CheckpointSeries::finish(const StateStore& store, bool is_closed) {
  if (job_) {
    // The checkpoint being written is the last one, unless there is something newer to write.
    const StorePosition& committed = *store.position();
    if (committed.settled && committed.at.sequence > job_as_of_) job_->give_up();
    end(is_closed);
  }
  if (!is_new(store)) return absl::OkStatus();
  options_.step("before-checkpoint");
  const bool prune = options_.prune_journal && !is_closed;
  const CheckpointResult last = make_checkpoint(task(prune), store.snapshot(), StickyFlag());
  if (last.written.ok()) take_result(last, is_closed);
  return last.written;
}

}  // namespace lapwing
