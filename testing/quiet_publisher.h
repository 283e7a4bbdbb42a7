// For tests: a publisher behind a control socket that welcomes all clients and does nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bus/control/controlled_publisher.h"
#include "os/frame_socket.h"

namespace lapwing {

class QuietPublisher : public ControlledPublisher {
 public:
  WelcomeFrame welcome() override { return make_frame<WelcomeFrame>(FrameType::kWelcome); }
  void flush_wanted(Sequence) override {}
  void prune_wanted(Sequence) override {}
  std::optional<Errc> prune_result() override { return std::nullopt; }
  void on_heartbeat(std::uint64_t) override {}
  void log(const LogEntry&) const override {}
};

}  // namespace lapwing
