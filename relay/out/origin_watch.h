// What the origin is doing now: its newest session, how far it is, and whether its publisher lives.
//
// Thread safety: one thread. Reads the bus and writes nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/heartbeat_watch.h"
#include "bus/open_ring.h"
#include "bus/ring_map.h"
#include "lapwing/journal_state.h"
#include "lapwing/sequence.h"
#include "proto/relay_frames.h"
#include "snapshot/bus_directory.h"
#include "snapshot/journal/session_rules.h"

namespace lapwing {

// A publisher renews its heartbeat twice a second.
inline constexpr std::uint64_t kOriginSilentNs = 3'000'000'000;

// Of the newest session of the bus and of its journal.
struct OriginReading {
  Id128 journal_id;
  Id128 session_id;
  Sequence head = kNoSequence;
  Sequence durable = kNoSequence;  // at most `head`
  Sequence oldest = 1;
  JournalCondition journal;
  RelayPublisherState publisher = RelayPublisherState::kDead;
};

class OriginWatch {
 public:
  explicit OriginWatch(std::string directory) : directory_(std::move(directory)) {}

  // Checks whether another session has begun, and whether the publisher lives. Errors: those of
  // read_bus_description; kNoJournal; those of the ring and of the journal.
  absl::Status look(std::uint64_t now_ns);
  // Reads the positions and the state of the journal again, without a system call if there is a
  // ring. Requires a look() that returned OK.
  const OriginReading& update();

  const OriginReading& state() const { return state_; }
  const BusDescription& bus() const { return bus_; }

 private:
  absl::Status attach();
  absl::Status settle();
  RelayPublisherState publisher(std::uint64_t now_ns);

  const std::string directory_;
  BusDescription bus_;
  bool has_bus_ = false;
  OriginReading state_;
  std::optional<OpenRing> ring_;
  std::optional<RingMap> map_;
  std::optional<HeartbeatWatch> heartbeat_;
};

// The form in which a mirror gets the values of bus.json. `begin`: of the session bus.session_id.
RelayBus relay_bus_of(const BusDescription& bus, const SessionBegin& begin,
                      const std::string& name);

}  // namespace lapwing
