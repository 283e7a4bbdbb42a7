// For tests: the expected books, computed in a simple way from the entries of a state.
//
// Thread safety: one thread.
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lapwing/order_books.h"
#include "snapshot/fold/entry_digest.h"
#include "snapshot/fold/order_fold.h"

namespace lapwing {

// The simplest possible state.
class NaiveState : public FoldState {
 public:
  const std::byte* find(std::span<const std::byte> key) override {
    const auto found = entries.find(text(key));
    return found == entries.end() ? nullptr : reinterpret_cast<const std::byte*>(&found->second);
  }
  void put(std::span<const std::byte> key, std::span<const std::byte> entry) override {
    OrderEntry copy;
    REQUIRE(entry.size() == sizeof copy);
    std::memcpy(&copy, entry.data(), sizeof copy);
    entries[text(key)] = copy;
  }
  void erase(std::span<const std::byte> key) override { entries.erase(text(key)); }
  void erase_prefix(std::span<const std::byte> prefix) override {
    std::erase_if(entries,
                  [&](const auto& entry) { return entry.first.starts_with(text(prefix)); });
  }

  std::uint64_t digest() const {
    EntryDigest digest;
    for (const auto& [key, entry] : entries) digest.add(std::as_bytes(std::span(&entry, 1)));
    return digest.value();
  }

  std::map<std::string, OrderEntry> entries;

 private:
  static std::string text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

struct NaiveLevel {
  std::uint64_t size = 0;
  std::uint32_t orders = 0;                                             // a top is not an order
  std::map<std::pair<std::uint64_t, std::uint64_t>, OrderEntry> queue;  // by rank, then order id
};

struct NaiveBook {
  std::map<std::int64_t, NaiveLevel> bids;
  std::map<std::int64_t, NaiveLevel> asks;
  std::size_t orders = 0;
  std::optional<OrderEntry> state;
};

struct NaiveBooks {
  std::map<std::pair<std::uint16_t, std::uint32_t>, NaiveBook> books;
  Sequence lost_through = kNoSequence;
};

inline NaiveBooks naive_books(const NaiveState& state) {
  NaiveBooks out;
  for (const auto& [key, entry] : state.entries) {
    const auto kind = OrderEntryKind{static_cast<std::uint8_t>(key[6])};
    if (kind == OrderEntryKind::kLoss) {
      out.lost_through = entry.place;
      continue;
    }
    const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(key[at]); };
    const auto publisher = static_cast<std::uint16_t>(byte(0) << 8 | byte(1));
    const std::uint32_t instrument = std::uint32_t{byte(2)} << 24 | std::uint32_t{byte(3)} << 16 |
                                     std::uint32_t{byte(4)} << 8 | byte(5);
    NaiveBook& book = out.books[{publisher, instrument}];
    if (kind == OrderEntryKind::kBook) {
      book.state = entry;
      continue;
    }
    const std::uint32_t orders = kind == OrderEntryKind::kOrder ? 1 : 0;
    book.orders += orders;
    if (entry.msg.price == dbn::kUndefPrice || entry.msg.side == dbn::Side::kNone) continue;
    NaiveLevel& level =
        (entry.msg.side == dbn::Side::kBid ? book.bids : book.asks)[entry.msg.price];
    level.size += entry.msg.size;
    level.orders += orders;
    level.queue[{entry.place, entry.msg.order_id}] = entry;
  }
  return out;
}

inline void check_level(const OrderBook& book, dbn::Side side, std::size_t index,
                        std::int64_t price, const NaiveLevel& naive) {
  const PriceLevel& level = book.level(side, index);
  REQUIRE(level.price == price);
  REQUIRE(level.size == naive.size);
  REQUIRE(level.orders == naive.orders);
  REQUIRE(book.find_level(side, price) == &level);
  auto expected = naive.queue.begin();
  book.for_each_order(side, index, [&](const OrderEntry& entry) {
    REQUIRE(expected != naive.queue.end());
    REQUIRE(std::memcmp(&entry, &expected->second, sizeof entry) == 0);
    ++expected;
  });
  REQUIRE(expected == naive.queue.end());
}

template <typename Levels>  // best first
void check_side(const OrderBook& book, dbn::Side side, Levels first, Levels last) {
  const auto count = static_cast<std::size_t>(std::distance(first, last));
  REQUIRE(book.level_count(side) == count);
  REQUIRE((book.best(side) == nullptr) == (count == 0));
  if (count > 0) REQUIRE(book.best(side) == &book.level(side, 0));
  for (std::size_t index = 0; first != last; ++first, ++index) {
    check_level(book, side, index, first->first, first->second);
  }
}

// Compares everything except the digests, which are more expensive.
inline void check_same(const OrderBooks& books, const NaiveState& state) {
  const NaiveBooks naive = naive_books(state);
  REQUIRE(books.books().size() == naive.books.size());
  std::uint64_t orders = 0;
  bool settled = true;
  for (const auto& [id, expected] : naive.books) {
    const OrderBook* const book = books.find_book(id.first, id.second);
    REQUIRE(book != nullptr);
    check_side(*book, dbn::Side::kBid, expected.bids.rbegin(), expected.bids.rend());
    check_side(*book, dbn::Side::kAsk, expected.asks.begin(), expected.asks.end());
    REQUIRE(book->order_count() == expected.orders);
    REQUIRE((book->state() != nullptr) == expected.state.has_value());
    REQUIRE(book->lost_through() == naive.lost_through);
    const bool stale = expected.state && is_stale(*expected.state, naive.lost_through);
    REQUIRE(book->stale() == stale);
    orders += expected.orders;
    settled = settled && book->settled();
  }
  REQUIRE(books.order_count() == orders);
  REQUIRE(books.settled() == settled);
}

}  // namespace lapwing
