// The view of a dbn.mbo bus: an instrument's order book, its last trades, and the best prices of
// all instruments.
//
// Thread safety: the view's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lapwing/dbn.h"
#include "lapwing/order_books.h"
#include "monitor/view/book_format.h"
#include "monitor/view/memory_budget.h"
#include "monitor/view/view_content.h"

namespace lapwing {

inline constexpr std::size_t kViewDepth = 20;  // levels per side
inline constexpr std::size_t kViewTrades = 50;
inline constexpr std::size_t kViewInstrumentsMax = 256;  // in a message
inline constexpr std::size_t kViewBooksMax = 65'536;
// Approximate memory per order and per book, for the budget.
inline constexpr std::uint64_t kViewOrderBytes = 256;
inline constexpr std::uint64_t kViewBookBytes = 5 * 1024;  // with its trades

class ViewBooks final : public ViewContent {
 public:
  ViewBooks(std::string bus, std::shared_ptr<MemoryBudget> budget)
      : bus_(std::move(bus)), share_(std::move(budget)), format_(bus_) {}

  absl::Status take_state(std::span<const std::byte> entry, const Fold& fold) override;
  absl::Status take_records(Sequence first, std::span<const std::byte> rows,
                            std::size_t record_bytes) override;
  void take_event(const Event& event, bool is_skipped) override;
  bool is_settled() const override { return books_.settled(); }
  Sequence sequence() const override { return books_.sequence(); }
  void prepare() override;
  void add_to(nlohmann::ordered_json& message, const std::string& instrument) override;

 private:
  using BookId = std::uint64_t;  // publisher, instrument
  struct Trade {
    Sequence sequence = kNoSequence;
    dbn::MboMsg record;
  };
  struct Activity {
    std::uint64_t changes = 0;  // records
    std::uint64_t seen_ns = 0;  // when the last of them was taken, CLOCK_MONOTONIC
    std::deque<Trade> trades;   // the newest last
  };

  absl::Status check_limits();
  std::uint64_t changes(const OrderBook& book) const;
  const OrderBook* find(const std::string& instrument);
  const OrderBook* busiest();
  nlohmann::ordered_json trades_json(const OrderBook& book) const;
  nlohmann::ordered_json quote_json(const OrderBook& book, const std::string& symbol) const;

  const std::string bus_;
  MemoryBudget::Share share_;
  OrderBooks books_;
  BookFormat format_;  // with the symbols of this session
  absl::flat_hash_map<BookId, Activity> activity_;
  std::uint64_t unchecked_ = 0;  // records and entries since the limits were checked
  BookId busiest_ = 0;           // the last one shown

  // Prepared for the messages of one interval.
  std::vector<const OrderBook*> shown_;  // by publisher, then by instrument
  nlohmann::ordered_json instruments_;
  nlohmann::ordered_json quotes_;
};

}  // namespace lapwing
