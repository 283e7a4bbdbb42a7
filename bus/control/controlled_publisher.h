// The interface through which the control server uses its publisher.
//
// Thread safety: all functions are called by the thread that turns the control server (the service
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

  // Returns the Welcome frame as of now, with durable read before head.
  virtual WelcomeFrame welcome() = 0;
  // A client requests that everything up to `through` become durable. Answer with
  // ControlServer::answer_flushes, later or within this call.
  virtual void flush_wanted(Sequence through) = 0;
  // The owner or root requests the removal of all whole segments below `below`. Answer with
  // ControlServer::answer_prune, later or within this call. The next prune is announced only after
  // that.
  virtual void prune_wanted(Sequence below) = 0;
  // Returns the result of the last announced prune; nullopt while it is under way.
  virtual std::optional<Errc> prune_result() = 0;
  // Called once for each heartbeat.
  virtual void on_heartbeat(std::uint64_t now_ns) = 0;
  // Writes a line to the log.
  virtual void log(const LogEntry& entry) const = 0;
};

}  // namespace lapwing
