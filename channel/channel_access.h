// What the library may do with the public classes of a channel, and nobody else.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "channel/listener_core.h"
#include "channel/side.h"
#include "lapwing/consumer.h"
#include "lapwing/duplex.h"
#include "lapwing/duplex_server.h"
#include "lapwing/listener.h"
#include "lapwing/producer.h"
#include "os/wait_source.h"

namespace lapwing {

struct ChannelAccess {
  // The end of a channel whose side was opened for it.
  template <typename End>
  static absl::StatusOr<End> end_of(absl::StatusOr<std::unique_ptr<ChannelSide>> side) {
    if (!side.ok()) return side.status();
    return End(ChannelHandle(side->release()));
  }

  static ListenerCore& core_of(ChannelListener& listener) { return *listener.core_; }

  // What a wait set waits for: a message; room for one of `bytes`; something that has arrived, or a
  // call that has timed out; a peer; an event of a client. It stays where it is when the object is
  // moved. Null: it was moved from.
  static WaitSource* wait_source(ChannelConsumer& consumer);
  static WaitSource* wait_source(ChannelProducer& producer, std::size_t bytes);
  static WaitSource* wait_source(Duplex& duplex);
  static WaitSource* wait_source(ChannelListener& listener) { return listener.core_.get(); }
  static WaitSource* wait_source(DuplexServer& server);
};

}  // namespace lapwing
