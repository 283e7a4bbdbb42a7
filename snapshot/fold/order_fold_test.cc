#include "snapshot/fold/order_fold.h"

#include <catch2/catch.hpp>

#include "testing/order_records.h"

namespace lapwing {
namespace {

using dbn::Action;
using dbn::Side;
using Ids = std::vector<std::uint64_t>;
constexpr Side kBid = Side::kBid;
constexpr Side kAsk = Side::kAsk;
constexpr Side kNoSide = Side::kNone;

TEST_CASE("An added order rests as its record has it, as an add of a snapshot") {
  TestOrders orders;
  orders.add(11, kBid, 100, 5);
  const std::optional<OrderEntry> entry = orders.order(11);
  REQUIRE(entry);
  CHECK(entry->msg.action == Action::kAdd);
  CHECK(entry->msg.flags == dbn::kFlagSnapshot);
  CHECK(entry->msg.side == kBid);
  CHECK(entry->msg.price == 100);
  CHECK(entry->msg.size == 5);
  CHECK(entry->msg.hd.ts_event == 1'000);
  CHECK(entry->place == 1);
  CHECK(orders.misfits() == 0);
}

TEST_CASE("Orders of one price are queued in their order of arrival") {
  TestOrders orders;
  for (const std::uint64_t id : Ids{5, 3, 4}) orders.add(id, kAsk, 100, 1);
  orders.add(1, kAsk, 99, 1);
  CHECK(orders.queue(kAsk, 100) == Ids{5, 3, 4});
  CHECK(orders.queue(kAsk, 99) == Ids{1});
  CHECK(orders.queue(kBid, 100).empty());
}

TEST_CASE("A partial cancel reduces the remaining size and keeps the queue rank") {
  TestOrders orders;
  orders.add(1, kBid, 100, 10);
  orders.add(2, kBid, 100, 10);
  orders.cancel(1, 4);
  CHECK(orders.left(1) == 6);
  orders.cancel(1, 5);
  CHECK(orders.left(1) == 1);
  CHECK(orders.queue(kBid, 100) == Ids{1, 2});
  CHECK(orders.misfits() == 0);
}

TEST_CASE("A cancel of the remaining size removes the order") {
  TestOrders orders;
  orders.add(1, kBid, 100, 10);
  orders.cancel(1, 4);
  orders.cancel(1, 6);
  CHECK_FALSE(orders.order(1));
  CHECK(orders.misfits() == 0);
}

TEST_CASE("A cancel of more than the remaining size removes the order and is a misfit") {
  TestOrders orders;
  orders.add(1, kBid, 100, 10);
  orders.cancel(1, 11);
  CHECK_FALSE(orders.order(1));
  CHECK(orders.misfits() == 1);
  CHECK(orders.book().msg.order_id == 2);
}

TEST_CASE("A cancel of nothing changes nothing and is a misfit") {
  TestOrders orders;
  orders.add(1, kBid, 100, 10);
  orders.cancel(1, 0);
  CHECK(orders.left(1) == 10);
  CHECK(orders.misfits() == 1);
}

TEST_CASE("A cancel of an order that does not rest is ignored and is a misfit") {
  TestOrders orders;
  orders.add(1, kBid, 100, 10);
  const std::uint64_t entries = orders.state().size();
  orders.cancel(2, 10);
  CHECK(orders.left(1) == 10);
  CHECK(orders.state().size() == entries);
  CHECK(orders.misfits() == 1);
}

TEST_CASE("A cancel uses only the order id, whatever its price and side") {
  TestOrders orders;
  orders.add(1, kAsk, 100, 10);
  orders.apply(test_record(Action::kCancel, 1, kNoSide, dbn::kUndefPrice, 3));
  CHECK(orders.left(1) == 7);
}

TEST_CASE("A smaller size keeps the queue rank") {
  TestOrders orders;
  orders.add(1, kBid, 100, 10);
  orders.add(2, kBid, 100, 10);
  orders.modify(1, kBid, 100, 9);
  CHECK(orders.left(1) == 9);
  CHECK(orders.queue(kBid, 100) == Ids{1, 2});
}

TEST_CASE("The same size keeps the queue rank") {
  TestOrders orders;
  orders.add(1, kBid, 100, 10);
  orders.add(2, kBid, 100, 10);
  orders.modify(1, kBid, 100, 10);
  CHECK(orders.queue(kBid, 100) == Ids{1, 2});
}

TEST_CASE("A larger size loses the queue rank") {
  TestOrders orders;
  orders.add(1, kBid, 100, 10);
  orders.add(2, kBid, 100, 10);
  orders.modify(1, kBid, 100, 11);
  CHECK(orders.left(1) == 11);
  CHECK(orders.queue(kBid, 100) == Ids{2, 1});
}

TEST_CASE("An increase to the size before a partial cancel loses the queue rank") {
  TestOrders orders;
  orders.add(1, kBid, 100, 10);
  orders.add(2, kBid, 100, 10);
  orders.cancel(1, 5);
  orders.modify(1, kBid, 100, 8);
  CHECK(orders.queue(kBid, 100) == Ids{2, 1});
}

TEST_CASE("A change of price loses the queue rank, even with a smaller size, even there and back") {
  TestOrders orders;
  orders.add(1, kBid, 100, 10);
  orders.add(2, kBid, 100, 10);
  orders.modify(1, kBid, 101, 9);
  CHECK(orders.queue(kBid, 100) == Ids{2});
  CHECK(orders.queue(kBid, 101) == Ids{1});
  orders.modify(1, kBid, 100, 9);
  CHECK(orders.queue(kBid, 100) == Ids{2, 1});
}

TEST_CASE("A change of side loses the queue rank") {
  TestOrders orders;
  orders.add(1, kBid, 100, 10);
  orders.add(2, kAsk, 100, 10);
  orders.modify(1, kAsk, 100, 10);
  CHECK(orders.queue(kBid, 100).empty());
  CHECK(orders.queue(kAsk, 100) == Ids{2, 1});
}

TEST_CASE("A modify of an order that does not rest adds it and is a misfit") {
  TestOrders orders;
  orders.modify(1, kBid, 100, 10);
  CHECK(orders.left(1) == 10);
  CHECK(orders.order(1)->msg.action == Action::kAdd);
  CHECK(orders.misfits() == 1);
}

TEST_CASE("A modify to nothing removes the order and is a misfit, as is an add of nothing") {
  TestOrders orders;
  orders.add(1, kBid, 100, 10);
  orders.modify(1, kBid, 100, 0);
  CHECK_FALSE(orders.order(1));
  orders.add(2, kBid, 100, 0);
  CHECK_FALSE(orders.order(2));
  CHECK(orders.misfits() == 2);
}

TEST_CASE("An add of a resting id replaces it at the end of the queue and is a misfit") {
  TestOrders orders;
  orders.add(1, kBid, 100, 10);
  orders.add(2, kBid, 100, 10);
  orders.add(1, kBid, 100, 10);
  CHECK(orders.queue(kBid, 100) == Ids{2, 1});
  CHECK(orders.misfits() == 1);
}

TEST_CASE("An add of a snapshot replaces a resting id, and is not a misfit") {
  TestOrders orders;
  orders.add(1, kBid, 100, 10);
  orders.add(1, kBid, 101, 8, dbn::kFlagSnapshot);
  CHECK(orders.queue(kBid, 101) == Ids{1});
  CHECK(orders.left(1) == 8);
  CHECK(orders.misfits() == 0);
  CHECK_FALSE(orders.is_stale());
}

TEST_CASE("Adds and modifies without a side are ignored and are misfits") {
  TestOrders orders;
  orders.add(1, kBid, 100, 10);
  orders.add(2, kNoSide, 100, 10);
  orders.apply(test_record(Action::kModify, 1, kNoSide, 101, 9));
  CHECK(orders.left(1) == 10);
  CHECK_FALSE(orders.order(2));
  CHECK(orders.misfits() == 2);
}

TEST_CASE("A clear removes every order of its instrument and none of another") {
  TestOrders orders;
  dbn::MboMsg other = test_record(Action::kAdd, 1, kBid, 100, 10);
  other.hd.instrument_id = kTestInstrument + 1;
  dbn::MboMsg elsewhere = test_record(Action::kAdd, 1, kBid, 100, 10);
  elsewhere.hd.publisher_id = 2;
  orders.apply(other);
  orders.apply(elsewhere);
  orders.add(1, kBid, 100, 10);
  orders.add(~std::uint64_t{0}, kAsk, 101, 10);
  orders.clear();
  CHECK_FALSE(orders.order(1));
  CHECK_FALSE(orders.order(~std::uint64_t{0}));
  CHECK(orders.order(1, kTestInstrument + 1));
  CHECK(orders.entry(order_key(2, kTestInstrument, 1)));
  CHECK(orders.book().place == 5);
  CHECK(orders.book(kTestInstrument + 1).place == 1);
  CHECK(orders.misfits() == 0);
}

TEST_CASE("Trades, fills and records without an action leave the orders alone") {
  TestOrders orders;
  orders.add(1, kBid, 100, 10);
  for (const Action action : {Action::kTrade, Action::kFill, Action::kNone}) {
    orders.apply(test_record(action, 1, kBid, 100, 4));
  }
  CHECK(orders.left(1) == 10);
  CHECK(orders.state().size() == 2);
  CHECK(orders.misfits() == 0);
}

TEST_CASE("Each instrument with a record has a book, whatever its first record is") {
  TestOrders orders;
  orders.apply(test_record(Action::kNone, 0, kNoSide, dbn::kUndefPrice, 0));
  const OrderEntry book = orders.book();
  CHECK(book.place == 1);
  CHECK(book.msg.action == Action::kClear);
  CHECK(book.msg.hd.instrument_id == kTestInstrument);
  CHECK(book.msg.hd.rtype == dbn::RType::kMbo);
  CHECK(book.msg.price == dbn::kUndefPrice);
}

TEST_CASE("A record counts as one misfit, even with several faults") {
  TestOrders orders;
  orders.modify(1, kBid, 100, 0);
  CHECK(orders.misfits() == 1);
}

TEST_CASE("Misfits are still counted after a clear") {
  TestOrders orders;
  orders.cancel(1, 1);
  orders.clear();
  orders.cancel(2, 1);
  CHECK(orders.misfits() == 2);
  CHECK(orders.book().msg.order_id == 3);
}

TEST_CASE("The state settles after a record flagged LAST, and a book contains whether it has") {
  TestOrders orders;
  const auto settles = [&](const dbn::MboMsg& msg) {
    return orders.fold().settles(std::as_bytes(std::span(&msg, 1)));
  };
  const std::uint8_t others = static_cast<std::uint8_t>(~dbn::kFlagLast);
  CHECK_FALSE(settles(test_record(Action::kTrade, 1, kBid, 100, 4, others)));
  CHECK(settles(test_record(Action::kTrade, 1, kBid, 100, 4, dbn::kFlagLast)));
  orders.add(1, kBid, 100, 10, 0);
  CHECK((orders.book().msg.flags & dbn::kFlagLast) == 0);
  orders.apply(test_record(Action::kNone, 0, kNoSide, dbn::kUndefPrice, 0));
  CHECK((orders.book().msg.flags & dbn::kFlagLast) != 0);
}

TEST_CASE("The key that a record looks up is that of its order") {
  TestOrders orders;
  OrderKey key{};
  const auto reads = [&](const dbn::MboMsg& msg) {
    return orders.fold().reads(std::as_bytes(std::span(&msg, 1)),
                               std::as_writable_bytes(std::span(&key, 1)));
  };
  const OrderKey expected = order_key(1, kTestInstrument, 9);
  for (const Action action : {Action::kAdd, Action::kModify, Action::kCancel}) {
    key = OrderKey{};
    CHECK(reads(test_record(action, 9, kBid, 100, 1)));
    CHECK(std::memcmp(&key, &expected, sizeof key) == 0);
    CHECK_FALSE(reads(test_record(action, 9, kBid, 100, 1, dbn::kFlagTop)));
  }
  for (const Action action : {Action::kClear, Action::kTrade, Action::kFill, Action::kNone}) {
    CHECK_FALSE(reads(test_record(action, 9, kBid, 100, 1)));
  }
}

TEST_CASE("An entry contains the queue rank of its order") {
  TestOrders orders;
  orders.add(1, kBid, 100, 10);
  orders.add(2, kBid, 100, 10);
  const OrderEntry second = *orders.order(2);
  CHECK(orders.fold().place_of(std::as_bytes(std::span(&second, 1))) == 2);
}

TEST_CASE("Every entry's key is the one that it is stored under") {
  TestOrders orders;
  orders.add(1, kBid, 100, 10);
  orders.lose(3);
  orders.clear();
  orders.add(2, kAsk, 100, 10);
  dbn::MboMsg top = test_record(Action::kAdd, 5, kAsk, 100, 10, dbn::kFlagTop);
  top.hd.instrument_id = 8;
  orders.apply(top);
  std::vector<OrderEntryKind> kinds;
  orders.state().for_each([&](std::span<const std::byte> bytes) {
    OrderKey key;
    orders.fold().key_of(bytes, std::as_writable_bytes(std::span(&key, 1)));
    const std::optional<OrderEntry> found = orders.entry(key);
    REQUIRE(found);
    CHECK(std::memcmp(&*found, bytes.data(), sizeof *found) == 0);
    kinds.push_back(key.kind);
  });
  using Kind = OrderEntryKind;
  CHECK(kinds == std::vector{Kind::kLoss, Kind::kBook, Kind::kOrder, Kind::kBook, Kind::kTop});
}

}  // namespace
}  // namespace lapwing
