// Tests when the fold `orders` considers a book valid, and its books of tops.
#include <catch2/catch.hpp>

#include "testing/order_records.h"

namespace lapwing {
namespace {

using dbn::Action;
using dbn::Side;
using Ids = std::vector<std::uint64_t>;
constexpr std::uint8_t kSnapshotLast = dbn::kFlagSnapshot | dbn::kFlagLast;

// Instrument 7 with two orders, then a loss of three records, then a record that changes nothing.
TestOrders after_loss() {
  TestOrders orders;
  orders.add(1, Side::kBid, 100, 10);
  orders.add(2, Side::kAsk, 101, 10);
  orders.lose(3);
  orders.apply(test_record(Action::kNone, 0, Side::kNone, dbn::kUndefPrice, 0));
  return orders;
}

TEST_CASE("A book that was seen from the beginning is good") {
  TestOrders orders;
  orders.add(1, Side::kBid, 100, 10);
  CHECK_FALSE(orders.is_stale());
  CHECK(orders.book().place == 1);
}

TEST_CASE("A loss makes every book stale at once, and rewrites none") {
  TestOrders orders;
  orders.add(1, Side::kBid, 100, 10);
  const OrderEntry before = orders.book();
  orders.lose(3);
  CHECK(orders.is_stale());
  const OrderEntry after = orders.book();
  CHECK(std::memcmp(&before, &after, sizeof before) == 0);
  const std::optional<OrderEntry> loss = orders.entry(loss_key());
  REQUIRE(loss);
  CHECK(loss->msg.action == Action::kNone);
  CHECK(loss->place == 4);
  CHECK(loss->msg.order_id == 3);
}

TEST_CASE("Losses add up, and the last one has the last lost sequence") {
  TestOrders orders;
  orders.add(1, Side::kBid, 100, 10);
  orders.lose(3);
  orders.add(2, Side::kBid, 100, 10);
  orders.lose(10);
  CHECK(orders.entry(loss_key())->place == 15);
  CHECK(orders.entry(loss_key())->msg.order_id == 13);
}

TEST_CASE("An empty loss is ignored") {
  TestOrders orders;
  orders.add(1, Side::kBid, 100, 10);
  orders.lose(0);
  CHECK_FALSE(orders.is_stale());
  CHECK(orders.state().size() == 2);
}

TEST_CASE("A stale book stays stale, continues with new records, and counts no misfits") {
  TestOrders orders = after_loss();
  orders.cancel(1, 4);
  orders.cancel(77, 1);
  orders.modify(78, Side::kBid, 99, 2);
  orders.add(3, Side::kBid, 100, 1);
  CHECK(orders.is_stale());
  CHECK(orders.left(1) == 6);
  CHECK(orders.left(3) == 1);
  CHECK(orders.left(78) == 2);
  CHECK(orders.misfits() == 0);
}

TEST_CASE("A clear makes a stale book good, and no other") {
  TestOrders orders;
  dbn::MboMsg other = test_record(Action::kAdd, 1, Side::kBid, 100, 10);
  other.hd.instrument_id = 8;
  orders.apply(other);
  orders.add(1, Side::kBid, 100, 10);
  orders.lose(1);
  orders.clear();
  CHECK_FALSE(orders.is_stale());
  CHECK(orders.book().place == 4);
  CHECK(orders.is_stale(8));
  orders.lose(1);
  CHECK(orders.is_stale());
}

TEST_CASE("A book that is first seen after a loss is stale") {
  TestOrders orders;
  orders.lose(5);
  orders.add(1, Side::kBid, 100, 10);
  CHECK(orders.is_stale());
  CHECK(orders.book().place == 6);
}

TEST_CASE("A book without its beginning is stale until a clear, be that the first record") {
  TestOrders orders;
  orders.lose_beginning();
  SECTION("it is not") {
    orders.add(1, Side::kBid, 100, 10);
    orders.add(2, Side::kBid, 100, 10);
    CHECK(orders.is_stale());
    CHECK(orders.misfits() == 0);
    orders.clear();
    CHECK(orders.book().place == 3);
  }
  SECTION("it is") {
    orders.clear();
  }
  CHECK_FALSE(orders.is_stale());
  const std::optional<OrderEntry> loss = orders.entry(loss_key());
  REQUIRE(loss);
  CHECK(loss->place == 0);
  CHECK(loss->msg.order_id == 0);
}

TEST_CASE("A snapshot in progress at the beginning leaves the book stale; a later one does not") {
  TestOrders orders;
  orders.lose_beginning();
  orders.add(1, Side::kBid, 100, 10, dbn::kFlagSnapshot);
  orders.add(2, Side::kBid, 100, 10, kSnapshotLast);
  CHECK(orders.is_stale());
  orders.add(3, Side::kBid, 100, 10, dbn::kFlagSnapshot);
  orders.add(4, Side::kBid, 100, 10, kSnapshotLast);
  CHECK_FALSE(orders.is_stale());
}

TEST_CASE("A loss after a missing beginning counts its records") {
  TestOrders orders;
  orders.lose_beginning();
  orders.add(1, Side::kBid, 100, 10);
  orders.lose(3);
  CHECK(orders.entry(loss_key())->place == 4);
  CHECK(orders.entry(loss_key())->msg.order_id == 3);
}

TEST_CASE("A snapshot makes a stale book good when it ends with LAST, without leftover orders") {
  TestOrders orders = after_loss();
  orders.add(3, Side::kBid, 99, 1, dbn::kFlagSnapshot);
  CHECK(orders.is_stale());
  CHECK_FALSE(orders.order(1));
  CHECK_FALSE(orders.order(2));
  orders.add(4, Side::kBid, 99, 1, dbn::kFlagSnapshot);
  CHECK(orders.is_stale());
  orders.add(5, Side::kBid, 99, 1, kSnapshotLast);
  CHECK_FALSE(orders.is_stale());
  CHECK(orders.queue(Side::kBid, 99) == Ids{3, 4, 5});
  CHECK(orders.book().place == 7);
}

TEST_CASE("A snapshot without LAST ends at the first record that is not part of it") {
  TestOrders orders = after_loss();
  orders.add(3, Side::kBid, 99, 1, dbn::kFlagSnapshot);
  orders.add(4, Side::kBid, 99, 1, dbn::kFlagSnapshot);
  CHECK(orders.is_stale());
  orders.add(5, Side::kBid, 99, 1);
  CHECK_FALSE(orders.is_stale());
  CHECK(orders.queue(Side::kBid, 99) == Ids{3, 4, 5});
}

TEST_CASE("A snapshot of a single order makes a stale book good") {
  TestOrders orders = after_loss();
  orders.add(3, Side::kBid, 99, 1, kSnapshotLast);
  CHECK_FALSE(orders.is_stale());
  CHECK_FALSE(orders.order(1));
}

TEST_CASE("A snapshot whose beginning may be lost leaves the book stale, and keeps its orders") {
  TestOrders orders;
  orders.add(1, Side::kBid, 100, 10);
  orders.lose(3);
  orders.add(3, Side::kBid, 99, 1, dbn::kFlagSnapshot);
  orders.add(4, Side::kBid, 99, 1, kSnapshotLast);
  CHECK(orders.is_stale());
  CHECK(orders.queue(Side::kBid, 100) == Ids{1});
  CHECK(orders.queue(Side::kBid, 99) == Ids{3, 4});
  SECTION("until the next one") {
    orders.add(3, Side::kBid, 99, 1, dbn::kFlagSnapshot);
    CHECK_FALSE(orders.order(1));
    orders.add(4, Side::kBid, 99, 1, kSnapshotLast);
    CHECK_FALSE(orders.is_stale());
  }
  SECTION("or a clear") {
    orders.clear();
    CHECK_FALSE(orders.is_stale());
  }
}

TEST_CASE("A snapshot that loses records in the middle does not make its book good") {
  TestOrders orders = after_loss();
  orders.add(3, Side::kBid, 99, 1, dbn::kFlagSnapshot);
  orders.lose(2);
  orders.add(6, Side::kBid, 99, 1, dbn::kFlagSnapshot);
  orders.add(7, Side::kBid, 99, 1, kSnapshotLast);
  CHECK(orders.is_stale());
}

TEST_CASE("A snapshot with a clear before it makes its book good at its end, even after a loss") {
  TestOrders orders;
  orders.add(1, Side::kBid, 100, 10);
  orders.lose(3);
  orders.clear(dbn::kFlagSnapshot);
  CHECK(orders.is_stale());
  orders.add(3, Side::kBid, 99, 1, dbn::kFlagSnapshot);
  CHECK(orders.is_stale());
  orders.add(4, Side::kBid, 99, 1, kSnapshotLast);
  CHECK_FALSE(orders.is_stale());
  CHECK_FALSE(orders.order(1));
  CHECK(orders.queue(Side::kBid, 99) == Ids{3, 4});
}

TEST_CASE("An empty snapshot is a clear") {
  TestOrders orders = after_loss();
  orders.clear(kSnapshotLast);
  CHECK_FALSE(orders.is_stale());
}

TEST_CASE("A snapshot changes only the listed orders of a good book") {
  TestOrders orders;
  orders.add(1, Side::kBid, 100, 10);
  orders.add(2, Side::kBid, 100, 10);
  orders.add(2, Side::kBid, 100, 10, dbn::kFlagSnapshot);
  CHECK_FALSE(orders.is_stale());
  CHECK(orders.queue(Side::kBid, 100) == Ids{1, 2});
  CHECK(orders.book().place == 1);
}

TEST_CASE("A trade of a replay does not begin a snapshot") {
  TestOrders orders = after_loss();
  orders.apply(test_record(Action::kTrade, 1, Side::kBid, 100, 1, kSnapshotLast));
  CHECK(orders.is_stale());
  CHECK(orders.left(1) == 10);
}

TEST_CASE("A venue's flag that a book may be bad makes it stale until a clear") {
  TestOrders orders;
  orders.add(1, Side::kBid, 100, 10);
  orders.add(2, Side::kBid, 100, 10, dbn::kFlagLast | dbn::kFlagMaybeBadBook);
  CHECK(orders.is_stale());
  orders.cancel(9, 1);
  CHECK(orders.is_stale());
  CHECK(orders.misfits() == 0);
  SECTION("a clear") {
    orders.clear();
  }
  SECTION("a snapshot") {
    orders.add(3, Side::kBid, 100, 1, kSnapshotLast);
  }
  CHECK_FALSE(orders.is_stale());
}

TEST_CASE("A snapshot that the venue flags as bad leaves the book stale") {
  TestOrders orders = after_loss();
  constexpr std::uint8_t kDoubted = dbn::kFlagSnapshot | dbn::kFlagMaybeBadBook;
  orders.add(3, Side::kBid, 99, 1, kDoubted);
  orders.add(4, Side::kBid, 99, 1, kDoubted);
  orders.add(5, Side::kBid, 99, 1, kDoubted | dbn::kFlagLast);
  CHECK(orders.is_stale());
  CHECK(orders.queue(Side::kBid, 99) == Ids{3, 4, 5});
}

// --- Tops

void add_top(TestOrders& orders, Side side, std::int64_t price, std::uint32_t size) {
  orders.add(0, side, price, size, dbn::kFlagTop | dbn::kFlagLast);
}

TEST_CASE("A top replaces its side and keeps the other, whatever their order ids") {
  TestOrders orders;
  add_top(orders, Side::kBid, 100, 10);
  add_top(orders, Side::kAsk, 102, 3);
  add_top(orders, Side::kBid, 101, 4);
  REQUIRE(orders.top(Side::kBid));
  REQUIRE(orders.top(Side::kAsk));
  CHECK(orders.top(Side::kBid)->msg.price == 101);
  CHECK(orders.top(Side::kBid)->msg.size == 4);
  CHECK(orders.top(Side::kBid)->msg.flags == (dbn::kFlagSnapshot | dbn::kFlagTop));
  CHECK(orders.top(Side::kBid)->place == 3);
  CHECK(orders.top(Side::kAsk)->msg.price == 102);
  CHECK(orders.state().size() == 3);
  CHECK(orders.misfits() == 0);
}

TEST_CASE("A top without a price empties its side, as do a cancel and a size of nothing") {
  TestOrders orders;
  add_top(orders, Side::kBid, 100, 10);
  add_top(orders, Side::kAsk, 102, 3);
  SECTION("no price") {
    add_top(orders, Side::kBid, dbn::kUndefPrice, 0);
  }
  SECTION("no size") {
    add_top(orders, Side::kBid, 100, 0);
  }
  SECTION("a cancel") {
    orders.apply(test_record(Action::kCancel, 0, Side::kBid, 100, 10, dbn::kFlagTop));
  }
  CHECK_FALSE(orders.top(Side::kBid));
  CHECK(orders.top(Side::kAsk));
  CHECK(orders.misfits() == 0);
}

TEST_CASE("A clear removes the tops") {
  TestOrders orders;
  add_top(orders, Side::kBid, 100, 10);
  add_top(orders, Side::kAsk, 102, 3);
  orders.clear();
  CHECK(orders.state().size() == 1);
}

TEST_CASE("A book has orders or tops: the first record of the other kind removes the old ones") {
  TestOrders orders;
  orders.add(1, Side::kBid, 100, 10);
  orders.add(2, Side::kAsk, 102, 10);
  add_top(orders, Side::kBid, 101, 5);
  CHECK(orders.state().size() == 2);
  CHECK(orders.top(Side::kBid));
  orders.add(3, Side::kAsk, 103, 1);
  CHECK(orders.state().size() == 2);
  CHECK(orders.left(3) == 1);
}

TEST_CASE("A top without a side is ignored and is a misfit") {
  TestOrders orders;
  add_top(orders, Side::kNone, 100, 10);
  CHECK(orders.state().size() == 1);
  CHECK(orders.misfits() == 1);
}

}  // namespace
}  // namespace lapwing
