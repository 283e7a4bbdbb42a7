// The server's counters for its own work.
//
// Thread safety: a value. The server's counts belong to its I/O thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "proto/ring_counters.h"

namespace lapwing {

// Counts for a stream's clients.
struct StreamCounts {
  std::uint64_t clients = 0;
  std::uint64_t messages = 0;   // sent
  std::uint64_t conflated = 0;  // replaced by newer ones before they were sent
};

// Counts for a bus that is being viewed.
struct ViewCounts {
  std::string bus;  // its directory
  StreamCounts stream;
  std::uint64_t behind = 0;  // records that the view has not taken yet
};

struct HttpCounts {
  std::map<std::pair<std::string, unsigned>, std::uint64_t> requests;  // by route and status
  std::map<std::string, Durations> durations;                          // by route
  std::map<std::string, std::uint64_t> rejected;                       // by reason
  std::uint64_t connections = 0;

  void add(const std::string& route, unsigned status, std::uint64_t took_ns) {
    ++requests[{route, status}];
    durations[route].add(took_ns);
  }
  void reject(const std::string& reason) { ++rejected[reason]; }
};

}  // namespace lapwing
