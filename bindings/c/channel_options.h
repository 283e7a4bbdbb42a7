// Channel and listener options in the C interface.
//
// Thread safety: pure functions.
#pragma once

#include "absl/status/statusor.h"
#include "lapwing.h"
#include "lapwing/channel.h"
#include "lapwing/listener.h"

namespace lapwing::c {

// NULL: the defaults. Errors: kInvalidArgument.
absl::StatusOr<ChannelOptions> channel_options(const lapwing_channel_options* given);

// The role of an end.
enum class Role : std::uint32_t {
  kProducer = LAPWING_CHANNEL_ROLE_PRODUCER,
  kConsumer = LAPWING_CHANNEL_ROLE_CONSUMER,
  kDuplex = LAPWING_CHANNEL_ROLE_DUPLEX,
};
// Errors: kInvalidArgument.
absl::StatusOr<Role> role_of(std::uint32_t role);

}  // namespace lapwing::c
