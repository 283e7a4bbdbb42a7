#include "publisher/gate_wait.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "os/deadline.h"
#include "proto/ring_counters.h"

namespace lapwing {
namespace {

// The largest sequence of a record. A reader that has read it waits for the next record, which
// needs a stamp.
constexpr Sequence kPublishedMax = kSequenceMax - 1;

absl::Status overlap() {
  return make_error(Errc::kMisuse,
                    "another call on this publisher is under way: one thread at a time");
}

absl::Status called_from_log() {
  return make_error(Errc::kMisuse,
                    "called from the log hook of this publisher: the call would wait for the "
                    "thread that runs the hook. Call it from another thread");
}

}  // namespace

GateWait::GateWait(const StartedSession& session, detail::PublishPath& path, JournalGate& gate,
                   FileThread* file_thread)
    : session_(session),
      words_(session.ring->words()),
      path_(path),
      gate_(gate),
      file_thread_(file_thread) {
  path_.limit = gate_limit();
}

Sequence GateWait::gate_limit() const {
  return file_thread_ != nullptr ? std::min(gate_.limit(), kPublishedMax) : kPublishedMax;
}

bool GateWait::refuse(absl::Status why) {
  last_error_ = std::move(why);
  return false;
}

void GateWait::end(absl::Status why) {
  path_.limit = 0;
  if (status_.ok()) status_ = std::move(why);
}

bool GateWait::admit(Sequence n, Deadline deadline) {
  if (is_waiting()) return refuse(overlap());
  if (n > kPublishedMax) {
    end(make_error(Errc::kLimit, absl::StrCat("sequence ", kPublishedMax,
                                              " is the last one of a bus: start another bus")));
  }
  if (!status_.ok()) return refuse(status_);
  path_.limit = gate_limit();
  if (n <= path_.limit) return true;
  if (session_.options->on_journal_lag == OnJournalLag::kShed) {
    file_thread_->shed();
  } else {
    ++counters_.journal_stalls;
  }
  return wait_for_journal(n, deadline);
}

bool GateWait::wait_for_journal(Sequence n, Deadline deadline) {
  const std::uint64_t began_ns = monotonic_ns();
  file_thread_->sleeper().signal();
  absl::Status waited = wait_on_disk([&] { return n <= gate_limit() || gate_.ended(); }, deadline);
  const std::uint64_t waited_ns = monotonic_ns() - began_ns;
  counters_.journal_stall_ns_max = std::max(counters_.journal_stall_ns_max, waited_ns);
  counters_.journal_stall_ns_total += waited_ns;
  stalls_.add(waited_ns);
  store_durations(words_.stalls, stalls_);
  if (!waited.ok()) return refuse(std::move(waited));
  end_if_failed();
  return status_.ok() || refuse(status_);
}

// Waits until is_met() is true. Returns an error if another call is waiting. `what` describes the
// wait in error messages.
absl::Status GateWait::wait_until(absl::FunctionRef<bool()> is_met, Deadline deadline,
                                  const char* what, absl::FunctionRef<std::string()> why_late) {
  if (!waiting_.try_take()) return overlap();
  path_.limit = 0;
  absl::Status ended;
  while (ended.ok()) {
    const std::uint32_t bell = gate_.bell();
    if (is_met()) break;
    if (interrupted_.take()) {
      ended = make_error(Errc::kInterrupted, absl::StrCat("interrupt() ended the wait for ", what));
    } else if (deadline.has_passed()) {
      ended = make_error(nothing_by(deadline), why_late());
    } else if (session_.options->log_mark.is_running()) {
      ended = called_from_log();
    } else {
      gate_.wait(bell, deadline.monotonic_ns());
    }
  }
  path_.limit = status_.ok() ? gate_limit() : 0;
  waiting_.release();
  return ended;
}

absl::Status GateWait::wait_on_disk(absl::FunctionRef<bool()> is_met, Deadline deadline) {
  return wait_until(is_met, deadline, "the journal", [&] {
    return absl::StrCat("the journal is behind: archived is ", load_archived(words_), ", durable ",
                        load_durable(words_), ", head ", path_.head,
                        "; try again, or check the disk under ", session_.description.journal_root);
  });
}

absl::Status GateWait::flush(Sequence through, Deadline deadline) {
  if (file_thread_ == nullptr) {
    return make_error(Errc::kNoJournal,
                      "this bus keeps no journal: records cannot be made durable");
  }
  if (is_waiting()) return overlap();
  file_thread_->request_flush(FileThread::Asker::kPublishingThread, through);
  const auto is_durable = [&] { return load_durable(words_) >= through; };
  const auto is_good = [&] { return load_journal_condition(words_).state == JournalState::kGood; };
  const absl::Status waited = wait_on_disk([&] { return is_durable() || !is_good(); }, deadline);
  return waited.ok() && !is_durable() ? file_thread_->failure() : waited;
}

absl::Status GateWait::check_may_wait() const {
  if (is_waiting()) return overlap();
  return session_.options->log_mark.is_running() ? called_from_log() : absl::OkStatus();
}

absl::Status GateWait::wait_for_close(absl::FunctionRef<bool()> is_closed, Deadline deadline) {
  return wait_until(is_closed, deadline, "the close, which continues",
                    [] { return "the close was not finished by the deadline. It continues"; });
}

}  // namespace lapwing
