#include "publisher/feeds/order_flow.h"

#include <algorithm>

namespace lapwing {
namespace {

using dbn::Action;
using dbn::Side;

constexpr std::uint32_t kSideOrdersMin = 32;        // if fewer, only additions to that side
constexpr std::uint32_t kBookOrdersWanted = 1'024;  // both sides; if fewer, more additions

// The number of events of each kind per 1,024. The rest are modifications.
constexpr std::uint32_t kOutOf = 1'024;
constexpr std::uint32_t kAddsSparse = 500;
constexpr std::uint32_t kAddsDense = 390;
constexpr std::uint32_t kCancels = 300;
constexpr std::uint32_t kTrades = 60;

// Distance from the best price, in ticks: usually small, sometimes large.
constexpr std::uint32_t kDistanceNear = 16;
constexpr unsigned kDistanceRungs = 9;

constexpr unsigned kOrderSizeRungs = 6;  // up to 63
constexpr unsigned kTradeSizeRungs = 8;  // up to 255

constexpr Side opposite(Side side) {
  return side == Side::kBid ? Side::kAsk : Side::kBid;
}

constexpr std::int64_t price_of(std::uint32_t level) {
  return OrderFlow::kPriceMin + std::int64_t{level} * OrderFlow::kTick;
}

// True if an order at `level` on `side` would trade with one at `other` on the other side.
constexpr bool crosses(Side side, std::uint32_t level, std::uint32_t other) {
  return side == Side::kBid ? level >= other : level <= other;
}

}  // namespace

OrderFlow::OrderFlow(std::uint64_t seed, std::uint32_t instruments)
    : random_(seed), books_(instruments) {}

std::uint32_t OrderFlow::next_event(dbn::MboMsg* out, bool single) {
  const bool new_packet = !clock_.packet_open();
  clock_.begin_event(random_);
  if (new_packet) {
    const std::uint32_t index = random_.below(static_cast<std::uint32_t>(books_.size()));
    book_ = &books_[index];
    instrument_id_ = index + 1;
  }
  Event event{out};
  if (cleared_ < books_.size()) {
    clear(event);
  } else {
    decide(event, single);
  }
  out[event.count - 1].flags = dbn::kFlagLast;
  clock_.end_event(event.count);
  return event.count;
}

void OrderFlow::write(Event& event, Action action, Side side, std::uint64_t order_id,
                      std::int64_t price, std::uint32_t size) {
  dbn::MboMsg& record = event.out[event.count++];
  record.hd = {sizeof(dbn::MboMsg) / dbn::kLengthUnit, dbn::RType::kMbo, kPublisherId,
               instrument_id_, clock_.ts_event()};
  record.order_id = order_id;
  record.price = price;
  record.size = size;
  record.flags = 0;
  record.channel_id = 0;
  record.action = action;
  record.side = side;
  record.ts_recv = clock_.ts_recv();
  record.ts_in_delta = clock_.ts_in_delta();
  record.sequence = clock_.sequence();
}

// Writes a clear. The flow begins with one for each instrument, because the books start empty.
void OrderFlow::clear(Event& event) {
  book_ = &books_[cleared_];
  instrument_id_ = ++cleared_;
  write(event, Action::kClear, Side::kNone, 0, dbn::kUndefPrice, 0);
}

void OrderFlow::decide(Event& event, bool single) {
  if (book_->count(Side::kBid) < kSideOrdersMin) return add(event, Side::kBid);
  if (book_->count(Side::kAsk) < kSideOrdersMin) return add(event, Side::kAsk);
  const std::uint32_t adds = book_->count() < kBookOrdersWanted ? kAddsSparse : kAddsDense;
  const std::uint32_t draw = random_.below(kOutOf);
  if (draw < adds && !book_->full()) {
    return add(event, random_.below(2) == 0 ? Side::kBid : Side::kAsk);
  }
  if (draw < adds + kCancels) return cancel(event);
  if (draw < adds + kCancels + kTrades && !single) return trade(event);
  modify(event);
}

// Returns a level for a resting order: usually at or near the best price, sometimes better, never
// crossing.
std::uint32_t OrderFlow::passive_level(Side side) {
  const std::uint32_t best = book_->best_level(side);
  const std::uint32_t other = book_->best_level(opposite(side));
  const std::uint32_t distance = random_.below(kDistanceNear) + random_.ladder(kDistanceRungs) - 1;
  const std::uint32_t spread = side == Side::kBid ? other - best : best - other;
  const std::uint32_t better = spread > 1 ? random_.below(2) : 0;
  if (side == Side::kBid) return best + better > distance ? best + better - distance : 0;
  return std::min(best - better + distance, FlowBook::kLevels - 1);
}

void OrderFlow::add(Event& event, Side side) {
  const std::uint32_t level = passive_level(side);
  const std::uint32_t size = random_.ladder(kOrderSizeRungs);
  const std::uint64_t order_id = next_order_id_++;
  book_->add(order_id, side, level, size);
  write(event, Action::kAdd, side, order_id, price_of(level), size);
}

void OrderFlow::cancel(Event& event) {
  const std::uint32_t slot = book_->live(random_.below(book_->count()));
  const FlowBook::Order order = book_->order(slot);
  if (order.size > 1 && random_.below(8) == 0) return cancel_part(event, slot);
  book_->remove(slot);
  write(event, Action::kCancel, order.side, order.id, price_of(order.level), order.size);
}

void OrderFlow::cancel_part(Event& event, std::uint32_t slot) {
  const FlowBook::Order order = book_->order(slot);
  const std::uint32_t part = 1 + random_.below(order.size - 1);
  book_->resize(slot, order.size - part);
  write(event, Action::kCancel, order.side, order.id, price_of(order.level), part);
}

void OrderFlow::modify(Event& event) {
  const std::uint32_t slot = book_->live(random_.below(book_->count()));
  const FlowBook::Order order = book_->order(slot);
  const bool reprice = random_.below(2) == 0;
  const std::uint32_t level = reprice ? passive_level(order.side) : order.level;
  std::uint32_t size = order.size;
  if (level == order.level) {
    const bool grow = size == 1 || random_.below(2) == 0;
    size = grow ? size + random_.ladder(kOrderSizeRungs) : 1 + random_.below(size - 1);
  }
  if (level != order.level || size > order.size) {
    book_->requeue(slot, level, size);
  } else {
    book_->resize(slot, size);
  }
  write(event, Action::kModify, order.side, order.id, price_of(level), size);
}

// The further the price has fallen below the middle of the levels, the more likely the aggressor
// buys. So the price never leaves the range of levels.
Side OrderFlow::aggressor_side() {
  const std::int64_t middle = FlowBook::kLevels / 2;
  const std::int64_t fallen = middle - std::int64_t{book_->best_level(Side::kBid)};
  const std::int64_t buyers = std::clamp<std::int64_t>(kOutOf / 2 + fallen, 0, kOutOf);
  return random_.below(kOutOf) < static_cast<std::uint32_t>(buyers) ? Side::kBid : Side::kAsk;
}

void OrderFlow::trade(Event& event) {
  const Side side = aggressor_side();
  const std::uint32_t reach = random_.below(kTradeLevelsMax);
  const std::uint32_t best = book_->best_level(opposite(side));
  const std::uint32_t limit = side == Side::kBid ? std::min(best + reach, FlowBook::kLevels - 1)
                                                 : best - std::min(best, reach);
  std::uint32_t size = random_.ladder(kTradeSizeRungs);
  const std::uint64_t order_id = next_order_id_++;
  const std::uint32_t fill_count = match(side, limit, size);
  report_fills(event, side, order_id, fill_count);
  settle_fills(event, fill_count);
  // An unfilled remainder stays in the book at the aggressor's limit, unless that would cross.
  const bool rests =
      size > 0 && !book_->full() && !crosses(side, limit, book_->best_level(opposite(side)));
  if (!rests) return;
  book_->add(order_id, side, limit, size);
  write(event, Action::kAdd, side, order_id, price_of(limit), size);
}

// Finds the resting orders that an aggressor of `size` matches up to its limit, best price and
// oldest first. Removes them from the book or reduces them, and leaves the unfilled quantity in
// `size`. Returns the number of fills.
std::uint32_t OrderFlow::match(Side aggressor, std::uint32_t limit, std::uint32_t& size) {
  const Side side = opposite(aggressor);
  std::uint32_t fill_count = 0;
  while (size > 0 && fill_count < kFillsMax && book_->count(side) > kSideOrdersMin / 2 &&
         crosses(aggressor, limit, book_->best_level(side))) {
    const std::uint32_t slot = book_->best(side);
    const FlowBook::Order& order = book_->order(slot);
    const std::uint32_t filled = std::min(size, order.size);
    fills_[fill_count++] = {order, filled};
    size -= filled;
    if (filled == order.size) {
      book_->remove(slot);
    } else {
      book_->resize(slot, order.size - filled);
    }
  }
  return fill_count;
}

// Writes a T for each price level, followed by an F for each order filled at that level.
void OrderFlow::report_fills(Event& event, Side aggressor, std::uint64_t order_id,
                             std::uint32_t fill_count) {
  for (std::uint32_t first = 0, next = 0; first < fill_count; first = next) {
    const std::uint32_t level = fills_[first].order.level;
    std::uint32_t traded = 0;
    for (next = first; next < fill_count && fills_[next].order.level == level; ++next) {
      traded += fills_[next].size;
    }
    write(event, Action::kTrade, aggressor, order_id, price_of(level), traded);
    for (std::uint32_t i = first; i < next; ++i) {
      const Fill& fill = fills_[i];
      write(event, Action::kFill, fill.order.side, fill.order.id, price_of(level), fill.size);
    }
  }
}

// Writes what the fills changed: each order is cancelled or reduced.
void OrderFlow::settle_fills(Event& event, std::uint32_t fill_count) {
  for (std::uint32_t i = 0; i < fill_count; ++i) {
    const Fill& fill = fills_[i];
    const bool whole = fill.size == fill.order.size;
    write(event, whole ? Action::kCancel : Action::kModify, fill.order.side, fill.order.id,
          price_of(fill.order.level), whole ? fill.size : fill.order.size - fill.size);
  }
}

}  // namespace lapwing
