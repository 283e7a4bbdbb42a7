// What the server has counted of itself.
//
// Thread safety: a value; the server's is its I/O thread's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "proto/ring_counters.h"

namespace lapwing {

struct HttpCounts {
  std::map<std::pair<std::string, unsigned>, std::uint64_t> requests;  // by route and status
  std::map<std::string, Durations> durations;                          // by route
  std::map<std::string, std::uint64_t> rejected;                       // by reason
  std::uint64_t connections = 0;
  // Of /api/v1/stream.
  std::uint64_t stream_clients = 0;
  std::uint64_t stream_messages = 0;
  std::uint64_t stream_conflated = 0;

  void add(const std::string& route, unsigned status, std::uint64_t took_ns) {
    ++requests[{route, status}];
    durations[route].add(took_ns);
  }
  void reject(const std::string& reason) { ++rejected[reason]; }
};

}  // namespace lapwing
