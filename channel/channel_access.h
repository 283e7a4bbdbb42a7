// What the library may do with the public classes of a channel, and nobody else.
#pragma once

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "channel/listener_core.h"
#include "channel/side.h"
#include "lapwing/listener.h"

namespace lapwing {

struct ChannelAccess {
  // The end of a channel whose side was opened for it.
  template <typename End>
  static absl::StatusOr<End> end_of(absl::StatusOr<std::unique_ptr<ChannelSide>> side) {
    if (!side.ok()) return side.status();
    return End(ChannelHandle(side->release()));
  }

  static ListenerCore& core_of(ChannelListener& listener) { return *listener.core_; }
};

}  // namespace lapwing
