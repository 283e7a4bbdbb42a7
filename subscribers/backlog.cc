#include "subscribers/backlog.h"

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"

namespace lapwing {

Backlog::Backlog(const SubscriberOptions& options)
    : bus_(options.directory), flush_timeout_ns_(ns_of(options.flush_timeout)) {}

absl::Status Backlog::ask(ControlClient& control, std::uint64_t now_ns) {
  flush_ends_ns_ = after_ns(now_ns, flush_timeout_ns_);
  absl::Status asked = control.begin_flush(joined_at_);
  return errc_of(asked) == Errc::kPublisherGone ? absl::OkStatus() : asked;
}

absl::StatusOr<bool> Backlog::flushed(ControlClient& control, std::uint64_t now_ns) {
  const absl::StatusOr<std::optional<FlushAnswer>> answer = control.flush_answer();
  if (!answer.ok()) return answer.status();
  if (*answer) {
    take(**answer);
    return true;
  }
  if (now_ns < flush_ends_ns_) return false;
  return make_error(Errc::kTimedOut,
                    absl::StrCat("the publisher of bus ", bus_, " did not make sequence ",
                                 joined_at_, " durable within ", seconds_of(flush_timeout_ns_),
                                 " s. Its disk may be too slow, or its process may be stopped. "
                                 "Check it, then join again or allow more time"));
}

void Backlog::cannot_ask(Sequence durable, JournalCondition journal) {
  if (durable >= joined_at_) return;
  if (journal.state != JournalState::kGood) {
    return take({.ok = false,
                 .durable = durable,
                 .sys_errno = journal.sys_errno,
                 .journal = journal.state});
  }
  not_durable_ = absl::StrCat("not durable yet: without a connection to the publisher of bus ",
                              bus_, " a sync cannot be requested. Sequences after ", durable,
                              " may be lost in a crash until it syncs");
}

void Backlog::take(const FlushAnswer& answer) {
  if (answer.ok) return extend(answer.durable);
  const std::string why = answer.journal == JournalState::kShed
                              ? "was shed because its disk was too slow"
                              : absl::StrCat("has failed (errno ", answer.sys_errno, ")");
  not_durable_ =
      absl::StrCat("not durable: the journal of bus ", bus_, " ", why, ". Sequences after ",
                   answer.durable, " may be lost in a crash. Restart the publisher");
}

}  // namespace lapwing
