#include "testing/relay_network.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "testing/relay_network_state.h"

namespace lapwing {
namespace {

using relay_network::Append;
using relay_network::copy_of;
using relay_network::Entry;
using relay_network::Link;
using relay_network::NumberedAck;
using relay_network::Path;
using relay_network::Stream;
using State = RelayNetwork::State;

class NetworkTransport final : public RelayTransport {
 public:
  NetworkTransport(std::shared_ptr<State> state, Link& link)
      : state_(std::move(state)), link_(link) {}
  ~NetworkTransport() override {
    const std::lock_guard lock(state_->mutex);
    // Messages that were sent arrive before the end, unless the host is frozen.
    if (!state_->frozen.contains(link_.host)) {
      const std::uint64_t now_ns = state_->now_ns;
      std::vector<std::function<void()>> arriving;
      std::erase_if(state_->events, [&](auto& entry) {
        if (entry.second.link != link_.id || !entry.second.to_server) return false;
        arriving.push_back(std::move(entry.second.run));
        return true;
      });
      for (const std::function<void()>& run : arriving) run();
      state_->run_until(now_ns);
    }
    std::erase_if(state_->events, [&](const auto& e) { return e.second.link == link_.id; });
    state_->links.erase(link_.id);
  }

  absl::Status send(RelaySubject subject, std::span<const std::byte> message) override {
    const std::lock_guard lock(state_->mutex);
    if (link_.lost.ok()) state_->publish(link_, subject, copy_of(message), {});
    return link_.lost;
  }
  absl::Status append(std::span<const std::byte> message, std::uint64_t expected_last) override {
    const std::lock_guard lock(state_->mutex);
    if (!link_.lost.ok()) return link_.lost;
    link_.appends.push_back({++link_.last_append, expected_last, state_->now_ns});
    state_->append(link_, link_.appends.back(), copy_of(message));
    return absl::OkStatus();
  }
  std::optional<RelayAck> take_ack() override {
    const std::lock_guard lock(state_->mutex);
    while (!link_.acks.empty()) {
      const NumberedAck ack = std::move(link_.acks.front());
      link_.acks.pop_front();
      link_.update_event();
      if (forget_append(ack.number)) return ack.ack;
    }
    if (link_.appends.empty() || !link_.lost.ok()) return std::nullopt;
    const Append oldest = link_.appends.front();
    if (state_->now_ns - oldest.sent_ns < RelayNetwork::kAckWaitNs) return std::nullopt;
    link_.appends.pop_front();
    RelayAck ack;
    ack.result = RelayAckResult::kTimedOut;
    ack.expected_last = oldest.expected_last;
    ack.reason = "no ack";
    return ack;
  }

  absl::Status open_stream(const RelayStreamOptions& options, Deadline) override {
    const std::lock_guard lock(state_->mutex);
    if (absl::Status status = check_answers(); !status.ok()) return status;
    if (!state_->stream) state_->stream = Stream{.options = options, .messages = {}};
    const RelayStreamOptions& found = state_->stream->options;
    if (found.bytes_max == options.bytes_max && found.age_max == options.age_max &&
        found.replicas == options.replicas) {
      return absl::OkStatus();
    }
    return make_error(Errc::kInvalidArgument, "the stream has another configuration");
  }
  absl::StatusOr<RelayTail> tail(Deadline) override {
    const std::lock_guard lock(state_->mutex);
    if (absl::Status status = check_stream(); !status.ok()) return status;
    const Stream& stream = *state_->stream;
    RelayTail tail;
    tail.last = stream.last;
    tail.first = stream.messages.empty() ? stream.last + 1 : stream.messages.front().sequence;
    if (!stream.messages.empty()) tail.message = *stream.messages.back().bytes;
    return tail;
  }
  absl::Status read_from(std::uint64_t stream_sequence, Deadline) override {
    const std::lock_guard lock(state_->mutex);
    state_->stop_reading(link_);
    if (absl::Status status = check_stream(); !status.ok()) return status;
    link_.is_reading = true;
    link_.reading_next = std::min(stream_sequence, state_->stream->last + 1);
    state_->feed(link_);
    state_->run_until(state_->now_ns);
    return absl::OkStatus();
  }
  void stop_reading() override {
    const std::lock_guard lock(state_->mutex);
    state_->stop_reading(link_);
  }

