#include "testing/test_origin.h"

#include <algorithm>
#include <cstring>

#include "lapwing/error.h"
#include "proto/checkpoint_format.h"
#include "testing/relay_messages.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kMetadataHash = 4711;

std::uint64_t checksum_of(const std::string& checkpoint) {
  std::uint64_t checksum = 0;
  std::memcpy(&checksum, checkpoint.data() + offsetof(CheckpointHeader, checksum), sizeof checksum);
  return checksum;
}

}  // namespace

TestOrigin::TestOrigin(const TestOrigin& other, const std::string& host)
    : network_(other.network_),
      host_(host),
      random_(other.random_),
      sessions_(other.sessions_),
      rows_(other.rows_),
      next_(other.next_),
      sent_(other.sent_),
      gone_(other.gone_),
      metadata_(other.metadata_) {}

std::vector<std::byte> TestOrigin::record(const Id128& session_id, Sequence n) {
  std::vector<std::byte> bytes(kOriginRecordBytes);
  std::memcpy(bytes.data(), session_id.bytes.data(), 8);
  std::memcpy(bytes.data() + 8, &n, 8);
  return bytes;
}

void TestOrigin::begin_session(bool new_journal) {
  RelaySession session{};
  const bool is_first = sessions_.empty();
  session.journal_id = is_first || new_journal
                           ? id_of(static_cast<std::uint8_t>(1 + random_.below(200)))
                           : sessions_.back().journal_id;
  if (!is_first && new_journal) {
    session.journal_id = sessions_.back().journal_id;
    ++session.journal_id.bytes[0];
  }
  if (new_journal) next_ = 1;
  for (std::uint8_t& byte : session.session_id.bytes) {
    byte = static_cast<std::uint8_t>(random_.below(256));
  }
  session.first = next_;
  session.slot_bytes = kOriginSlotBytes;
  session.record_bytes = kOriginRecordBytes;
  session.segment_slots = kOriginSegmentSlots;
  session.metadata_hash = metadata_.empty() ? 0 : kMetadataHash;
  set_text(session.schema, "test");
  session.begin_row = rows_;
  session.begin_hash = random_.next();
  rows_ += 2;  // a reservation
  sessions_.push_back(session);
  sent_ = next_ - 1;
}

void TestOrigin::end_session(SessionEnd how, std::optional<Sequence> last,
                             std::uint64_t void_size) {
  RelaySession& session = sessions_.back();
  session.how = how;
  session.last = last.value_or(head());
  if (void_size != 0) {
    session.void_first = session.last + 1;
    session.void_last = session.last + void_size;
  }
  session.end_row = rows_++;
  session.end_hash = random_.next();
  if (how != SessionEnd::kFailed) {
    next_ = std::max(session.last, session.void_last) + 1;
    sent_ = std::min(sent_, session.last);
  }
}

void TestOrigin::add_records(std::uint64_t count) {
  next_ += count;
}

void TestOrigin::lose(const Id128& journal_id, const RelayAbsent& absent) {
  gone_[journal_id].push_back(absent);
}

bool TestOrigin::is_gone(const Id128& journal_id, Sequence n) const {
  const auto ranges = gone_.find(journal_id);
  return ranges != gone_.end() && std::ranges::any_of(ranges->second, [&](const auto& each) {
           return each.first <= n && n <= each.last;
         });
}

std::optional<std::size_t> TestOrigin::session_of(const Id128& journal_id, Sequence n) const {
  for (std::size_t i = 0; i < sessions_.size(); ++i) {
    const RelaySession& session = sessions_[i];
    const bool is_newest = i + 1 == sessions_.size();
    const bool is_open =
        session.how == SessionEnd::kNone || (session.how == SessionEnd::kFailed && is_newest);
    const Sequence last = is_open ? head() : session.last;
    if (session.journal_id == journal_id && session.first <= n && n <= last) return i;
  }
  return std::nullopt;
}

