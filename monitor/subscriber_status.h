// A subscriber: its last report to its publisher, and the values that a monitor observes.
//
// Thread safety: values and free functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lapwing/ages.h"
#include "lapwing/sequence.h"
#include "lapwing/subscriber.h"
#include "lapwing/waiting.h"
#include "os/process_state.h"
#include "proto/control_frames.h"

namespace lapwing {

// A running subscriber reports every kReportNsMin while it takes records.
inline constexpr std::uint64_t kSilentReportNs = 3'000'000'000;
inline constexpr std::uint64_t kFarBehindNs = 5'000'000'000;  // a delay that needs attention

// Ages at delivery since the subscriber was opened, measured for one record in `every`.
struct Latency {
  std::uint64_t every = 0;
  std::uint64_t sum_ns = 0;     // exact
  AgeHistogram age_ns;          // its sum() is not exact
  std::uint64_t negative = 0;   // records from the future
  std::uint64_t unstamped = 0;  // records without a time
};

// Like Latency, but for the last minute.
struct RecentLatency {
  std::uint64_t over_ns = 0;  // time covered: kLatencyWindowNs, or less at first
  AgeHistogram age_ns;
};

struct Observed {
  ProcessState process = ProcessState::kUnknown;
  // Time since its last report, or since it attached, by the publisher's CLOCK_MONOTONIC. A
  // publisher before control version 4 does not send it. In that case it is measured by the wall
  // clock, and is nullopt for a report from the future.
  std::optional<std::uint64_t> report_age_ns;
  // Records between its position and the head that it saw, if its report is recent, else the
  // current head. A report may be 100 ms old: with the current head, a live reader would seem
  // 100,000 records behind at a million per second. A stopped reader sends no reports.
  std::uint64_t lag = 0;
  bool is_recent = false;
  // The following members need a BusMonitor that reads the bus more than once.
  //
  // Age of the next record that it has to take; 0 if there is none. If that record was published
  // before the watch began, it is older than this, and `delay_is_longer` is true.
  std::uint64_t delay_ns = 0;
  bool delay_is_longer = false;
  double lag_rate = 0;  // growth of its lag since the last reading, in records per second
  std::optional<RecentLatency> recent_latency = {};  // nullopt: not measured, or just begun
};

struct SubscriberStatus {
  std::uint32_t pid = 0;
  std::uint32_t uid = 0;
  std::string name;
  ClientState state = ClientState::kJoining;  // as sent by the peer: any number
  bool may_park = false;
  bool observes = false;             // it only displays records, so it never needs attention
  std::optional<WaitStrategy> wait;  // any number; nullopt: not reported
  std::optional<OnGap> on_gap;       // any number; nullopt: not reported
  Sequence position = 0;             // last sequence delivered
  Sequence head_seen = 0;            // newest sequence that it saw; 0: not reported
  std::uint64_t records = 0;
  std::uint64_t gaps = 0;
  std::uint64_t lost = 0;
  std::uint64_t filled = 0;
  std::uint64_t connected_wall_ns = 0;
  std::uint64_t reported_wall_ns = 0;
  std::uint64_t missing_since_wall_ns = 0;  // 0: it is attached
  std::optional<Latency> latency;           // nullopt: not measured
  Observed observed;

  bool is_missing() const { return missing_since_wall_ns != 0; }
  bool is_stopped() const { return observed.process == ProcessState::kStopped && !is_missing(); }
  // True if it is behind and has not reported for kSilentReportNs: it hangs, or it is stopped and
  // the kernel does not report its process.
  bool is_silent() const;
  // A joining subscriber reads old records but is not late.
  bool is_far_behind() const {
    return observed.delay_ns > kFarBehindNs && state != ClientState::kJoining;
  }
  bool needs_operator() const;
  // "STOPPED" and "SILENT" for these problems, otherwise the name of its state.
  const char* state_text() const;
};

// As of `head`. Pids are valid in `namespaces`, the publisher's.
SubscriberStatus status_of(const SubscriberInfoFrame& info, Sequence head,
                           std::uint64_t now_wall_ns, const ProcessNamespaces& namespaces);
Latency latency_of(const LatencyReportFrame& report);

}  // namespace lapwing
