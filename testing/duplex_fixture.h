// For tests: both ends of a duplex in one process. Thread safety: one thread creates a pair.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "lapwing/duplex.h"
#include "testing/channel_fixture.h"
#include "testing/temporary_directory.h"

namespace lapwing {

struct DuplexPair {
  explicit DuplexPair(const ChannelOptions& options = {})
      : ends(make_ends<Duplex, Duplex>(directory.path() + "/duplex.sock", options, options)) {}
  Duplex& client() { return ends.first; }
  Duplex& server() { return ends.second; }

  // Starts a call and lets the server take it.
  CallId call_taken(const std::string& text, Deadline deadline = Deadline::never()) {
    const Result<CallId> started = client().try_start(bytes_of(text), 1, deadline);
    REQUIRE(started.ok());
    const Result<Incoming> in = server().try_next();
    REQUIRE(in.ok());
    REQUIRE(in->call == *started);
    REQUIRE(text_of(in->payload) == text);
    return *started;
  }

  TemporaryDirectory directory;
  std::pair<Duplex, Duplex> ends;
};

}  // namespace lapwing
