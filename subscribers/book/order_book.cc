#include "lapwing/order_book.h"

#include "snapshot/fold/order_fold.h"

#include <algorithm>
#include <span>
#include <utility>

#include "snapshot/fold/entry_digest.h"

namespace lapwing {
namespace {

bool rests_on_level(const OrderEntry& entry) {
  return entry.msg.price != dbn::kUndefPrice &&
         (entry.msg.side == dbn::Side::kBid || entry.msg.side == dbn::Side::kAsk);
}

// A better price has a greater rank. ~ reverses the order without overflow.
std::int64_t rank(dbn::Side side, std::int64_t price) {
  return side == dbn::Side::kBid ? price : ~price;
}

}  // namespace

const PriceLevel* OrderBook::find_level(dbn::Side side, std::int64_t price) const {
  const PriceLadder& ladder = this->ladder(side);
  const std::size_t at = ladder.seek(rank(side, price));
  return ladder.holds(at, rank(side, price)) ? &levels_[ladder.level(at)].shown : nullptr;
}

const OrderEntry* OrderBook::find_order(std::uint64_t order_id) const {
  const auto found = slots_.find(order_id);
  return found == slots_.end() ? nullptr : &entries_[found->second];
}

void OrderBook::reserve(std::size_t orders, std::size_t levels) {
  slots_.reserve(orders);
  entries_.reserve(orders);
  links_.reserve(orders);
  levels_.reserve(2 * levels);
  bids_.reserve(levels);
  asks_.reserve(levels);
}

void OrderBook::put_order(const OrderEntry& entry) {
  const auto [found, is_new] = slots_.try_emplace(entry.msg.order_id, kNone);
  if (is_new) {
    found->second = add(entry);
  } else {
    change(found->second, entry);
  }
}

void OrderBook::erase_order(std::uint64_t order_id) {
  const auto found = slots_.find(order_id);
  if (found == slots_.end()) return;
  remove(found->second);
  slots_.erase(found);
}

void OrderBook::put_top(std::size_t index, const OrderEntry& entry) {
  if (tops_[index] == kNone) {
    tops_[index] = add(entry);
  } else {
    change(tops_[index], entry);
  }
}

void OrderBook::erase_top(std::size_t index) {
  if (tops_[index] == kNone) return;
  remove(tops_[index]);
  tops_[index] = kNone;
}

void OrderBook::note(Sequence sequence, const dbn::MboMsg& record) {
  last_sequence_ = sequence;
  last_ts_event_ = record.hd.ts_event;
  last_ts_recv_ = record.ts_recv;
}

std::uint32_t OrderBook::add(const OrderEntry& entry) {
  std::uint32_t slot = free_slot_;
  if (slot == kNone) {
    slot = static_cast<std::uint32_t>(entries_.size());
    entries_.push_back(entry);
    links_.emplace_back();
  } else {
    free_slot_ = links_[slot].next;
    entries_[slot] = entry;
    links_[slot] = {};
  }
  join_level(slot);
  return slot;
}

void OrderBook::change(std::uint32_t slot, const OrderEntry& entry) {
  OrderEntry& old = entries_[slot];
  const bool keeps_place = old.place == entry.place && old.msg.price == entry.msg.price &&
                           old.msg.side == entry.msg.side;
  if (!keeps_place) leave_level(slot);
  if (keeps_place && links_[slot].level != kNone) {
    levels_[links_[slot].level].shown.size += std::uint64_t{entry.msg.size} - old.msg.size;
  }
  old = entry;
  if (!keeps_place) join_level(slot);
}

void OrderBook::remove(std::uint32_t slot) {
  leave_level(slot);
  links_[slot].next = free_slot_;
  free_slot_ = slot;
}

std::uint32_t OrderBook::take_level(dbn::Side side, std::int64_t price) {
  std::uint32_t index = free_level_;
  if (index == kNone) {
    index = static_cast<std::uint32_t>(levels_.size());
    levels_.emplace_back();
  } else {
    free_level_ = levels_[index].last;
  }
  levels_[index] = {};
  levels_[index].shown.price = price;
  levels_[index].side = side;
  return index;
}

void OrderBook::join_level(std::uint32_t slot) {
  const OrderEntry& entry = entries_[slot];
  if (!rests_on_level(entry)) return;
  PriceLadder& ladder = this->ladder(entry.msg.side);
  const std::int64_t wanted = rank(entry.msg.side, entry.msg.price);
  std::size_t at = ladder.seek(wanted);
  if (!ladder.holds(at, wanted)) {
    ladder.insert(at, {wanted, take_level(entry.msg.side, entry.msg.price)});
    ++at;
  }
  const std::uint32_t index = ladder.level(at);
  Level& level = levels_[index];
  links_[slot] = {level.last, kNone, index};
  if (level.last == kNone) {
    level.first = slot;
  } else {
    links_[level.last].next = slot;
    if (entries_[level.last].place >= entry.place) level.in_order = false;
  }
  level.last = slot;
  level.shown.size += entry.msg.size;
  if (kind_of(entry) != OrderEntryKind::kTop) ++level.shown.orders;
}

void OrderBook::leave_level(std::uint32_t slot) {
  const Link link = links_[slot];
  if (link.level == kNone) return;
  Level& level = levels_[link.level];
  (link.previous == kNone ? level.first : links_[link.previous].next) = link.next;
  (link.next == kNone ? level.last : links_[link.next].previous) = link.previous;
  links_[slot] = {};
  level.shown.size -= entries_[slot].msg.size;
  if (kind_of(entries_[slot]) != OrderEntryKind::kTop) --level.shown.orders;
  if (level.first == kNone) drop_level(link.level);
}

void OrderBook::drop_level(std::uint32_t index) {
  Level& level = levels_[index];
  PriceLadder& ladder = this->ladder(level.side);
  ladder.erase(ladder.seek(rank(level.side, level.shown.price)));
  level.last = free_level_;
  free_level_ = index;
}

// Orders arrive out of order only while a state, which is sorted by order id, is loaded. In that
// case, sorting a queue once is cheaper than searching for each order's place.
void OrderBook::sort_queue(const Level& level) const {
  std::vector<std::uint32_t> queue;
  for (std::uint32_t at = level.first; at != kNone; at = links_[at].next) queue.push_back(at);
  std::ranges::sort(queue, [this](std::uint32_t a, std::uint32_t b) {
    const OrderEntry& left = entries_[a];
    const OrderEntry& right = entries_[b];
    return left.place != right.place ? left.place < right.place
                                     : left.msg.order_id < right.msg.order_id;
  });
  for (std::size_t i = 0; i < queue.size(); ++i) {
    links_[queue[i]].previous = i == 0 ? kNone : queue[i - 1];
    links_[queue[i]].next = i + 1 == queue.size() ? kNone : queue[i + 1];
  }
  level.first = queue.front();
  level.last = queue.back();
  level.in_order = true;
}

void OrderBook::for_each_entry(const std::function<void(const OrderEntry& entry)>& use) const {
  if (state_) use(*state_);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> sorted(slots_.begin(), slots_.end());
  std::ranges::sort(sorted);
  for (const auto& [order_id, slot] : sorted) use(entries_[slot]);
  for (const std::uint32_t slot : tops_) {
    if (slot != kNone) use(entries_[slot]);
  }
}

std::uint64_t OrderBook::digest() const {
  EntryDigest digest;
  for_each_entry([&](const OrderEntry& entry) { digest.add(std::as_bytes(std::span(&entry, 1))); });
  return digest.value();
}

}  // namespace lapwing
