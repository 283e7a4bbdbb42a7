// What a bus's publisher reports over its control socket.
//
// Thread safety: values and free functions. They wait for a publisher until a deadline.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/control/client.h"
#include "lapwing/sequence.h"
#include "monitor/subscriber_status.h"
#include "proto/control_frames.h"

namespace lapwing {

// How long a publisher may take to answer.
inline constexpr std::uint64_t kPublisherAnswerNs = 2'000'000'000;

struct PublisherStatus {
  Sequence head = 0;
  std::vector<SubscriberStatus> subscribers;
  std::uint64_t clients_refused = 0;  // since the start, for any reason
  std::uint64_t clients_dropped = 0;
  // The count of DropReason r is at [r - 1]. Zeros from a publisher before 0.2.0.
  std::array<std::uint64_t, kDropReasons> clients_by_reason{};
};

// Connects a tool to a bus's publisher. Errors: those of ControlClient::connect. If the publisher
// is running, the message names its process and the remedy.
absl::StatusOr<ControlClient> connect_to_publisher(const std::string& directory,
                                                   const std::string& name,
                                                   std::uint64_t deadline_ns);
// Lags are as of `head`. Errors: those of ControlClient::list_subscribers, with the same message.
absl::StatusOr<PublisherStatus> list_subscribers(const std::string& directory,
                                                 ControlClient& client, Sequence head,
                                                 std::uint64_t deadline_ns);
// Calls both over a connection that is used only once. Does not need bus.json.
absl::StatusOr<PublisherStatus> ask_publisher(const std::string& directory);

}  // namespace lapwing