RelayOrigin TestOrigin::origin_of(const RelaySession& session) const {
  const RelaySession& newest = sessions_.back();
  RelayOrigin origin;
  origin.journal_id = session.journal_id;
  origin.session_id = session.session_id;
  origin.record_bytes = session.record_bytes;
  origin.schema_hash = session.schema_hash;
  origin.head = head();
  origin.durable = std::min(durable_.value_or(head()), head());
  origin.time_ns = time_ns_ + network_.now_ns();
  const bool is_open = newest.how == SessionEnd::kNone;
  origin.session_row = is_open ? newest.begin_row : newest.end_row;
  origin.session_hash = is_open ? newest.begin_hash : newest.end_hash;
  return origin;
}

MadeMessage TestOrigin::records_message(const RelaySession& session, Sequence first,
                                        std::uint64_t count) {
  std::vector<std::byte> records;
  for (Sequence n = first; n < first + count; ++n) {
    const std::vector<std::byte> one = record(session.session_id, n);
    records.insert(records.end(), one.begin(), one.end());
  }
  return make_records_message(origin_of(session), first, records, buffer_);
}

RelayTransport* TestOrigin::transport() {
  if (transport_ != nullptr && !transport_->listen({}).ok()) transport_.reset();
  if (transport_ != nullptr) return transport_.get();
  auto made = network_.connect(host_);
  if (!made.ok()) return nullptr;
  constexpr RelaySubject kAsks[] = {RelaySubject::kAsk};
  transport_ = *std::move(made);
  if (!transport_->listen(kAsks).ok()) return nullptr;
  const auto tail = transport_->tail(Deadline::now());
  stream_last_ = tail.ok() ? tail->last : 0;
  return transport_.get();
}

// The stream's last sequence may be another one after trouble. The message is not stored then.
void TestOrigin::append(const MadeMessage& message) {
  const auto tail = transport_->tail(Deadline::now());
  stream_last_ = tail.ok() ? std::max(tail->last, stream_last_) : stream_last_;
  if (tail.ok() && tail->last < stream_last_) stream_last_ = tail->last;
  if (transport_->append(*message, stream_last_).ok()) ++stream_last_;
  while (auto ack = transport_->take_ack()) {
    if (ack->result != RelayAckResult::kStored) stream_last_ = tail.ok() ? tail->last : 0;
  }
}

void TestOrigin::send(bool stored, std::uint64_t records_max) {
  while (sent_ < head()) {
    const std::uint64_t count = std::min(1 + random_.below(records_max), head() - sent_);
    const MadeMessage message = records_message(sessions_.back(), sent_ + 1, count);
    sent_ += count;
    publish(message, stored);
  }
}

void TestOrigin::publish(const MadeMessage& message, bool stored) {
  if (!message.ok() || transport_ == nullptr) return;
  if (stored) {
    append(message);
  } else {
    (void)transport_->send(RelaySubject::kLive, *message);
  }
}

MadeMessage TestOrigin::bus_message() {
  RelayBus bus = some_bus();
  bus.record_bytes = kOriginRecordBytes;
  bus.slot_bytes = kOriginSlotBytes;
  bus.segment_slots = kOriginSegmentSlots;
  return make_bus_message(origin_of(sessions_.back()), bus, buffer_);
}

void TestOrigin::send_notices(bool stored) {
  const std::size_t first = sessions_.size() - std::min<std::size_t>(sessions_.size(), 2);
  publish(make_sessions_message(origin_of(sessions_.back()), first,
                                std::span(sessions_).subspan(first), buffer_),
          stored);
  publish(bus_message(), stored);
}

void TestOrigin::beat(RelayPublisherState publisher) {
  if (transport() == nullptr) return;
  RelayBeat beat{};
  const RelaySession& session = sessions_.back();
  if (sent_ >= session.first && knows_sent_) {
    beat.sent_session = session.session_id;
    beat.sent = sent_;
  }
  beat.oldest = 1;
  for (const RelayAbsent& each : gone_[session.journal_id]) {
    if (each.first == 1 && each.cause == RelayAbsence::kPruned) beat.oldest = each.last + 1;
  }
  beat.journal_state =
      session.how == SessionEnd::kFailed ? JournalState::kFailed : JournalState::kGood;
  beat.publisher = publisher;
  const MadeMessage message = make_beat_message(origin_of(session), beat, buffer_);
  if (message.ok()) (void)transport_->send(RelaySubject::kBeat, *message);
}

