// Tells the publisher where a subscriber is: on a change at most every kReportNsMin, otherwise
// every kReportNsMax; and how old records are, every kLatencyReportNs. Never blocks; a report that
// does not fit into the socket is dropped.
//
// Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "bus/control/client.h"
#include "lapwing/ages.h"
#include "lapwing/sequence.h"
#include "lapwing/subscriber.h"
#include "lapwing/waiting.h"
#include "proto/control_frames.h"

namespace lapwing {

inline constexpr std::uint64_t kReportNsMin = 100'000'000;
inline constexpr std::uint64_t kReportNsMax = 5'000'000'000;
inline constexpr std::uint64_t kLatencyReportNs = 1'000'000'000;

class Reporter {
 public:
  Reporter(WaitStrategy wait, OnGap on_gap) : wait_(wait), on_gap_(on_gap) {}

  // Reports if it is time to. `position` is the last sequence delivered or passed over, `head` the
  // newest that is published, as far as the subscriber sees.
  void report(ControlClient& control, std::uint64_t now_ns, Sequence position, Sequence head,
              const SubscriberCounters& counters, ClientState state) {
    const bool changed = position != position_ || state != state_;
    if (now_ns - reported_ns_ < (changed ? kReportNsMin : kReportNsMax)) return;
    reported_ns_ = now_ns;
    send(control, position, head, counters, state);
  }

  // Reports at once: the last word before the socket is closed.
  void send(ControlClient& control, Sequence position, Sequence head,
            const SubscriberCounters& counters, ClientState state) {
    position_ = position;
    state_ = state;
    ReportFrame frame = make_frame<ReportFrame>(FrameType::kReport);
    frame.position = position;
    frame.head = std::max(head, position);  // head moves behind a batch that is being published
    frame.records = counters.records;
    frame.gaps = counters.gaps;
    frame.lost = counters.lost;
    frame.filled = counters.filled;
    frame.state = state;
    frame.wait = static_cast<std::uint32_t>(wait_);
    frame.on_gap = static_cast<std::uint32_t>(on_gap_);
    frame.gaps_before = gaps_before_;
    frame.lost_before = lost_before_;
    control.report(frame);
  }

  // Reports the ages of records, one in `every` of which is measured, where there are new ones.
  void report_ages(ControlClient& control, std::uint64_t now_ns, const Ages& ages,
                   std::uint64_t every) {
    const std::uint64_t measured = ages.age_ns.count() + ages.negative + ages.unstamped;
    if (measured == measured_ || now_ns - ages_reported_ns_ < kLatencyReportNs) return;
    ages_reported_ns_ = now_ns;
    measured_ = measured;
    LatencyReportFrame frame = make_frame<LatencyReportFrame>(FrameType::kLatencyReport);
    frame.every = every;
    frame.sum_ns = ages.age_ns.sum();
    frame.max_ns = ages.age_ns.max();
    frame.negative = ages.negative;
    frame.unstamped = ages.unstamped;
    std::ranges::copy(ages.age_ns.counts(), frame.counts);
    control.report(frame);
  }

  // A new session has heard nothing yet, and `counters` are of before it.
  void restart(const SubscriberCounters& counters) {
    reported_ns_ = 0;
    ages_reported_ns_ = 0;
    measured_ = 0;
    gaps_before_ = counters.gaps;
    lost_before_ = counters.lost;
  }

 private:
  const WaitStrategy wait_;
  const OnGap on_gap_;
  std::uint64_t gaps_before_ = 0;
  std::uint64_t lost_before_ = 0;
  Sequence position_ = kNoSequence;
  ClientState state_ = ClientState::kJoining;
  std::uint64_t reported_ns_ = 0;
  std::uint64_t ages_reported_ns_ = 0;
  std::uint64_t measured_ = 0;  // records whose ages were reported
};
static_assert(kLatencyCounts == AgeHistogram::kBuckets);

}  // namespace lapwing
