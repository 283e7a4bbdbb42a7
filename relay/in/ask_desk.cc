#include "relay/in/ask_desk.h"

#include <algorithm>
#include <utility>

#include "proto/ring_layout.h"
#include "relay/in/fetched_checkpoint.h"

namespace lapwing {
namespace {

constexpr RelayRequest kSingles[] = {RelayRequest::kSessions, RelayRequest::kBus,
                                     RelayRequest::kFile, RelayRequest::kFlush};

Missing::Ask range_of(const RelayAsk& ask) {
  return {{ask.first, ask.last}, ask.to};
}

}  // namespace

void AskDesk::follow_feed() {
  if (generation_ == feed_.generation()) return;
  generation_ = feed_.generation();
  asks_.forget(RelayRequest::kRecords);
  const RelaySession* const session = feed_.session();
  if (session != nullptr && flush_journal_ != session->journal_id) flush_through_ = 0;
}

std::optional<RelayAsk> AskDesk::wanted(RelayRequest request) {
  RelayAsk ask{};
  ask.request = request;
  // A mirror may have it as well.
  const bool is_origins = request == RelayRequest::kFlush || single(request).failures == 0;
  ask.to = is_origins ? RelayAskee::kOrigin : RelayAskee::kAll;
  switch (request) {
    case RelayRequest::kSessions:
      ask.first = gathering_.next();
      return wants_sessions_ ? std::optional(ask) : std::nullopt;
    case RelayRequest::kBus:
      return feed_.wants_bus() ? std::optional(ask) : std::nullopt;
    case RelayRequest::kFile:
      return wanted_file(ask);
    case RelayRequest::kFlush:
      ask.last = flush_through_;
      return flush_through_ != 0 ? std::optional(ask) : std::nullopt;
    case RelayRequest::kRecords:
      break;
  }
  return std::nullopt;
}

std::optional<RelayAsk> AskDesk::wanted_file(RelayAsk ask) {
  std::optional<WantedFile> file = feed_.wanted_file();
  if (feed_.wants_checkpoint()) {
    file = WantedFile{RelayFile::kCheckpoint, checkpoint_checksum_.value_or(0)};  // 0: the newest
  }
  if (!file) return std::nullopt;
  const bool is_begun = parts_ && parts_->file() == file->file &&
                        (parts_->hash() == file->hash || file->file == RelayFile::kCheckpoint);
  if (!is_begun) parts_.emplace(file->file, file->hash);
  ask.file = file->file;
  ask.hash = file->hash;
  ask.offset = parts_->offset();
  ask.bytes_max = kFilePartBytes;
  return ask;
}

void AskDesk::want_flush(Sequence through) {
  if (feed_.session() == nullptr) return;
  if (flush_journal_ != feed_.session()->journal_id) flush_through_ = 0;
  flush_journal_ = feed_.session()->journal_id;
  flush_through_ = std::max(flush_through_, through);
}

absl::Status AskDesk::send(RelayTransport& transport, std::uint64_t now_ns) {
  follow_feed();
  for (const RelayRequest request : kSingles) {
    Single& one = single(request);
    if (one.in_flight || now_ns < one.due_ns || !asks_.has_room()) continue;
    const std::optional<RelayAsk> ask = wanted(request);
    if (!ask) continue;
    if (absl::Status status = send_one(transport, *ask, now_ns); !status.ok()) return status;
    one.in_flight = true;
  }
  return send_records(transport, now_ns);
}

absl::Status AskDesk::send_records(RelayTransport& transport, std::uint64_t now_ns) {
  if (feed_.session() == nullptr || feed_.is_full()) return absl::OkStatus();
  const std::uint64_t records_max =
      std::max<std::uint64_t>(kAskBytesMax / feed_.session()->record_bytes, 1);
  const std::uint64_t block_slots = slots_per_block(feed_.session()->slot_bytes);
  while (asks_.has_room()) {
    const std::optional<Missing::Ask> next =
        feed_.missing().next_ask(records_max, block_slots, now_ns);
    if (!next) break;
    RelayAsk ask{};
    ask.request = RelayRequest::kRecords;
    ask.first = next->range.first;
    ask.last = next->range.last;
    ask.to = next->to;
    const absl::Status status = send_one(transport, ask, now_ns);
    if (!status.ok()) {
      feed_.missing().unanswered(*next, now_ns);
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status AskDesk::send_one(RelayTransport& transport, RelayAsk ask, std::uint64_t now_ns) {
  ask.token = asks_.new_token();
  RelayOrigin origin;
  if (feed_.session() != nullptr) origin.journal_id = feed_.session()->journal_id;
  const MadeMessage message = make_ask_message(origin, ask, buffer_);
  if (!message.ok()) return message.status();
  const absl::StatusOr<RelayAskId> id = transport.ask(*message);
  if (!id.ok()) return id.status();
  asks_.sent(*id, ask, now_ns);
  ++sent_;
  return absl::OkStatus();
}

absl::Status AskDesk::take(RelayAskId id, const RelayMessage& message, std::uint64_t now_ns) {
  follow_feed();
  const RelayAsk* const ask = asks_.find(id);
  if (ask == nullptr) return absl::OkStatus();
  asks_.progress(id, now_ns);
  switch (message.header.kind) {
    case RelayKind::kSessions: {
      if (ask->request != RelayRequest::kSessions) break;
      std::vector<RelaySession> rows(message.header.count);
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = message.session(i);
      gathering_.add(message.header.first, rows);
      break;
    }
    case RelayKind::kBus:
      if (ask->request == RelayRequest::kBus) feed_.give_bus(message.bus());
      break;
    case RelayKind::kGone:
      if (ask->request != RelayRequest::kRecords || ask->to == RelayAskee::kMirrors) break;
      for (std::size_t i = 0; i < message.header.count; ++i) {
        feed_.gone(message.header.journal_id, message.absent(i), now_ns);
      }
      break;
    case RelayKind::kAnswer:
      if (message.answer().token != ask->token) break;
      return end(*asks_.finish(id), message, now_ns);
    default:
      break;
  }
  return absl::OkStatus();
}

absl::Status AskDesk::end(const Asks::Finished& finished, const RelayMessage& message,
                          std::uint64_t now_ns) {
  const RelayAsk& ask = finished.ask;
  const RelayOutcome outcome = message.answer().outcome;
  switch (ask.request) {
    case RelayRequest::kRecords:
      // What is missing of a late one is asked for again already.
      if (!finished.is_late) feed_.missing().answered(range_of(ask), outcome, now_ns);
      return absl::OkStatus();
    case RelayRequest::kSessions:
      return end_sessions(message, now_ns);
    case RelayRequest::kFile:
      end_file(message, now_ns);
      return absl::OkStatus();
    case RelayRequest::kFlush:
      if (outcome == RelayOutcome::kOk && ask.last >= flush_through_) flush_through_ = 0;
      break;
    case RelayRequest::kBus:
      break;
  }
  if (wanted(ask.request)) {
    again(ask.request, now_ns);
  } else {
    done(ask.request, now_ns);
  }
  return absl::OkStatus();
}

absl::Status AskDesk::end_sessions(const RelayMessage& message, std::uint64_t now_ns) {
  const RelayOutcome outcome = message.answer().outcome;
  if (outcome == RelayOutcome::kPartly) {
    done(RelayRequest::kSessions, now_ns);
    return absl::OkStatus();
  }
  std::optional<std::vector<RelaySession>> list;
  if (outcome == RelayOutcome::kOk) {
    list = gathering_.take(message.header.session_row, message.header.session_hash);
  }
  if (!list) {
    again(RelayRequest::kSessions, now_ns);
    return absl::OkStatus();
  }
  done(RelayRequest::kSessions, now_ns);
  wants_sessions_ = false;
  const std::uint64_t before = sessions_.row();
  if (absl::Status status = sessions_.replace(*std::move(list)); !status.ok()) return status;
  // A sender that names newer rows than the origin lists cannot make us ask without end.
  if (sessions_.row() == before) again(RelayRequest::kSessions, now_ns);
  return feed_.sessions_changed();
}

void AskDesk::end_file(const RelayMessage& message, std::uint64_t now_ns) {
  const RelayOutcome outcome = message.answer().outcome;
  const bool has_part = outcome == RelayOutcome::kOk || outcome == RelayOutcome::kPartly;
  const bool has_none =
      outcome == RelayOutcome::kNotHere && parts_ && parts_->file() == RelayFile::kCheckpoint;
  if (has_none) {
    // One that was begun has been replaced by a newer one.
    if (!checkpoint_checksum_) feed_.give_checkpoint(std::nullopt);
    checkpoint_checksum_.reset();
    parts_.reset();
  }
  if (!has_part || !parts_) {
    again(RelayRequest::kFile, now_ns);
    return;
  }
  const std::uint64_t before = parts_->offset();
  parts_->add(message.answer(), message.file_bytes());
  note_checkpoint();
  const bool has_more = parts_->offset() != before || parts_->is_complete();
  if (parts_->is_complete()) finish_file();
  if (has_more) {
    done(RelayRequest::kFile, now_ns);
  } else {
    again(RelayRequest::kFile, now_ns);
  }
}

// The rest of the newest checkpoint is asked for by its checksum, because a newer one may follow.
void AskDesk::note_checkpoint() {
  if (parts_->file() != RelayFile::kCheckpoint || checkpoint_checksum_) return;
  const auto header = check_checkpoint(parts_->bytes());
  if (header.ok()) checkpoint_checksum_ = header->checksum;
}

void AskDesk::finish_file() {
  const WantedFile file{parts_->file(), parts_->hash()};
  std::string bytes = parts_->take();
  parts_.reset();
  if (file.file != RelayFile::kCheckpoint) {
    feed_.give_file(file, std::move(bytes));
    return;
  }
  const absl::StatusOr<CheckpointHeader> header = check_checkpoint(bytes);
  if (!header.ok()) {
    feed_.give_checkpoint(std::nullopt);
    return;
  }
  if (on_checkpoint_) on_checkpoint_(bytes);
  feed_.give_checkpoint(RelayPosition{header->session_id, header->sequence});
}

void AskDesk::done(RelayRequest request, std::uint64_t now_ns) {
  single(request) = {.in_flight = false, .due_ns = now_ns, .failures = 0};
}

void AskDesk::again(RelayRequest request, std::uint64_t now_ns) {
  if (request == RelayRequest::kSessions) gathering_.restart();
  Single& one = single(request);
  one.in_flight = false;
  one.due_ns = now_ns + std::min(kPauseNsMin << std::min(one.failures, 10U), kPauseNsMax);
  ++one.failures;
}

void AskDesk::unanswered(const RelayAsk& ask, std::uint64_t now_ns) {
  if (ask.request == RelayRequest::kRecords) {
    feed_.missing().unanswered(range_of(ask), now_ns);
    return;
  }
  again(ask.request, now_ns);
}

void AskDesk::expire(std::uint64_t now_ns) {
  follow_feed();
  for (const RelayAsk& ask : asks_.expired(now_ns)) unanswered(ask, now_ns);
}

void AskDesk::connection_lost(std::uint64_t now_ns) {
  follow_feed();
  for (const RelayAsk& ask : asks_.lost()) unanswered(ask, now_ns);
  for (Single& one : singles_) one = {};
}

std::optional<std::uint64_t> AskDesk::next_due_ns() const {
  std::optional<std::uint64_t> due = asks_.next_due_ns();
  for (const Single& one : singles_) {
    if (one.due_ns != 0 && !one.in_flight) due = std::min(due.value_or(one.due_ns), one.due_ns);
  }
  return due;
}

}  // namespace lapwing
