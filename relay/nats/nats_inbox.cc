#include "relay/nats/nats_inbox.h"

#include "os/kernel.h"

namespace lapwing {
namespace {

// Approximate memory of a message without its body.
constexpr std::size_t kOverheadBytes = 256;

std::size_t bytes_of(const NatsArrival& arrival) {
  return arrival.message.get() == nullptr ? 0 : arrival.message.size() + kOverheadBytes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<NatsInbox>> NatsInbox::make() {
  absl::StatusOr<UniqueFd> event = make_eventfd();
  if (!event.ok()) return event.status();
  return std::unique_ptr<NatsInbox>(new NatsInbox(*std::move(event)));
}

bool NatsInbox::add(NatsArrival arrival) {
  const std::size_t bytes = bytes_of(arrival);
  const std::lock_guard lock(mutex_);
  if (bytes != 0 && bytes_ + bytes > kRelayInboxBytesMax) {
    ++dropped_;
    return false;
  }
  bytes_ += bytes;
  arrivals_.push_back(std::move(arrival));
  update_event();
  return true;
}

void NatsInbox::add_ack(NatsAckArrival ack) {
  const std::lock_guard lock(mutex_);
  acks_.push_back(std::move(ack));
  update_event();
}

void NatsInbox::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  update_event();
}

std::optional<NatsArrival> NatsInbox::take() {
  const std::lock_guard lock(mutex_);
  if (arrivals_.empty()) return std::nullopt;
  NatsArrival arrival = std::move(arrivals_.front());
  arrivals_.pop_front();
  bytes_ -= bytes_of(arrival);
  update_event();
  return arrival;
}

std::optional<NatsAckArrival> NatsInbox::take_ack() {
  const std::lock_guard lock(mutex_);
  if (acks_.empty()) return std::nullopt;
  NatsAckArrival ack = std::move(acks_.front());
  acks_.pop_front();
  update_event();
  return ack;
}

std::uint64_t NatsInbox::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

void NatsInbox::update_event() {
  const bool wanted = ended_ || !arrivals_.empty() || !acks_.empty();
  if (wanted == signalled_) return;
  signalled_ = wanted;
  if (wanted) {
    signal_eventfd(event_.get());
  } else {
    drain_eventfd(event_.get());
  }
}

}  // namespace lapwing
