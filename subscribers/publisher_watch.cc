#include "subscribers/publisher_watch.h"

#include "os/deadline.h"
#include "os/kernel.h"

namespace lapwing {

PublisherWatch::PublisherWatch(std::chrono::nanoseconds stale_after)
    : stale_after_ns_(ns_or_zero(stale_after)) {}

void PublisherWatch::start(std::uint64_t records, std::uint64_t now_ns) {
  socket_checked_ns_ = 0;
  records_ = records;
  since_ns_ = now_ns;
  stale_delivered_ = false;
}

void PublisherWatch::look(Attachment& attachment, std::uint64_t now_ns) {
  if (ended()) return;
  if (attachment.ring_closed()) {
    ending_ = Ending::kClosed;
    return;
  }
  if (now_ns - socket_checked_ns_ < kSocketCheckNs) return;
  socket_checked_ns_ = now_ns;
  if (attachment.control() != nullptr && attachment.control()->publisher_gone()) {
    ending_ = Ending::kHungUp;
  } else if (attachment.heartbeat_age_ns(now_ns) > kHeartbeatLostNs) {
    ending_ = Ending::kSilent;
  }
}

bool PublisherWatch::stale_due(Attachment& attachment, std::uint64_t records,
                               std::uint64_t now_ns) {
  if (records != records_) {
    records_ = records;
    since_ns_ = now_ns;
    stale_delivered_ = false;
  }
  if (stale_after_ns_ == 0 || stale_delivered_ || ended()) return false;
  if (attachment.heartbeat_age_ns(now_ns) > kHeartbeatFreshNs) return false;
  stale_delivered_ = now_ns - since_ns_ >= stale_after_ns_;
  return stale_delivered_;
}

}  // namespace lapwing
