#include "publisher/feeds/flow_book.h"

#include <bit>

namespace lapwing {

using dbn::Side;

FlowBook::FlowBook() : orders_(kOrdersMax) {
  free_.reserve(kOrdersMax);
  live_.reserve(kOrdersMax);
  for (std::uint32_t slot = kOrdersMax; slot-- > 0;) free_.push_back(slot);
}

std::uint32_t FlowBook::add(std::uint64_t id, Side side, std::uint32_t level, std::uint32_t size) {
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  orders_[slot] = {id, size, level, side, kNone, kNone, count()};
  live_.push_back(slot);
  ++half(side).count;
  enqueue(slot);
  return slot;
}

void FlowBook::remove(std::uint32_t slot) {
  dequeue(slot);
  const Order& order = orders_[slot];
  --half(order.side).count;
  orders_[live_.back()].live_index = order.live_index;
  live_[order.live_index] = live_.back();
  live_.pop_back();
  free_.push_back(slot);
}

void FlowBook::requeue(std::uint32_t slot, std::uint32_t level, std::uint32_t size) {
  dequeue(slot);
  orders_[slot].level = level;
  orders_[slot].size = size;
  enqueue(slot);
}

std::uint32_t FlowBook::best(Side side) const {
  const Half& here = half(side);
  return here.best == kNone ? kNone : here.queues[here.best].oldest;
}

std::uint32_t FlowBook::best_level(Side side) const {
  const std::uint32_t best = half(side).best;
  if (best != kNone) return best;
  return side == Side::kBid ? kLevels / 2 - 1 : kLevels / 2;
}

void FlowBook::enqueue(std::uint32_t slot) {
  Order& order = orders_[slot];
  Half& here = half(order.side);
  Queue& queue = here.queues[order.level];
  order.older = queue.newest;
  order.newer = kNone;
  (queue.newest == kNone ? queue.oldest : orders_[queue.newest].newer) = slot;
  queue.newest = slot;
  here.occupied[order.level / 64] |= std::uint64_t{1} << (order.level % 64);
  const bool better = here.best == kNone || (order.side == Side::kBid ? order.level > here.best
                                                                      : order.level < here.best);
  if (better) here.best = order.level;
}

void FlowBook::dequeue(std::uint32_t slot) {
  const Order& order = orders_[slot];
  Half& here = half(order.side);
  Queue& queue = here.queues[order.level];
  (order.older == kNone ? queue.oldest : orders_[order.older].newer) = order.newer;
  (order.newer == kNone ? queue.newest : orders_[order.newer].older) = order.older;
  if (queue.oldest != kNone) return;
  here.occupied[order.level / 64] &= ~(std::uint64_t{1} << (order.level % 64));
  if (here.best == order.level) here.best = find_best(order.side);
}

// The best occupied level, searched from the last best level towards worse prices.
std::uint32_t FlowBook::find_best(Side side) const {
  const Half& here = half(side);
  std::uint32_t word = here.best / 64;
  if (side == Side::kBid) {
    while (here.occupied[word] == 0) {
      if (word-- == 0) return kNone;
    }
    return word * 64 + 63 - static_cast<std::uint32_t>(std::countl_zero(here.occupied[word]));
  }
  while (here.occupied[word] == 0) {
    if (++word == here.occupied.size()) return kNone;
  }
  return word * 64 + static_cast<std::uint32_t>(std::countr_zero(here.occupied[word]));
}

}  // namespace lapwing
