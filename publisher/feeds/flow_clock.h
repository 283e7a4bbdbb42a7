// Computes the event times of the synthetic flow. Events form packets, packets form bursts, and
// bursts are separated by silences.
//
// A burst has at most kBurstRecordsMax records. It nearly always lasts less than a millisecond, and
// is more than a millisecond away from the next. The mean rate per millisecond is about a
// thousandth of that maximum. All records in a packet arrive together (ts_recv, sequence), but its
// events happened one after the other (ts_event).
//
// Thread safety: one thread.
#pragma once

#include <cstdint>

#include "publisher/feeds/random.h"

namespace lapwing {

class FlowClock {
 public:
  static constexpr std::uint32_t kEventRecordsMax = 64;
  static constexpr std::uint32_t kBurstRecordsMax = 2'640;
  static constexpr std::uint32_t kPacketRecordsMax = 1'200;
  static constexpr std::uint64_t kStartNs = 1'704'205'800'000'000'000;  // 2024-01-02 14:30 UTC

  // Advances to the next event.
  void begin_event(Random& random);
  // Ends the event, which has `records` records, at most kEventRecordsMax.
  void end_event(std::uint32_t records);

  // False if the last event completed its packet.
  bool packet_open() const { return packet_open_; }

  std::uint64_t ts_recv() const { return ts_recv_; }
  std::uint64_t ts_event() const { return ts_event_; }
  std::int32_t ts_in_delta() const { return ts_in_delta_; }
  std::uint32_t sequence() const { return sequence_; }  // of the packet, from 1

 private:
  void begin_burst(Random& random);
  void begin_packet(Random& random);

  std::uint64_t ts_recv_ = kStartNs;
  std::uint64_t ts_event_ = 0;
  std::int32_t ts_in_delta_ = 0;
  std::uint32_t sequence_ = 0;
  std::uint32_t burst_target_ = 0;  // records
  std::uint32_t burst_records_ = 0;
  std::uint32_t packet_target_ = 0;
  std::uint32_t packet_records_ = 0;
  bool burst_open_ = false;
  bool packet_open_ = false;
};

}  // namespace lapwing
