// The prices of one side of a book: a sorted array whose end is the best price.
//
// It is an array because most changes are within a few ticks of the best price, which is the last
// element. There, a search compares a few neighbours, and an insertion or removal moves a few. Far
// from the best price, a binary search finds the price, and an insertion or removal moves all
// better prices. Each price takes 16 bytes, and moving a thousand takes as long as one cache miss.
//
// A rank orders prices on both sides: the better price has the higher rank.
//
// Invariant: ranks are strictly increasing. Does not allocate after it has reached its largest
// size. Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing {

class PriceLadder {
 public:
  struct Rung {
    std::int64_t rank;
    std::uint32_t level;  // a number for the owner
  };

  std::size_t size() const { return rungs_.size(); }
  // Index 0 is the best price.
  const Rung& operator[](std::size_t index) const { return rungs_[rungs_.size() - 1 - index]; }

  // Returns the position of the rank if holds() is true there, else the position at which to insert
  // it.
  std::size_t seek(std::int64_t rank) const {
    std::size_t at = rungs_.size();
    const std::size_t near = at > kNearRungs ? at - kNearRungs : 0;
    while (at > near && rungs_[at - 1].rank > rank) --at;
    if (at > near || near == 0) return at;
    const auto after =
        std::upper_bound(rungs_.begin(), rungs_.begin() + static_cast<std::ptrdiff_t>(near), rank,
                         [](std::int64_t value, const Rung& rung) { return value < rung.rank; });
    return static_cast<std::size_t>(after - rungs_.begin());
  }
  bool holds(std::size_t at, std::int64_t rank) const {
    return at > 0 && rungs_[at - 1].rank == rank;
  }
  std::uint32_t level(std::size_t at) const { return rungs_[at - 1].level; }

  void insert(std::size_t at, Rung rung) {
    rungs_.insert(rungs_.begin() + static_cast<std::ptrdiff_t>(at), rung);
  }
  void erase(std::size_t at) { rungs_.erase(rungs_.begin() + static_cast<std::ptrdiff_t>(at) - 1); }
  void clear() { rungs_.clear(); }
  void reserve(std::size_t rungs) { rungs_.reserve(rungs); }

 private:
  static constexpr std::size_t kNearRungs = 32;  // compared one by one

  std::vector<Rung> rungs_;
};

}  // namespace lapwing
