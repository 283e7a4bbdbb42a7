#include "relay/nats/nats_transport.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/deadline.h"
#include "os/kernel.h"
#include "relay/nats/answer_subject.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kAckWaitNs = 5 * kNsPerSecond;
constexpr std::size_t kReadingIndex = 3;  // of its subscription, see start()

// The number behind the last dot; 0 if there is none.
std::uint64_t last_number(std::string_view subject) {
  std::uint64_t number = 0;
  const std::size_t dot = subject.rfind('.');
  if (dot == std::string_view::npos || !parse_number(subject.substr(dot + 1), number)) return 0;
  return number;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RelayTransport>> connect_nats(const NatsOptions& options,
                                                             const RelayNames& names,
                                                             Deadline deadline) {
  return NatsTransport::connect(options, names, deadline);
}

absl::StatusOr<std::unique_ptr<RelayTransport>> NatsTransport::connect(const NatsOptions& options,
                                                                       const RelayNames& names,
                                                                       Deadline deadline) {
  const absl::StatusOr<Id128> id = random_id();
  if (!id.ok()) return id.status();
  absl::StatusOr<std::unique_ptr<NatsInbox>> inbox = NatsInbox::make();
  if (!inbox.ok()) return inbox.status();
  std::unique_ptr<NatsTransport> transport(new NatsTransport(
      options, names, absl::StrCat(options.inbox_prefix, ".", id->hex()), *std::move(inbox)));
  if (absl::Status status = transport->start(options, deadline); !status.ok()) return status;
  return transport;
}

NatsTransport::NatsTransport(const NatsOptions& options, const RelayNames& names,
                             std::string inbox_subject, std::unique_ptr<NatsInbox> inbox)
    : names_(names),
      js_domain_(options.js_domain),
      inbox_subject_(std::move(inbox_subject)),
      inbox_(std::move(inbox)),
      reading_(*inbox_) {}

NatsTransport::~NatsTransport() {
  if (connection_ != nullptr) connection_->close();
}

absl::Status NatsTransport::start(const NatsOptions& options, Deadline deadline) {
  absl::StatusOr<std::shared_ptr<NatsConnection>> made =
      NatsConnection::connect(options, *this, deadline);
  if (!made.ok()) return made.status();
  connection_ = *std::move(made);
  const std::pair<Channel, const char*> channels[] = {{Channel::kAcks, ".a.*"},
                                                      {Channel::kAnswers, ".q.*"},
                                                      {Channel::kRequests, ".r.*"},
                                                      {Channel::kReading, ".s.0"}};
  for (const auto& [channel, end] : channels) {
    const std::string subject = absl::StrCat(inbox_subject_, end);
    if (absl::Status status = subscribe({channel, {}}, subject); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status NatsTransport::subscribe(const Subscription& what, const std::string& subject) {
  if (subscription_count_ == kNatsSubscriptionsMax) {
    return make_error(Errc::kMisuse, absl::StrCat("subscribing to ", subject, " a second time"));
  }
  subscriptions_[subscription_count_] = what;
  absl::Status status = connection_->subscribe(subject);
  if (status.ok()) ++subscription_count_;
  return status;
}

const std::string& NatsTransport::subject_of(RelaySubject subject) const {
  switch (subject) {
    case RelaySubject::kLog:
      return names_.log;
    case RelaySubject::kLive:
      return names_.live;
    case RelaySubject::kBeat:
      return names_.beat;
    case RelaySubject::kAsk:
      break;
  }
  return names_.ask;
}

std::string NatsTransport::inbox_subject(char channel, std::uint64_t number) const {
  return absl::StrCat(inbox_subject_, ".", std::string(1, channel), ".", number);
}

absl::Status NatsTransport::send(RelaySubject subject, std::span<const std::byte> message) {
  return connection_->publish(subject_of(subject), {}, message);
}

absl::Status NatsTransport::append(std::span<const std::byte> message,
                                   std::uint64_t expected_last) {
  const NatsConnection::Header header{kExpectedLastHeader, absl::StrCat(expected_last)};
  const Append append{++last_append_, expected_last, monotonic_ns()};
  absl::Status status =
      connection_->publish(names_.log, inbox_subject('a', append.number), message, &header);
  if (status.ok()) appends_.push_back(append);
  return status;
}

std::optional<RelayAck> NatsTransport::end_append(std::uint64_t number, RelayAck ack) {
  const auto found = std::lower_bound(
      appends_.begin(), appends_.end(), number,
      [](const Append& append, std::uint64_t wanted) { return append.number < wanted; });
  if (found == appends_.end() || found->number != number) return std::nullopt;
  ack.expected_last = found->expected_last;
  appends_.erase(found);
  return ack;
}

std::optional<RelayAck> NatsTransport::take_ack() {
  while (std::optional<NatsAckArrival> arrival = inbox_->take_ack()) {
    if (appends_.empty()) continue;  // it comes after its time
    const bool has_stream = arrival->append != 0;
    RelayAck ack;
    if (has_stream) {
      ack = parse_ack(arrival->message.bytes());
    } else {
      ack.result = RelayAckResult::kNoStream;
      ack.reason = "no stream stores the subject";
    }
    const std::uint64_t number = has_stream ? arrival->append : appends_.front().number;
    if (std::optional<RelayAck> ended = end_append(number, std::move(ack))) return ended;
  }
  if (appends_.empty() || connection_->is_lost()) return std::nullopt;
  if (monotonic_ns() - appends_.front().sent_ns < kAckWaitNs) return std::nullopt;
  RelayAck ack;
  ack.result = RelayAckResult::kTimedOut;
  ack.reason = absl::StrCat("no ack within ", kAckWaitNs / kNsPerSecond, " s");
  return end_append(appends_.front().number, std::move(ack));
}

absl::StatusOr<NatsMessage> NatsTransport::request(const std::string& subject,
                                                   const std::string& body, Deadline deadline) {
  const std::uint64_t number = ++last_request_;
  {
    const std::lock_guard lock(mutex_);
    awaited_request_ = number;
    request_answer_.reset();
    nobody_answers_ = false;
  }
  absl::Status status = connection_->publish(subject, inbox_subject('r', number), bytes_of(body));
  if (!status.ok()) return status;
  // Far enough for never(), and within what the clock of the condition can hold.
  const std::uint64_t until_ns =
      std::min(deadline.monotonic_ns(), monotonic_ns() + 3600 * kNsPerSecond);
  const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(until_ns)};
  std::unique_lock lock(mutex_);
  answered_.wait_until(
      lock, until, [&] { return request_answer_ || nobody_answers_ || connection_->is_lost(); });
  awaited_request_ = 0;
  if (request_answer_) return *std::exchange(request_answer_, std::nullopt);
  if (connection_->is_lost()) return connection_->error();
  if (nobody_answers_) {
    return make_error(Errc::kUnsupported,
                      absl::StrCat("no JetStream answers at ", connection_->where(), " to ",
                                   subject, ". Enable JetStream there, or set --js-domain."));
  }
  return make_error(Errc::kTimedOut, absl::StrCat("JetStream at ", connection_->where(),
                                                  " has not answered to ", subject));
}

absl::StatusOr<StreamState> NatsTransport::stream_state(const RelayStreamOptions& options,
                                                        Deadline deadline) {
  const absl::StatusOr<NatsMessage> answer = request(api("STREAM.INFO"), {}, deadline);
  if (!answer.ok()) return answer.status();
  return parse_stream(answer->bytes(), names_, options);
}

absl::Status NatsTransport::open_stream(const RelayStreamOptions& options, Deadline deadline) {
  absl::StatusOr<StreamState> state = stream_state(options, deadline);
  if (errc_of(state.status()) == Errc::kNotFound) {
    const absl::StatusOr<NatsMessage> answer =
        request(api("STREAM.CREATE"), make_stream_request(names_, options), deadline);
    if (!answer.ok()) return answer.status();
    state = parse_stream(answer->bytes(), names_, options);
  }
  if (!state.ok()) {
    return make_error(errc_of(state.status()), absl::StrCat("opening the stream ", names_.stream,
                                                            ": ", state.status().message()));
  }
  if (state->difference.empty()) return absl::OkStatus();
  return make_error(
      Errc::kInvalidArgument,
      absl::StrCat(
          "the stream ", names_.stream, " at ", connection_->where(),
          " has another configuration: ", state->difference,
          ". Change the options to match the stream, or the stream to match the options."));
}

absl::StatusOr<RelayTail> NatsTransport::tail(Deadline deadline) {
  std::uint64_t missing = 0;
  for (;;) {
    const absl::StatusOr<StreamState> state = stream_state({}, deadline);
    if (!state.ok()) return state.status();
    RelayTail tail;
    tail.last = state->last;
    tail.first = state->messages == 0 ? state->last + 1 : state->first;
    if (state->messages == 0 || state->last == missing) return tail;
    const absl::StatusOr<NatsMessage> answer =
        request(api("STREAM.MSG.GET"), make_message_request(state->last), deadline);
    if (!answer.ok()) return answer.status();
    absl::StatusOr<std::vector<std::byte>> message = parse_message_answer(answer->bytes());
    if (errc_of(message.status()) == Errc::kNotFound) {
      missing = state->last;  // discarded or replaced meanwhile, else deleted or damaged
      continue;
    }
    if (!message.ok()) return message.status();
    tail.message = *std::move(message);
    return tail;
  }
}

absl::Status NatsTransport::read_from(std::uint64_t stream_sequence, Deadline deadline) {
  stop_reading();
  // A message of a consumer has the subject of the stream, which is the same for every reading. So
  // each reading has a subscription of its own.
  const std::string subject = inbox_subject('s', ++last_reading_);
  absl::Status subscribed = connection_->replace_subscription(kReadingIndex, subject);
  if (!subscribed.ok()) return subscribed;
  reading_.begin(monotonic_ns());
  const absl::StatusOr<NatsMessage> answer = request(
      api("CONSUMER.CREATE"), make_consumer_request(names_, subject, stream_sequence), deadline);
  absl::StatusOr<std::string> consumer =
      answer.ok() ? parse_consumer(answer->bytes()) : answer.status();
  if (!consumer.ok()) {
    reading_.stop();
    return make_error(errc_of(consumer.status()),
                      absl::StrCat("reading the stream ", names_.stream, " from ", stream_sequence,
                                   ": ", consumer.status().message()));
  }
  reading_.set_consumer(*std::move(consumer));
  return absl::OkStatus();
}

void NatsTransport::stop_reading() {
  const std::string consumer = reading_.stop();
  if (consumer.empty()) return;
  // The answer does not matter: if the request fails, the connection is lost, and the consumer ends.
  const std::string subject = absl::StrCat(api("CONSUMER.DELETE"), ".", consumer);
  if (!connection_->publish(subject, {}, {}).ok()) return;
}

absl::Status NatsTransport::listen(std::span<const RelaySubject> subjects) {
  // In this order, so that records are taken before a beat that arrives with them and counts them.
  for (const RelaySubject subject : kRelaySubjects) {
    if (std::find(subjects.begin(), subjects.end(), subject) == subjects.end()) continue;
    absl::Status status = subscribe({Channel::kSubject, subject}, subject_of(subject));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<RelayAskId> NatsTransport::ask(std::span<const std::byte> message) {
  const RelayAskId id = ++last_ask_;
  absl::Status status = connection_->publish(names_.ask, inbox_subject('q', id), message);
  if (!status.ok()) return status;
  return id;
}

absl::Status NatsTransport::answer(std::string_view reply_to, std::span<const std::byte> message) {
  return connection_->publish(std::string(reply_to), {}, message);
}

bool NatsTransport::answer_flow_control(const NatsArrival& arrival) {
  if (arrival.kind != RelayArrivalKind::kStored || arrival.stream_sequence != 0) return false;
  if (!connection_->publish(arrival.text, {}, {}).ok()) return true;  // take() returns why
  return true;
}

absl::StatusOr<std::optional<RelayArrival>> NatsTransport::take(Deadline deadline) {
  for (;;) {
    // Read before the inbox, so that messages that arrived before the loss are found.
    const bool is_lost = connection_->is_lost();
    std::optional<NatsArrival> arrival = inbox_->take();
    if (!arrival) {
      if (is_lost) return connection_->error();
      const std::uint64_t left = left_ns(deadline);
      if (left == 0) return std::nullopt;
      wait_readable(inbox_->fd(), left);
      continue;
    }
    const bool is_of_reading =
        arrival->kind == RelayArrivalKind::kStored || arrival->kind == RelayArrivalKind::kReadEnded;
    if (is_of_reading && !reading_.is_current(*arrival)) continue;
    if (answer_flow_control(*arrival)) continue;
    taken_ = *std::move(arrival);
    RelayArrival result;
    result.kind = taken_.kind;
    if (taken_.message.get() != nullptr) {
      result.message = taken_.message.bytes();
      const std::string_view reply_to = taken_.message.reply_to();
      if (taken_.kind == RelayArrivalKind::kPublished && is_answer_subject(reply_to)) {
        result.reply_to = reply_to;
      }
    }
    result.reason = taken_.text;
    result.subject = taken_.subject;
    result.ask = taken_.ask;
    result.stream_sequence = taken_.stream_sequence;
    result.stream_pending = taken_.stream_pending;
    return result;
  }
}

void NatsTransport::receive(std::size_t subscription, NatsMessage message) {
  const Subscription& what = subscriptions_[subscription];
  const std::uint64_t number = last_number(message.subject());
  switch (what.channel) {
    case Channel::kSubject:
      inbox_->add({.kind = RelayArrivalKind::kPublished,
                   .message = std::move(message),
                   .subject = what.subject});
      return;
    case Channel::kAnswers:
      inbox_->add(
          {.kind = RelayArrivalKind::kAnswer, .message = std::move(message), .ask = number});
      return;
    case Channel::kAcks:
      inbox_->add_ack({number, std::move(message)});
      return;
    case Channel::kReading:
      reading_.receive(std::move(message), monotonic_ns());
      return;
    case Channel::kRequests:
      break;
  }
  {
    const std::lock_guard lock(mutex_);
    if (number != awaited_request_) return;
    request_answer_ = std::move(message);
  }
  answered_.notify_one();
}

void NatsTransport::receive_no_responders(std::size_t subscription) {
  switch (subscriptions_[subscription].channel) {
    case Channel::kAcks:
      inbox_->add_ack({});
      return;
    case Channel::kRequests: {
      const std::lock_guard lock(mutex_);
      nobody_answers_ = true;
      answered_.notify_one();
      return;
    }
    default:  // an ask without a receiver has no answer
      return;
  }
}

void NatsTransport::tick(std::uint64_t now_ns) {
  reading_.tick(now_ns);
}

void NatsTransport::end() {
  inbox_->end();
  {
    const std::lock_guard lock(mutex_);  // a request has not yet checked, or is waiting
  }
  answered_.notify_one();
}

}  // namespace lapwing
