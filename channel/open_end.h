// The end of a session that was opened for it.
#pragma once

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "channel/session.h"

namespace lapwing {

template <typename End>
absl::StatusOr<End> end_of(absl::StatusOr<std::unique_ptr<ChannelSession>> session) {
  if (!session.ok()) return session.status();
  return End(ChannelHandle(session->release()));
}

}  // namespace lapwing
