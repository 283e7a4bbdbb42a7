// The approximate memory that the books of all views in a process may use together. Each view
// declares how much its own books use, and an amount that exceeds the budget is refused.
//
// Thread safety: any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace lapwing {

inline constexpr std::uint64_t kViewBookBytesMax = 1 << 30;

class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t most) : most_(most) {}

  // One view's share of the memory; its destructor returns it. Thread safety: one thread.
  class Share {
   public:
    explicit Share(std::shared_ptr<MemoryBudget> budget) : budget_(std::move(budget)) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() { budget_->replace(bytes_, 0); }

    // Sets the bytes in use. Returns false if the budget does not allow it; in that case, the share
    // keeps its previous amount.
    bool set(std::uint64_t bytes) {
      if (!budget_->replace(bytes_, bytes)) return false;
      bytes_ = bytes;
      return true;
    }
    std::uint64_t most() const { return budget_->most_; }

   private:
    const std::shared_ptr<MemoryBudget> budget_;
    std::uint64_t bytes_ = 0;
  };

 private:
  bool replace(std::uint64_t before, std::uint64_t now) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t others = taken_ - before;
    if (now > before && now > most_ - std::min(most_, others)) return false;
    taken_ = others + now;
    return true;
  }

  const std::uint64_t most_;
  std::mutex mutex_;
  std::uint64_t taken_ = 0;
};

}  // namespace lapwing
