// The options of channels and listeners, as the C interface has them.
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

// How a role's end is made, on a path or by a listener: make(ChannelProducer*), make of a consumer, or of a
// duplex, which is nullptr and names the type.
enum class Role : std::uint32_t {
  kProducer = LAPWING_CHANNEL_ROLE_PRODUCER,
  kConsumer = LAPWING_CHANNEL_ROLE_CONSUMER,
  kDuplex = LAPWING_CHANNEL_ROLE_DUPLEX,
};
// Errors: kInvalidArgument.
absl::StatusOr<Role> role_of(std::uint32_t role);

}  // namespace lapwing::c
