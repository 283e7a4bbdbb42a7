// Generates the events of the synthetic feed: a deterministic order flow that a venue could have
// sent.
//
// An event is a clear, an addition, a modification, a full or partial cancel, or a trade. A trade
// has, for each price level, a T for the aggressor and an F for each order it filled. Next come the
// changes to those orders (C or M), and an A if the aggressor's remainder stays in the book. Every
// record refers to a live order that is large enough, and trades fill the oldest order at the best
// price. No event leaves a crossed book, and the last record of each event has kFlagLast. A price
// change or a size increase moves an order to the back of the queue.
// Thread safety: one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lapwing/dbn.h"
#include "publisher/feeds/flow_book.h"
#include "publisher/feeds/flow_clock.h"
#include "publisher/feeds/random.h"

namespace lapwing {

class OrderFlow {
 public:
  static constexpr std::uint32_t kEventRecordsMax = FlowClock::kEventRecordsMax;
  static constexpr std::int64_t kTick = 250'000'000;                   // 0.25
  static constexpr std::int64_t kPriceMin = 3'500 * dbn::kPriceScale;  // the price of level 0
  static constexpr std::uint16_t kPublisherId = 60'000;                // not used by a venue

  // The ids of the instruments are 1 … `instruments`.
  OrderFlow(std::uint64_t seed, std::uint32_t instruments);

  // Writes the next event, at most kEventRecordsMax records, or exactly one if `single`. Returns
  // the number of records.
  std::uint32_t next_event(dbn::MboMsg* out, bool single);

  // False if the last event completed its packet, so the next record arrives later.
  bool packet_open() const { return clock_.packet_open(); }

 private:
  // The destination of an event's records, and the number written so far.
  struct Event {
    dbn::MboMsg* out;
    std::uint32_t count = 0;
  };
  struct Fill {
    FlowBook::Order order;  // before the fill
    std::uint32_t size;
  };
  static constexpr std::uint32_t kTradeLevelsMax = 3;
  static constexpr std::uint32_t kFillsMax = 28;
  static_assert(kTradeLevelsMax + 2 * kFillsMax + 1 <= kEventRecordsMax);

  void write(Event& event, dbn::Action action, dbn::Side side, std::uint64_t order_id,
             std::int64_t price, std::uint32_t size);
  void clear(Event& event);
  void decide(Event& event, bool single);
  void add(Event& event, dbn::Side side);
  void cancel(Event& event);
  void cancel_part(Event& event, std::uint32_t slot);
  void modify(Event& event);
  void trade(Event& event);
  std::uint32_t match(dbn::Side aggressor, std::uint32_t limit, std::uint32_t& size);
  void report_fills(Event& event, dbn::Side aggressor, std::uint64_t order_id,
                    std::uint32_t fill_count);
  void settle_fills(Event& event, std::uint32_t fill_count);
  std::uint32_t passive_level(dbn::Side side);
  dbn::Side aggressor_side();

  Random random_;
  FlowClock clock_;
  std::vector<FlowBook> books_;
  FlowBook* book_ = nullptr;         // of the event's instrument, one per packet
  std::uint32_t instrument_id_ = 0;  // of that book
  std::uint32_t cleared_ = 0;        // instruments whose clear was written
  std::uint64_t next_order_id_ = 1;
  std::array<Fill, kFillsMax> fills_;
};

}  // namespace lapwing