void TestOrigin::serve() {
  while (transport_ != nullptr) {
    const auto arrival = transport_->take(Deadline::now());
    if (!arrival.ok()) {
      transport_.reset();
      break;
    }
    if (!*arrival) break;
    const std::string reply_to((*arrival)->reply_to);
    const auto message = parse_message((*arrival)->message);
    if (answers_ && message.ok() && message->header.kind == RelayKind::kAsk) {
      answer(reply_to, *message);
    }
  }
  transport();
}

void TestOrigin::reply(const std::string& reply_to, const MadeMessage& message) {
  if (message.ok()) (void)transport_->answer(reply_to, *message);
}

void TestOrigin::answer(const std::string& reply_to, const RelayMessage& message) {
  const RelayAsk ask = message.ask();
  const RelayAskee other = role_ == Role::kOrigin ? RelayAskee::kMirrors : RelayAskee::kOrigin;
  if (ask.to == other) return;
  ++asks_[static_cast<std::uint64_t>(ask.request)];
  const RelaySession& newest = sessions_.back();
  const RelayOrigin origin = origin_of(newest);
  RelayAnswer answer{ask.request, RelayOutcome::kOk, ask.token, 0, 0};
  switch (ask.request) {
    case RelayRequest::kRecords:
      answer.total = answer_records(reply_to, message.header.journal_id, ask);
      break;
    case RelayRequest::kSessions:
      for (std::size_t i = ask.first; i < sessions_.size(); i += 3) {
        const std::size_t count = std::min<std::size_t>(3, sessions_.size() - i);
        reply(reply_to,
              make_sessions_message(origin, i, std::span(sessions_).subspan(i, count), buffer_));
      }
      break;
    case RelayRequest::kFile:
      answer_file(reply_to, ask);
      return;
    case RelayRequest::kBus:
      reply(reply_to, bus_message());
      break;
    case RelayRequest::kFlush:
      if (ask.last > durable_.value_or(head())) durable_ = ask.last;
      break;
  }
  reply(reply_to, make_answer_message(origin, answer, {}, buffer_));
}

std::uint64_t TestOrigin::answer_records(const std::string& reply_to, const Id128& journal_id,
                                         const RelayAsk& ask) {
  std::uint64_t sent = 0;
  for (Sequence n = ask.first; n <= ask.last;) {
    const std::optional<std::size_t> session = session_of(journal_id, n);
    if (!session || is_gone(journal_id, n)) {
      ++n;
      continue;
    }
    std::uint64_t count = 1;
    while (count < 100 && n + count <= ask.last && !is_gone(journal_id, n + count) &&
           session_of(journal_id, n + count) == session) {
      ++count;
    }
    reply(reply_to, records_message(sessions_[*session], n, count));
    n += count;
    sent += count;
  }
  if (role_ == Role::kServingMirror) return sent;
  const RelaySession& newest = sessions_.back();
  RelayOrigin origin = origin_of(newest);
  origin.journal_id = journal_id;
  for (const RelayAbsent& each : gone_[journal_id]) {
    RelayAbsent part = each;
    part.first = std::max(part.first, ask.first);
    part.last = std::min(part.last, ask.last);
    if (part.first > part.last) continue;
    reply(reply_to, make_gone_message(origin, std::span(&part, 1), buffer_));
  }
  return sent;
}

void TestOrigin::answer_file(const std::string& reply_to, const RelayAsk& ask) {
  const std::string& file = ask.file == RelayFile::kCheckpoint ? checkpoint_ : metadata_;
  RelayAnswer answer{ask.request, RelayOutcome::kOk, ask.token, file.size(), ask.offset};
  const bool is_newer = ask.file == RelayFile::kCheckpoint && ask.hash != 0 && !file.empty() &&
                        ask.hash != checksum_of(file);
  if (file.empty() || is_newer) answer.outcome = RelayOutcome::kNotHere;
  const bool has_part = answer.outcome == RelayOutcome::kOk && ask.offset <= file.size();
  if (!has_part) answer.offset = answer.total = 0;
  const std::string part = has_part ? file.substr(answer.offset, part_bytes_) : "";
  if (!part.empty() && answer.offset + part.size() < file.size()) {
    answer.outcome = RelayOutcome::kPartly;
  }
  reply(reply_to, make_answer_message(origin_of(sessions_.back()), answer,
                                      std::as_bytes(std::span(part)), buffer_));
}

}  // namespace lapwing
