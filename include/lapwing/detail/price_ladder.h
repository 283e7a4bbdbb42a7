// The prices of one side of a book: a sorted array whose end is the best price.
//
// Why an array: most changes are within a few ticks of the touch. There a price is found by
// comparing a few neighbours, and one that comes or goes moves a few neighbours; the best is the
// last element. Far from the touch a price is found by halving, and one that comes or goes there
// moves every better one (16 bytes each: a thousand of them in the time of one cache miss).
//
// A rank orders prices so that the better one is greater, on both sides.
//
// Invariants: ranks rise strictly. No allocation once it has been as long as it gets.
// Thread safety: one thread.
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
    std::uint32_t level;  // whatever the owner keeps of it
  };

  std::size_t size() const { return rungs_.size(); }
  // 0 is the best.
  const Rung& operator[](std::size_t index) const { return rungs_[rungs_.size() - 1 - index]; }

  // Where the rank stands if holds() says so, and where it would be inserted if not.
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
  static constexpr std::size_t kNearRungs = 32;  // looked at one by one

  std::vector<Rung> rungs_;
};

}  // namespace lapwing
