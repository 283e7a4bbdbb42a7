// The end of a channel whose side was opened for it.
#pragma once

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "channel/side.h"

namespace lapwing {

template <typename End>
absl::StatusOr<End> end_of(absl::StatusOr<std::unique_ptr<ChannelSide>> side) {
  if (!side.ok()) return side.status();
  return End(ChannelHandle(side->release()));
}

}  // namespace lapwing
