#include "relay/nats/stream_reading.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "os/kernel.h"
#include "os/printable.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kSilenceNs = 5 * kNatsHeartbeatNs;

}  // namespace

void StreamReading::begin(std::uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  is_active_ = true;
  delivered_ = 0;
  heard_ns_ = now_ns;
  consumer_.clear();
  flow_control_.clear();
  ++reading_;
}

void StreamReading::set_consumer(std::string consumer) {
  const std::lock_guard lock(mutex_);
  consumer_ = std::move(consumer);
}

std::string StreamReading::stop() {
  const std::lock_guard lock(mutex_);
  is_active_ = false;
  ++reading_;
  return std::exchange(consumer_, {});
}

bool StreamReading::is_current(const NatsArrival& arrival) const {
  const std::lock_guard lock(mutex_);
  return arrival.reading == reading_;
}

void StreamReading::receive(NatsMessage message, std::uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (!is_active_) return;
  heard_ns_ = now_ns;
  const auto position = parse_consumer_position(message.reply_to());
  if (!position) {
    receive_control(message);
    return;
  }
  if (position->consumer_sequence != delivered_ + 1) {
    end(absl::StrCat("the consumer's message ", delivered_ + 1, " is missing"));
    return;
  }
  delivered_ = position->consumer_sequence;
  const bool is_kept = inbox_.add({.kind = RelayArrivalKind::kStored,
                                   .message = std::move(message),
                                   .reading = reading_,
                                   .stream_sequence = position->stream_sequence,
                                   .stream_pending = position->pending});
  if (!is_kept) end("the inbox is full");
}

void StreamReading::receive_control(const NatsMessage& message) {
  const std::string_view status = message.header("Status");
  if (status != "100") {
    end(absl::StrCat("the server ends the reading: ", printable(std::string(status)), " ",
                     printable(std::string(message.header("Description")))));
    return;
  }
  if (!message.reply_to().empty()) {
    add_flow_control(message.reply_to());
    return;
  }
  std::uint64_t last = 0;
  if (parse_number(message.header("Nats-Last-Consumer"), last) && last != delivered_) {
    end(absl::StrCat("the consumer has sent ", last, " messages, and ", delivered_,
                     " have arrived"));
    return;
  }
  const std::string_view stalled = message.header("Nats-Consumer-Stalled");
  if (!stalled.empty()) add_flow_control(stalled);
}

void StreamReading::add_flow_control(std::string_view reply_to) {
  // A stalled consumer repeats its request in each heartbeat.
  if (reply_to == flow_control_) return;
  flow_control_ = reply_to;
  inbox_.add(
      {.kind = RelayArrivalKind::kStored, .reading = reading_, .text = std::string(reply_to)});
}

void StreamReading::tick(std::uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (!is_active_ || now_ns < heard_ns_ || now_ns - heard_ns_ <= kSilenceNs) return;
  end(absl::StrCat("the consumer is silent since ", (now_ns - heard_ns_) / kNsPerMs, " ms"));
}

void StreamReading::end(std::string why) {
  is_active_ = false;
  inbox_.add({.kind = RelayArrivalKind::kReadEnded, .reading = reading_, .text = std::move(why)});
}

}  // namespace lapwing
