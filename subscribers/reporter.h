// Reports a subscriber's position to the publisher: at most every kReportNsMin after a change,
// otherwise every kReportNsMax. Reports record ages every kLatencyReportNs. Never blocks; a report
// that does not fit into the socket is dropped.
//
// Thread safety: one thread. Borrows the options and the stream.
#pragma once

#include <algorithm>
#include <cstdint>

#include "bus/control/client.h"
#include "lapwing/ages.h"
#include "proto/control_frames.h"
#include "subscribers/stream.h"

namespace lapwing {

inline constexpr std::uint64_t kReportNsMin = 100'000'000;
inline constexpr std::uint64_t kReportNsMax = 5'000'000'000;
inline constexpr std::uint64_t kLatencyReportNs = 1'000'000'000;

class Reporter {
 public:
  Reporter(const SubscriberOptions& options, const Stream& stream)
      : options_(options), stream_(stream), counters_(stream.cursor.ledger.counters()) {}

  // Reports if a report is due.
  void report(ControlClient& control, std::uint64_t now_ns) {
    const bool is_live = stream_.cursor.phase == Phase::kLive;
    ClientState state = is_live ? ClientState::kLive : ClientState::kFilling;
    if (!stream_.backlog.caught_up()) state = ClientState::kJoining;
    const bool changed = stream_.cursor.next - 1 != position_ || state != state_;
    if (now_ns - reported_ns_ < (changed ? kReportNsMin : kReportNsMax)) return;
    reported_ns_ = now_ns;
    send(control, state);
  }

  // Reports at once. This is the last report before the socket is closed.
  void send(ControlClient& control, ClientState state) {
    position_ = stream_.cursor.next - 1;
    state_ = state;
    ReportFrame frame = make_frame<ReportFrame>(FrameType::kReport);
    frame.position = position_;
    // Head advances only after a batch was published.
    frame.head = std::max(stream_.head(), position_);
    frame.records = counters_.records;
    frame.gaps = counters_.gaps;
    frame.lost = counters_.lost;
    frame.filled = counters_.filled;
    frame.state = state;
    frame.wait = static_cast<std::uint32_t>(options_.wait);
    frame.on_gap = static_cast<std::uint32_t>(options_.on_gap);
    frame.gaps_before = gaps_before_;
    frame.lost_before = lost_before_;
    control.report(frame);
  }

  // Reports record ages if there are new ones and a report is due.
  void report_ages(ControlClient& control, std::uint64_t now_ns, const Ages& ages) {
    const std::uint64_t measured = ages.age_ns.count() + ages.negative + ages.unstamped;
    if (measured == measured_ || now_ns - ages_reported_ns_ < kLatencyReportNs) return;
    ages_reported_ns_ = now_ns;
    measured_ = measured;
    LatencyReportFrame frame = make_frame<LatencyReportFrame>(FrameType::kLatencyReport);
    frame.every = options_.measure_every;
    frame.sum_ns = ages.age_ns.sum();
    frame.max_ns = ages.age_ns.max();
    frame.negative = ages.negative;
    frame.unstamped = ages.unstamped;
    std::ranges::copy(ages.age_ns.counts(), frame.counts);
    control.report(frame);
  }

  // Call it when another session is attached. The counters so far belong to earlier sessions.
  void restart() {
    reported_ns_ = 0;
    ages_reported_ns_ = 0;
    measured_ = 0;
    gaps_before_ = counters_.gaps;
    lost_before_ = counters_.lost;
  }

 private:
  const SubscriberOptions& options_;
  const Stream& stream_;
  const SubscriberCounters& counters_;
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
