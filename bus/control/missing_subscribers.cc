#include "bus/control/missing_subscribers.h"

#include <algorithm>
#include <utility>

#include "bus/control/socket.h"
#include "os/kernel.h"
#include "proto/text_field.h"

namespace lapwing {

MissingSubscribers::MissingSubscribers(std::vector<SubscriberInfoFrame> expected)
    : subscribers_(std::move(expected)) {
  if (subscribers_.size() > kMissingMax) subscribers_.resize(kMissingMax);
}

void MissingSubscribers::remove_returned(uid_t uid, const std::string& name) {
  const auto found = std::ranges::find_if(subscribers_, [&](const SubscriberInfoFrame& one) {
    return one.uid == uid && get_text(one.name) == name;
  });
  if (found != subscribers_.end()) subscribers_.erase(found);
}

std::span<const SubscriberInfoFrame> MissingSubscribers::take_overdue(std::uint64_t now_ns) {
  if (due_ns_ == 0) due_ns_ = after_ns(now_ns, kReturnNs);
  if (is_due_ || now_ns < due_ns_) return {};
  is_due_ = true;
  return subscribers_;
}

std::uint64_t MissingSubscribers::deadline_ns() const {
  return is_due_ || subscribers_.empty() ? UINT64_MAX : due_ns_;
}

std::span<const SubscriberInfoFrame> MissingSubscribers::list() const {
  return is_due_ ? std::span<const SubscriberInfoFrame>(subscribers_)
                 : std::span<const SubscriberInfoFrame>();
}

std::vector<SubscriberInfoFrame> MissingSubscribers::forget(const std::string& name) {
  std::vector<SubscriberInfoFrame> forgotten;
  if (!is_due_) return forgotten;
  std::erase_if(subscribers_, [&](const SubscriberInfoFrame& one) {
    if (get_text(one.name) != name) return false;
    forgotten.push_back(one);
    return true;
  });
  return forgotten;
}

std::vector<SubscriberInfoFrame> MissingSubscribers::forget_all() {
  return is_due_ ? std::exchange(subscribers_, {}) : std::vector<SubscriberInfoFrame>();
}

ProcessIdentity process_of(const SubscriberInfoFrame& subscriber,
                           const ProcessNamespaces& namespaces) {
  if (subscriber.pid_is_claimed != 0) return {};
  return {.pid = subscriber.pid, .start_ticks = subscriber.process_start, .namespaces = namespaces};
}

EventInfoFrame event_of_missing(EventKind kind, const SubscriberInfoFrame& subscriber) {
  EventInfoFrame event = make_frame<EventInfoFrame>(FrameType::kEventInfo);
  event.kind = kind;
  event.pid = subscriber.pid;
  event.uid = subscriber.uid;
  event.position = subscriber.position;
  set_text(event.name, get_text(subscriber.name));
  return event;
}

}  // namespace lapwing
