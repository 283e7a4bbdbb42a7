// Counts the whole program's allocations, so no other test may run at the same time.
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "lapwing/order_books.h"
#include "testing/counted_allocations.h"

namespace lapwing {
namespace {

constexpr std::size_t kOrders = 3000;  // resting at a time
constexpr std::int64_t kPrices = 400;

// Adds, changes and cancels orders around a target number, with an occasional clear.
class Flow {
 public:
  explicit Flow(OrderBooks& books) : books_(books) { ids_.reserve(2 * kOrders); }

  void run(std::uint64_t records) {
    for (std::uint64_t i = 0; i < records; ++i) {
      if (++n_ % 50'000 == 0) {
        ids_.clear();
        apply(dbn::Action::kClear, 0);
      } else if (ids_.size() < kOrders && random_() % 2 == 0) {
        ids_.push_back(n_);
        apply(dbn::Action::kAdd, n_);
      } else if (!ids_.empty()) {
        std::swap(ids_[random_() % ids_.size()], ids_.back());
        const bool goes = random_() % 3 != 0;
        apply(goes ? dbn::Action::kCancel : dbn::Action::kModify, ids_.back());
        if (goes) ids_.pop_back();
      } else {
        apply(dbn::Action::kNone, 0);
      }
    }
  }

 private:
  void apply(dbn::Action action, std::uint64_t id) {
    dbn::MboMsg record{};
    record.hd.instrument_id = 7;
    record.order_id = id;
    record.price = static_cast<std::int64_t>(random_() % kPrices);
    record.size = action == dbn::Action::kCancel ? 100 : static_cast<std::uint32_t>(1 + n_ % 50);
    record.action = action;
    record.side = id % 2 == 0 ? dbn::Side::kBid : dbn::Side::kAsk;
    record.flags = n_ % 3 == 0 ? dbn::kFlagLast : 0;
    (void)books_.apply(n_, std::as_bytes(std::span(&record, 1)));
  }

  OrderBooks& books_;
  std::mt19937_64 random_{1};
  std::vector<std::uint64_t> ids_;
  Sequence n_ = 0;
};

TEST_CASE("a book that has been as large as it gets allocates nothing more") {
  OrderBooks books;
  Flow flow(books);
  flow.run(200'000);
  const std::uint64_t before = allocations;
  REQUIRE(before > 0);
  flow.run(200'000);
  const std::uint64_t after = allocations;
  CHECK(after == before);
}

TEST_CASE("with room from the start only the book itself is allocated") {
  OrderBooks books({2 * kOrders, kPrices});
  Flow flow(books);
  flow.run(1);
  const std::uint64_t before = allocations;
  flow.run(200'000);
  const std::uint64_t after = allocations;
  CHECK(after == before);
}

}  // namespace
}  // namespace lapwing