  absl::Status listen(std::span<const RelaySubject> subjects) override {
    const std::lock_guard lock(state_->mutex);
    for (const RelaySubject subject : subjects) {
      if (!link_.lost.ok()) break;
      if (!link_.listens.insert(subject).second) {
        return make_error(Errc::kMisuse, "listening to a subject a second time");
      }
    }
    return link_.lost;
  }
  absl::StatusOr<RelayAskId> ask(std::span<const std::byte> message) override {
    const std::lock_guard lock(state_->mutex);
    if (!link_.lost.ok()) return link_.lost;
    const RelayAskId id = ++link_.last_ask;
    state_->publish(link_, RelaySubject::kAsk, copy_of(message), absl::StrCat(link_.id, ".", id));
    return id;
  }
  absl::Status answer(std::string_view reply_to, std::span<const std::byte> message) override {
    const std::lock_guard lock(state_->mutex);
    if (!link_.lost.ok()) return link_.lost;
    const std::string address(reply_to);
    const std::uint64_t link = std::stoull(address);
    const RelayAskId ask = std::stoull(address.substr(address.find('.') + 1));
    const Entry entry{.kind = RelayArrivalKind::kAnswer,
                      .bytes = copy_of(message),
                      .ask = ask,
                      .order = ++state_->serial};
    state_->to_server(link_, [state = state_.get(), link, ask, entry] {
      Link* const asking = state->find(link);
      if (asking != nullptr) state->deliver(*asking, {Path::Kind::kAnswers, ask}, entry);
    });
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<RelayArrival>> take(Deadline) override {
    const std::lock_guard lock(state_->mutex);
    for (;;) {
      if (link_.inbox.empty()) {
        if (!link_.lost.ok()) return link_.lost;
        return std::nullopt;
      }
      link_.taken = std::move(link_.inbox.front());
      link_.inbox.pop_front();
      const Entry& taken = link_.taken;
      link_.inbox_bytes -= taken.size();
      link_.update_event();
      const bool is_of_reading =
          taken.kind == RelayArrivalKind::kStored || taken.kind == RelayArrivalKind::kReadEnded;
      if (is_of_reading && taken.reading != link_.reading) continue;
      if (taken.kind == RelayArrivalKind::kStored) {
        link_.reading_bytes -= taken.size();
        state_->feed(link_);
        state_->run_until(state_->now_ns);
      }
      RelayArrival arrival;
      arrival.kind = taken.kind;
      if (taken.bytes != nullptr) arrival.message = *taken.bytes;
      arrival.reply_to = taken.reply_to;
      arrival.reason = taken.reason;
      arrival.subject = taken.subject;
      arrival.ask = taken.ask;
      arrival.stream_sequence = taken.stream_sequence;
      arrival.stream_pending = taken.stream_pending;
      return arrival;
    }
  }
  std::uint64_t dropped() const override {
    const std::lock_guard lock(state_->mutex);
    return link_.dropped;
  }
  int fd() const override { return link_.event.get(); }

 private:
  bool forget_append(std::uint64_t number) {
    return std::erase_if(link_.appends,
                         [&](const Append& each) { return each.number == number; }) != 0;
  }
  absl::Status check_answers() const {
    if (!link_.lost.ok() || !state_->frozen.contains(link_.host)) return link_.lost;
    return make_error(Errc::kTimedOut, "the link is frozen");
  }
  absl::Status check_stream() const {
    absl::Status status = check_answers();
    if (!status.ok() || state_->stream) return status;
    return make_error(Errc::kNotFound, "there is no stream");
  }

  const std::shared_ptr<State> state_;
  Link& link_;
};

}  // namespace

RelayNetwork::RelayNetwork(std::uint64_t seed) : state_(std::make_shared<State>(seed)) {}

RelayNetwork::~RelayNetwork() {
  const std::lock_guard lock(state_->mutex);
  for (const auto& [id, link] : state_->links) state_->lose(*link, "the network is gone");
}

void RelayNetwork::set_faults(const RelayNetworkFaults& faults) {
  const std::lock_guard lock(state_->mutex);
  state_->faults = faults;
}

RelayNetworkCounts RelayNetwork::counts() const {
  const std::lock_guard lock(state_->mutex);
  return state_->counts;
}

absl::StatusOr<std::unique_ptr<RelayTransport>> RelayNetwork::connect(const std::string& host) {
  const std::lock_guard lock(state_->mutex);
  if (state_->refused.contains(host) || state_->frozen.contains(host)) {
    return make_error(Errc::kPeerGone, absl::StrCat(host, " cannot connect"));
  }
  absl::StatusOr<UniqueFd> event = make_eventfd();
  if (!event.ok()) return event.status();
  auto link = std::make_unique<Link>();
  link->id = ++state_->last_link;
  link->host = host;
  link->event = *std::move(event);
  Link& made = *link;
  state_->links.emplace(made.id, std::move(link));
  return std::make_unique<NetworkTransport>(state_, made);
}

void RelayNetwork::refuse(const std::string& host, bool refused) {
  const std::lock_guard lock(state_->mutex);
  if (refused) {
    state_->refused.insert(host);
  } else {
    state_->refused.erase(host);
  }
}

void RelayNetwork::cut(const std::string& host) {
  const std::lock_guard lock(state_->mutex);
  state_->lose_host(host, "the connection is cut");
}

void RelayNetwork::freeze(const std::string& host) {
  const std::lock_guard lock(state_->mutex);
  state_->frozen.emplace(host, state_->now_ns);
}

void RelayNetwork::thaw(const std::string& host) {
  const std::lock_guard lock(state_->mutex);
  state_->frozen.erase(host);
  state_->run_until(state_->now_ns);
}

void RelayNetwork::advance(std::uint64_t ns) {
  const std::lock_guard lock(state_->mutex);
  state_->run_until(state_->now_ns + ns);
  for (const auto& [host, since_ns] : state_->frozen) {
    if (state_->now_ns - since_ns > kSilenceNs) state_->lose_host(host, "the server is silent");
  }
}

std::uint64_t RelayNetwork::now_ns() const {
  const std::lock_guard lock(state_->mutex);
  return state_->now_ns;
}

std::shared_ptr<const RelayNetwork::Copy> RelayNetwork::copy_stream() const {
  const std::lock_guard lock(state_->mutex);
  return std::make_shared<const Copy>(Copy{state_->stream});
}

void RelayNetwork::restore_stream(const std::shared_ptr<const Copy>& copy) {
  const std::lock_guard lock(state_->mutex);
  state_->stream = copy->stream;
  state_->end_readings("the stream is restored");
}

void RelayNetwork::delete_stream() {
  const std::lock_guard lock(state_->mutex);
  state_->stream.reset();
  state_->end_readings("the stream is deleted");
}

void RelayNetwork::expire_stream(std::uint64_t first) {
  const std::lock_guard lock(state_->mutex);
  if (!state_->stream) return;
  relay_network::Stream& stream = *state_->stream;
  while (!stream.messages.empty() && stream.messages.front().sequence < first) {
    stream.discard_oldest();
  }
}

void RelayNetwork::hold_stream(bool held) {
  const std::lock_guard lock(state_->mutex);
  state_->held = held;
  if (held) return;
  for (const std::function<void()>& process : std::exchange(state_->held_appends, {})) process();
  state_->run_until(state_->now_ns);
}

void RelayNetwork::fail_appends(RelayAckResult result, std::uint64_t count) {
  const std::lock_guard lock(state_->mutex);
  state_->failure = result;
  state_->failures = count;
}

void RelayNetwork::end_readings() {
  const std::lock_guard lock(state_->mutex);
  state_->end_readings("by the test");
}

}  // namespace lapwing
