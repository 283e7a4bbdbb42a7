// A bus's ring, and the state of its publisher.
//
// Thread safety: values; a RingWatch belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "bus/heartbeat_watch.h"
#include "bus/open_ring.h"
#include "bus/ring_map.h"
#include "lapwing/detail/enum_names.h"
#include "lapwing/journal_state.h"
#include "lapwing/sequence.h"
#include "os/process_state.h"
#include "proto/ring_counters.h"
#include "proto/ring_layout.h"
#include "snapshot/bus_directory.h"

namespace lapwing {

// A publisher renews its heartbeat twice a second.
inline constexpr std::uint64_t kSilentNs = 3'000'000'000;

// If a heartbeat by another clock does not change for this long, and was never seen to change, its
// publisher is silent.
inline constexpr std::uint64_t kHeartbeatProofNs = kHeartbeatIntervalNs + kHeartbeatIntervalNs / 5;

// A publisher's counts since its session began.
struct RingCounts {
  std::uint64_t idle_wakes = 0;   // by its own threads
  std::uint64_t doorbells = 0;    // wakes of parked subscribers
  std::uint64_t subscribers = 0;  // connected now
  // As reported by its subscribers, including those that have left.
  std::uint64_t gaps = 0;
  std::uint64_t lost = 0;           // records
  std::uint64_t journal_bytes = 0;  // written to segments
  Durations stalls;                 // publish calls that waited for the journal
  Durations syncs;                  // from the start of a sync until durable
};

enum class PublisherState {
  kRunning = 1,
  kStopped = 2,  // its process is stopped, by a signal or a debugger
  kSilent = 3,   // its process exists and has not renewed the heartbeat for kSilentNs
  kGone = 4,     // its process has ended without closing the bus
  kClosed = 5,   // it has closed or is closing the bus
};

// Stable identifiers.
constexpr const char* name_of(PublisherState state) {
  constexpr detail::EnumName<PublisherState> kNames[] = {{PublisherState::kRunning, "running"},
                                                         {PublisherState::kStopped, "stopped"},
                                                         {PublisherState::kSilent, "silent"},
                                                         {PublisherState::kGone, "gone"},
                                                         {PublisherState::kClosed, "closed"}};
  return detail::name_in(kNames, state);
}

// The words have the publisher's last values, whether or not it is alive.
struct RingStatus {
  std::string path;
  std::uint32_t publisher_pid = 0;
  ProcessState process = ProcessState::kUnknown;  // of the publisher
  // True if a process holds the ring's lock. The publisher holds it until the process ends in any
  // way. nullopt: the kernel does not report it.
  std::optional<bool> is_held;
  RingState state = RingState::kRunning;
  std::uint64_t heartbeat_age_ns = 0;  // bus/heartbeat_watch.h
  // False: the heartbeat is by another clock and was not seen to change,
  // so it is at least this old.
  bool is_heartbeat_age_known = true;
  Sequence session_first = 0;
  Sequence head = 0;
  Sequence archived = 0;
  Sequence durable = 0;
  Sequence oldest = 0;
  JournalCondition journal;
  std::optional<RingCounts> counts;  // a publisher before 0.2.0 has none

  // Compares four sources, because each may be wrong or missing: the ring's lock, the heartbeat,
  // the ring's state and the kernel's report about the process.
  PublisherState publisher_state() const;
  // False while a heartbeat by another clock may still prove that the publisher is running.
  bool is_settled() const {
    return is_heartbeat_age_known || publisher_state() != PublisherState::kRunning;
  }
  std::uint64_t records_after(Sequence position) const {
    return head > position ? head - position : 0;
  }
  // nullopt: the bus has no journal.
  std::optional<std::uint64_t> unarchived() const { return unjournaled(archived); }
  std::optional<std::uint64_t> undurable() const { return unjournaled(durable); }

 private:
  std::optional<std::uint64_t> unjournaled(Sequence last) const {
    return journal.state == JournalState::kNone ? std::nullopt : std::optional(records_after(last));
  }
};

// A ring file that is read repeatedly.
class RingWatch {
 public:
  // Opens bus.json's ring. Errors: those of open_described_ring and RingWordsCopy::read.
  static absl::StatusOr<RingWatch> open(const std::string& bus_directory,
                                        const BusDescription& bus);

  const std::string& path() const { return ring_.path(); }
  // Reads the words again and records whether the heartbeat has changed. Errors: those of
  // RingWordsCopy::refresh.
  absl::Status refresh(std::uint64_t now_ns);
  Sequence head() const;
  // True while the publisher is alive. During that time, no other publisher can start.
  bool is_published() const;
  RingStatus status();

 private:
  RingWatch(OpenRing ring, RingWordsCopy words);

  OpenRing ring_;
  RingWordsCopy words_;
  HeartbeatWatch heartbeat_;
};

}  // namespace lapwing
