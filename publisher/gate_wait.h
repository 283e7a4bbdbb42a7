// The publishing thread's waits: for the journal to admit a record, for a flush, for a close.
//
// Invariants
//  1. Only one call waits at a time. An overlapping call is refused.
//  2. While a call waits, and once status() is not ok, the limit of the publish path is 0, so that
//     every publish() ends up here. At other times that limit is at most the gate's.
//
// Thread safety: the publishing thread; interrupt() by any thread and by a signal handler.
#pragma once

#include "absl/functional/function_ref.h"
#include "os/busy_flag.h"
#include "publisher/file_thread.h"
#include "publisher/session_start.h"

namespace lapwing {

class GateWait {
 public:
  // Borrows all arguments. `file_thread` is null without a journal, and may be destroyed after
  // end().
  GateWait(const StartedSession& session, detail::PublishPath& path, JournalGate& gate,
           FileThread* file_thread);

  // status(): why publishing has ended. last_error(): why the last failed publish() failed.
  const absl::Status& status() const { return status_; }
  const absl::Status& last_error() const { return last_error_; }
  const PublisherCounters& counters() const { return counters_; }  // stall counters
  bool is_waiting() const { return waiting_.is_taken(); }

  // True if record n, which is beyond the path's limit, may be written now. Waits if needed.
  bool admit(Sequence n, Deadline deadline);
  // Sets last_error(), and returns false.
  bool refuse(absl::Status why);
  // Ends publishing for good. The first reason is kept.
  void end(absl::Status why);
  // Ends publishing if the journal has failed and publishing must stop in that case.
  void end_if_failed() {
    if (gate_.ended()) end(file_thread_->failure());
  }

  // Waits until everything published, or everything up to `through`, is durable.
  absl::Status flush(Deadline deadline) { return flush(path_.head, deadline); }
  absl::Status flush(Sequence through, Deadline deadline);
  // Returns kMisuse if another call is waiting, or if this publisher's log hook is the caller.
  absl::Status check_may_wait() const;
  // `is_closed` must become true before the gate is nudged.
  absl::Status wait_for_close(absl::FunctionRef<bool()> is_closed, Deadline deadline);
  void interrupt() noexcept {
    interrupted_.raise();
    gate_.nudge();
  }

 private:
  Sequence gate_limit() const;
  bool wait_for_journal(Sequence n, Deadline deadline);
  absl::Status wait_until(absl::FunctionRef<bool()> is_met, Deadline deadline, const char* what,
                          absl::FunctionRef<std::string()> why_late);
  absl::Status wait_on_disk(absl::FunctionRef<bool()> is_met, Deadline deadline);

  const StartedSession& session_;
  RingWords& words_;
  detail::PublishPath& path_;
  JournalGate& gate_;
  FileThread* const file_thread_;
  absl::Status status_;
  absl::Status last_error_;
  BusyFlag waiting_;  // taken while a call waits
  InterruptFlag interrupted_;
  PublisherCounters counters_;
  Durations stalls_;
};

}  // namespace lapwing
