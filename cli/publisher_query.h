// Asks a running publisher who it is and who is attached. Used by `info` and `subscribers`.
//
// Thread safety: any thread.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "bus/control/client.h"
#include "proto/control_frames.h"

namespace lapwing::cli {

struct PublisherAnswer {
  WelcomeFrame welcome;
  ControlClient::SubscriberList list;
};

// Waits two seconds at most. Errors: those of ControlClient::connect.
absl::StatusOr<PublisherAnswer> ask_publisher(const std::string& bus);

}  // namespace lapwing::cli
