// The parts of a publisher in a started session, without their threads. The journal waits until a
// test raises the gate. Test code only; not thread-safe.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bus/ring_writer.h"
#include "publisher/gate_wait.h"
#include "publisher/publisher_control.h"
#include "publisher/publisher_options.h"
#include "publisher/session_closer.h"
#include "publisher/session_start.h"

namespace lapwing {

struct StartedParts {
  explicit StartedParts(PublisherSetUp options) : session(start(std::move(options))) {}
  StartedParts(const StartedParts&) = delete;
  StartedParts& operator=(const StartedParts&) = delete;
  ~StartedParts() {
    if (closer.begin()) closer.run();
  }

  static StartedSession start(PublisherSetUp options) {
    REQUIRE(settle_options(options).ok());
    absl::StatusOr<StartedSession> started = start_session(std::move(options));
    INFO(started.status().ToString());
    REQUIRE(started.ok());
    return *std::move(started);
  }

  RingWords& words() const { return session.ring->words(); }

  StartedSession session;
  detail::PublishPath path{
      writer_of(*session.ring), session.begin.first - 1, 0, {}, session.begin.record_bytes};
  JournalGate gate;
  PublisherControl control{session, gate, path.attention};
  GateWait waits{session, path, gate, control.file_thread()};
  SessionCloser closer{session, control, gate};
};

}  // namespace lapwing
