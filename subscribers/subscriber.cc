#include "lapwing/subscriber.h"

#include <utility>

#include "subscribers/follower.h"

namespace lapwing {

Subscriber::Subscriber(SubscriberOptions options)
    : follower_(std::make_unique<Follower>(std::move(options))) {}
Subscriber::~Subscriber() = default;
Subscriber::Subscriber(Subscriber&&) noexcept = default;
Subscriber& Subscriber::operator=(Subscriber&&) noexcept = default;

Item Subscriber::poll() {
  return follower_->poll();
}
Item Subscriber::wait(std::uint64_t deadline_ns) {
  return follower_->wait(deadline_ns);
}
std::size_t Subscriber::poll_batch(std::span<std::byte> out) {
  return follower_->poll_batch(out);
}
std::span<const std::byte> Subscriber::record() const {
  return follower_->record();
}
std::uint32_t Subscriber::record_bytes() const {
  return follower_->record_bytes();
}
const std::string& Subscriber::schema() const {
  return follower_->schema();
}
const std::string& Subscriber::schema_note() const {
  return follower_->schema_note();
}
const std::shared_ptr<const Fold>& Subscriber::fold() const {
  return follower_->fold();
}
std::uint64_t Subscriber::state_size() const {
  return follower_->state_size();
}
const absl::Status& Subscriber::status() const {
  return follower_->status();
}
const std::string& Subscriber::text() const {
  return follower_->text();
}
StoredPosition Subscriber::position() const {
  return follower_->position();
}
Sequence Subscriber::durable() const {
  return follower_->durable();
}
Id128 Subscriber::session_id() const {
  return follower_->session_id();
}
const SubscriberCounters& Subscriber::counters() const {
  return follower_->counters();
}
absl::StatusOr<int> Subscriber::descriptor() {
  return follower_->descriptor();
}

}  // namespace lapwing
