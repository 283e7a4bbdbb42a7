#include "publisher/feeds/flow_clock.h"

#include <algorithm>

namespace lapwing {
namespace {

// The number of doublings of burst and packet sizes.
constexpr unsigned kBurstRungs = 12;
constexpr unsigned kPacketRungs = 11;

// The minimum gap between bursts: more than a millisecond, so that no millisecond contains parts of
// two bursts.
constexpr std::uint64_t kSilenceNsMin = 1'100'000;
constexpr std::uint32_t kSilenceStepNs = 370'000;
constexpr unsigned kSilenceRungs = 8;

// The minimum gap between the packets of a burst.
constexpr std::uint64_t kPacketGapNsMin = 1'100;
constexpr std::uint32_t kPacketGapNsSpread = 1'400;

constexpr std::uint32_t kEventGapNsMax = 20;      // between the events of a packet
constexpr std::uint64_t kLatencyNsMin = 200'000;  // from ts_event to ts_recv
constexpr std::uint32_t kLatencyNsSpread = 50'000;
constexpr std::uint32_t kSendDeltaNsMin = 12'000;  // from the venue's send to ts_recv
constexpr std::uint32_t kSendDeltaNsSpread = 8'000;

}  // namespace

void FlowClock::begin_event(Random& random) {
  if (!packet_open_) {
    if (burst_open_) {
      ts_recv_ += kPacketGapNsMin + random.below(kPacketGapNsSpread);
    } else {
      begin_burst(random);
    }
    begin_packet(random);
  }
  ts_event_ += 1 + random.below(kEventGapNsMax);
}

void FlowClock::begin_burst(Random& random) {
  ts_recv_ += kSilenceNsMin + std::uint64_t{kSilenceStepNs} * random.ladder(kSilenceRungs) +
              random.below(kSilenceStepNs);
  burst_target_ = std::min(random.ladder(kBurstRungs), kBurstRecordsMax);
  burst_records_ = 0;
  burst_open_ = true;
}

void FlowClock::begin_packet(Random& random) {
  packet_target_ = std::min(random.ladder(kPacketRungs), kPacketRecordsMax);
  packet_records_ = 0;
  packet_open_ = true;
  ts_event_ = std::max(ts_event_, ts_recv_ - kLatencyNsMin - random.below(kLatencyNsSpread));
  ts_in_delta_ = static_cast<std::int32_t>(kSendDeltaNsMin + random.below(kSendDeltaNsSpread));
  ++sequence_;
}

void FlowClock::end_event(std::uint32_t records) {
  burst_records_ += records;
  packet_records_ += records;
  burst_open_ =
      burst_records_ < burst_target_ && burst_records_ + kEventRecordsMax <= kBurstRecordsMax;
  packet_open_ = burst_open_ && packet_records_ < packet_target_ &&
                 packet_records_ + kEventRecordsMax <= kPacketRecordsMax;
}

}  // namespace lapwing
