#include "bus/control/missing_subscribers.h"

#include <algorithm>
#include <utility>

#include "bus/control/socket.h"
#include "os/kernel.h"
#include "proto/text_field.h"

namespace lapwing {

MissingSubscribers::MissingSubscribers(std::vector<SubscriberInfoFrame> expected,
                                       std::uint64_t now_wall_ns) {
  if (expected.size() > kMissingMax) expected.resize(kMissingMax);
  for (SubscriberInfoFrame& subscriber : expected) {
    if (subscriber.missing_since_wall_ns == 0) subscriber.missing_since_wall_ns = now_wall_ns;
    const bool was_missing = subscriber.state == ClientState::kMissing;
    (was_missing ? missing_ : awaited_).push_back(subscriber);
  }
}

void MissingSubscribers::remove_returned(uid_t uid, const std::string& name, std::uint32_t pid,
                                         std::uint64_t process_start) {
  const auto is_named = [&](const SubscriberInfoFrame& one) {
    return one.uid == uid && get_text(one.name) == name;
  };
  const auto is_same = [&](const SubscriberInfoFrame& one) {
    return is_named(one) && one.pid == pid && one.process_start == process_start;
  };
  const auto remove_first = [&](const auto& is_it) {
    for (auto* const list : {&awaited_, &missing_}) {
      const auto found = std::ranges::find_if(*list, is_it);
      if (found == list->end()) continue;
      list->erase(found);
      return true;
    }
    return false;
  };
  if (!remove_first(is_same)) remove_first(is_named);
}

std::span<const SubscriberInfoFrame> MissingSubscribers::take_overdue(std::uint64_t now_ns) {
  if (due_ns_ == 0) {
    due_ns_ = after_ns(now_ns, kReturnNs);
    return missing_;
  }
  if (now_ns < due_ns_) return {};
  const std::size_t before = missing_.size();
  for (SubscriberInfoFrame& subscriber : std::exchange(awaited_, {})) {
    subscriber.state = ClientState::kMissing;
    missing_.push_back(subscriber);
  }
  return std::span(missing_).subspan(before);
}

std::uint64_t MissingSubscribers::deadline_ns() const {
  return awaited_.empty() ? UINT64_MAX : due_ns_;
}

std::vector<SubscriberInfoFrame> MissingSubscribers::all() const {
  std::vector<SubscriberInfoFrame> both = missing_;
  both.insert(both.end(), awaited_.begin(), awaited_.end());
  return both;
}

std::vector<SubscriberInfoFrame> MissingSubscribers::forget(const std::string& name) {
  std::vector<SubscriberInfoFrame> forgotten;
  std::erase_if(missing_, [&](const SubscriberInfoFrame& one) {
    if (get_text(one.name) != name) return false;
    forgotten.push_back(one);
    return true;
  });
  return forgotten;
}

std::vector<SubscriberInfoFrame> MissingSubscribers::forget_all() {
  return std::exchange(missing_, {});
}

ProcessIdentity process_of(const SubscriberInfoFrame& subscriber,
                           const ProcessNamespaces& namespaces) {
  if (subscriber.pid_is_claimed != 0) return {};
  return {.pid = subscriber.pid, .start_ticks = subscriber.process_start, .namespaces = namespaces};
}

EventInfoFrame event_of_missing(BusEventKind kind, const SubscriberInfoFrame& subscriber) {
  EventInfoFrame event = make_frame<EventInfoFrame>(FrameType::kEventInfo);
  event.kind = kind;
  event.pid = subscriber.pid;
  event.uid = subscriber.uid;
  event.position = subscriber.position;
  set_text(event.name, get_text(subscriber.name));
  return event;
}

}  // namespace lapwing
