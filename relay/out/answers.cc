#include "relay/out/answers.h"

#include <algorithm>
#include <memory>

#include "lapwing/error.h"

namespace lapwing {
namespace {

constexpr std::size_t kDamageMax = 10'000;

RelayAbsence absence_of(GapCause cause) {
  return cause == GapCause::kPruned ? RelayAbsence::kPruned : RelayAbsence::kDamaged;
}

}  // namespace

absl::Status Answers::refresh() {
  if (messages_) return messages_->refresh(clock_.now_ns);
  absl::StatusOr<OutMessages> opened = OutMessages::open(directory_, name_, clock_.now_ns);
  if (!opened.ok()) return opened.status();
  messages_.emplace(*std::move(opened));
  return absl::OkStatus();
}

absl::Status Answers::answer(std::span<const std::byte> bytes, Clock clock, const Send& send) {
  clock_ = clock;
  const absl::StatusOr<RelayMessage> message = parse_message(bytes);
  if (!message.ok() || message->skipped() || message->header.kind != RelayKind::kAsk) {
    return absl::OkStatus();
  }
  const RelayAsk ask = message->ask();
  const absl::Status refreshed = refresh();
  // A bus that cannot be read now may be readable later.
  Replied reply = Reply{RelayOutcome::kBusy, 0};
  if (refreshed.ok()) reply = this->reply(*message, send);
  if (!reply.ok()) return reply.status();
  if (ask.request == RelayRequest::kFile && reply->outcome == RelayOutcome::kOk) {
    return absl::OkStatus();  // the last part was the answer
  }
  RelayAnswer answer{};
  answer.request = ask.request;
  answer.outcome = reply->outcome;
  answer.token = ask.token;
  answer.total = reply->total;
  const RelayOrigin origin = messages_ ? messages_->origin(clock_.wall_ns) : RelayOrigin{};
  const MadeMessage made = make_answer_message(origin, answer, {}, buffer_);
  return made.ok() ? send(*made) : made.status();
}

Answers::Replied Answers::reply(const RelayMessage& message, const Send& send) {
  const RelayAsk ask = message.ask();
  switch (ask.request) {
    case RelayRequest::kRecords:
      return records(message.header.journal_id, ask, send);
    case RelayRequest::kSessions:
      return sessions(ask, send);
    case RelayRequest::kFile:
      return file(ask, send);
    case RelayRequest::kFlush:
      return flush(message.header.journal_id, ask);
    case RelayRequest::kBus:
      return bus(send);
  }
  return Reply{RelayOutcome::kRefused, 0};
}

absl::StatusOr<History*> Answers::history_of(const Id128& journal_id) {
  if (!history_ || history_->info().journal_id != journal_id) {
    history_.reset();
    absl::StatusOr<History> opened = History::open(directory_, journal_id);
    if (!opened.ok()) return opened.status();
    history_.emplace(*std::move(opened));
  }
  return &*history_;
}

Answers::Replied Answers::records(const Id128& journal_id, const RelayAsk& ask, const Send& send) {
  if (!messages_->rows().lists_journal(journal_id)) return Reply{RelayOutcome::kNotHere, 0};
  gone_.clear();
  Replied replied = read_records(journal_id, ask, send);
  if (!replied.ok() || gone_.empty()) return replied;
  const absl::Status sent = send_gone(journal_id, send);
  return sent.ok() ? replied : sent;
}

Answers::Replied Answers::read_records(const Id128& journal_id, const RelayAsk& ask,
                                       const Send& send) {
  const absl::StatusOr<History*> history = history_of(journal_id);
  if (!history.ok()) return Reply{RelayOutcome::kBusy, 0};
  const std::uint64_t bytes_max = ask.bytes_max == 0 ? kAnswerBytes : ask.bytes_max;
  std::uint64_t bytes = 0;
  std::uint64_t total = 0;
  Sequence next = ask.first;
  while (next <= ask.last && bytes < bytes_max) {
    const SessionRows& rows = messages_->rows();
    const std::optional<std::size_t> session = rows.session_at(journal_id, next);
    if (!session || (rows.session(*session).end && next > rows.session(*session).end->last)) {
      if (!skip_outside(journal_id, ask.last, next)) break;
      continue;
    }
    const SessionRecord& of = rows.session(*session);
    const Sequence last = std::min(ask.last, of.end ? of.end->last : kSequenceMax);
    const std::uint64_t fit = kRelayBodyBytesMax / of.begin.record_bytes;
    const std::uint64_t count = std::min({last - next + 1, fit, std::uint64_t{kRelayRecordsMax}});
    const Result<Batch> batch =
        (*history)->read(next, buffer_.body().first(count * of.begin.record_bytes));
    if (batch.error() == Errc::kWouldBlock) break;
    if (!batch.ok()) {
      history_.reset();
      break;
    }
    if (batch->event != nullptr) {
      if (!note_lost(journal_id, batch->event->gap, last)) break;
      next = std::min(batch->event->gap.last, last) + 1;
      continue;
    }
    const FedRecords records{.journal_id = journal_id,
                             .session_id = of.begin.session_id,
                             .first = next,
                             .count = batch->count,
                             .record_bytes = of.begin.record_bytes,
                             .bytes = buffer_.body().first(batch->count * batch->row_bytes)};
    const MadeMessage message = messages_->records(records, clock_.wall_ns, buffer_);
    if (!message.ok()) return Reply{RelayOutcome::kBusy, total};
    if (absl::Status sent = send(*message); !sent.ok()) return sent;
    bytes += records.bytes.size();
    total += records.count;
    next += batch->count;
  }
  if (next > ask.last) return Reply{RelayOutcome::kOk, total};
  return Reply{next > ask.first ? RelayOutcome::kPartly : RelayOutcome::kBusy, total};
}

bool Answers::skip_outside(const Id128& journal_id, Sequence last, Sequence& next) {
  const SessionRows& rows = messages_->rows();
  const std::span<const SessionRecord> sessions = rows.log().sessions_of(journal_id);
  if (const auto session = rows.session_at(journal_id, next)) {  // in its void
    next = rows.session(*session).end->next();
    return true;
  }
  if (next < sessions.front().first()) {  // of sessions that the log no longer has
    const Sequence through = std::min(last, sessions.front().first() - 1);
    add_gone(next, through, RelayAbsence::kPruned);
    next = through + 1;
    return true;
  }
  const std::optional<EndOfSession>& end = sessions.back().end;
  if (!end || end->how != SessionEnd::kFailed) return false;
  add_gone(next, last, RelayAbsence::kNeverArchived);
  next = last + 1;
  return true;
}

// False: it must be found a second time, or there are too many ranges for one answer.
bool Answers::note_lost(const Id128& journal_id, const Gap& gap, Sequence last) {
  if (gap.cause == GapCause::kVoid) return true;
  if (gone_.size() >= kRelayRecordsMax) return false;
  if (gap.cause == GapCause::kDamaged) {
    if (damage_.size() > kDamageMax) damage_.clear();
    const auto found = damage_.try_emplace({journal_id, gap.last}, clock_.now_ns).first;
    if (clock_.now_ns - found->second < kDamageNs) {
      history_.reset();  // so that the files are opened anew
      return false;
    }
  }
  add_gone(gap.first, std::min(gap.last, last), absence_of(gap.cause));
  return true;
}

void Answers::add_gone(Sequence first, Sequence last, RelayAbsence cause) {
  if (!gone_.empty() && gone_.back().cause == cause && gone_.back().last + 1 == first) {
    gone_.back().last = last;
    return;
  }
  gone_.push_back({.first = first, .last = last, .cause = cause, .reserved = 0});
}

absl::Status Answers::send_gone(const Id128& journal_id, const Send& send) {
  RelayOrigin origin = messages_->origin(clock_.wall_ns);
  origin.journal_id = journal_id;
  const MadeMessage message = make_gone_message(origin, gone_, buffer_);
  return message.ok() ? send(*message) : message.status();
}

Answers::Replied Answers::sessions(const RelayAsk& ask, const Send& send) {
  const std::size_t count = messages_->rows().count();
  Reply reply;
  for (std::uint64_t i = ask.first; i < count; i += kRelaySessionsMax) {
    const std::size_t first = static_cast<std::size_t>(i);
    const std::size_t rows = std::min(kRelaySessionsMax, count - first);
    const MadeMessage message = messages_->sessions(first, rows, clock_.wall_ns, buffer_);
    if (!message.ok()) return message.status();
    if (absl::Status sent = send(*message); !sent.ok()) return sent;
    reply.total += rows;
  }
  return reply;
}

Answers::Replied Answers::bus(const Send& send) {
  const MadeMessage message = messages_->bus_message(clock_.wall_ns, buffer_);
  if (!message.ok()) return message.status();
  if (absl::Status sent = send(*message); !sent.ok()) return sent;
  return Reply{RelayOutcome::kOk, 1};
}

}  // namespace lapwing
