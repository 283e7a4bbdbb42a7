// The asks of one connection that are in flight.
//
// A machine without a clock: times are nanoseconds of any clock that does not go backwards.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "proto/relay_frames.h"
#include "relay/transport.h"

namespace lapwing {

class Asks {
 public:
  static constexpr std::size_t kInFlightMax = 64;
  static constexpr std::size_t kLateMax = 256;  // that an answer may still come for
  static constexpr std::uint64_t kOriginWaitNs = 1'000'000'000;
  // Mirrors that serve are near or there are none.
  static constexpr std::uint64_t kMirrorsWaitNs = 250'000'000;

  bool has_room() const { return in_flight_.size() < kInFlightMax; }
  bool empty() const { return in_flight_.empty(); }
  // Of an ask that is to be sent: unique while the process lives.
  std::uint64_t new_token() { return ++last_token_; }

  void sent(RelayAskId id, const RelayAsk& ask, std::uint64_t now_ns);
  // The ask of this answer, also of a late one; null if it is unknown.
  const RelayAsk* find(RelayAskId id) const;
  // A part of its answer came: the wait begins anew.
  void progress(RelayAskId id, std::uint64_t now_ns);
  struct Finished {
    RelayAsk ask{};
    bool is_late = false;  // it had expired, and another one may be in flight
  };
  // Ends the ask: its answer is complete.
  std::optional<Finished> finish(RelayAskId id);
  // Ends asks that have waited too long, and returns them.
  std::vector<RelayAsk> expired(std::uint64_t now_ns);
  // Ends those of this kind: their answers are not wanted any more.
  void forget(RelayRequest request);
  // Ends all: the connection is lost.
  std::vector<RelayAsk> lost();
  std::optional<std::uint64_t> next_due_ns() const;

 private:
  struct InFlight {
    RelayAsk ask{};
    std::uint64_t until_ns = 0;
  };
  static std::uint64_t wait_ns(const RelayAsk& ask) {
    return ask.to == RelayAskee::kMirrors ? kMirrorsWaitNs : kOriginWaitNs;
  }

  std::map<RelayAskId, InFlight> in_flight_;
  std::map<RelayAskId, RelayAsk> late_;
  std::uint64_t last_token_ = 0;
};

}  // namespace lapwing
