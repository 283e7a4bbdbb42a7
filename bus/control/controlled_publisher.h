// What the control socket asks of the publisher that it belongs to.
//
// Thread safety: every call comes from the thread that turns the control server (the service
// thread), and must not wait.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lapwing/error.h"
#include "lapwing/log.h"
#include "proto/control_frames.h"

namespace lapwing {

class ControlledPublisher {
 public:
  virtual ~ControlledPublisher() = default;

  // The Welcome frame as of now, durable read before head.
  virtual WelcomeFrame welcome() = 0;
  // A client wants everything up to `through` durable. ControlServer::answer_flushes answers, later
  // or within this call.
  virtual void flush_wanted(Sequence through) = 0;
  // The owner or root wants whole segments below this pruned. ControlServer::answer_prune answers,
  // later or within this call; the next prune is announced only after that.
  virtual void prune_wanted(Sequence below) = 0;
  // The result of the prune that was wanted last; nothing while it is under way.
  virtual std::optional<Errc> prune_result() = 0;
  // Once for each heartbeat.
  virtual void on_heartbeat(std::uint64_t now_ns) = 0;
  // A line for the log.
  virtual void log(const LogEntry& entry) const = 0;
};

}  // namespace lapwing
