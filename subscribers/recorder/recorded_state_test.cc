#include "subscribers/recorder/recorded_state.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <vector>

#include "lapwing/error.h"
#include "testing/order_records.h"
#include "testing/tally_fold.h"

namespace lapwing {
namespace {

constexpr std::int64_t kPrices = 5;

std::vector<dbn::MboMsg> recorded(const Fold& fold, MemoryState& state) {
  RecordedState records;
  state.for_each([&](std::span<const std::byte> entry) { REQUIRE(records.add(fold, entry).ok()); });
  const std::vector<std::byte> bytes = records.take_records();
  std::vector<dbn::MboMsg> msgs(bytes.size() / sizeof(dbn::MboMsg));
  std::memcpy(msgs.data(), bytes.data(), bytes.size());
  return msgs;
}

TestOrders folded(const std::vector<dbn::MboMsg>& records) {
  TestOrders orders;
  for (const dbn::MboMsg& record : records) orders.apply(record);
  return orders;
}

// Compares the levels, each order's remaining size, the queues, and the books' staleness.
void check_same_books(TestOrders& a, TestOrders& b) {
  for (const dbn::Side side : {TestOrders::kBid, TestOrders::kAsk}) {
    for (std::int64_t price = 0; price < kPrices; ++price) {
      const auto queue = a.queue(side, price);
      REQUIRE(queue == b.queue(side, price));
      for (const std::uint64_t id : queue) REQUIRE(a.left(id) == b.left(id));
    }
  }
  REQUIRE(a.is_stale() == b.is_stale());
}

void random_record(TestOrders& orders, std::mt19937_64& random) {
  const auto side = random() % 2 == 0 ? TestOrders::kBid : TestOrders::kAsk;
  const auto price = static_cast<std::int64_t>(random() % kPrices);
  const auto size = static_cast<std::uint32_t>(1 + random() % 9);
  const std::uint64_t id = 1 + random() % 60;
  const std::uint64_t what = random() % 400;
  if (what == 0) return orders.clear();
  if (what == 1) return orders.lose(1 + random() % 5);
  if (what < 220) return orders.add(id, side, price, size);
  if (what < 300) return orders.modify(id, side, price, size);
  orders.cancel(id, size);
}

}  // namespace

TEST_CASE("Folding a recorded state yields the same books, queues and staleness, now and later") {
  std::uint64_t stale = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    TestOrders bus;
    for (std::uint64_t count = random() % 600; count > 0; --count) random_record(bus, random);
    TestOrders recording = folded(recorded(bus.fold(), bus.state()));
    stale += bus.is_stale() ? 1U : 0U;
    check_same_books(bus, recording);
    std::mt19937_64 same = random;
    for (int later = 0; later < 200; ++later) {
      random_record(bus, random);
      random_record(recording, same);
    }
    check_same_books(bus, recording);
  }
  CHECK(stale > 5);
  CHECK(stale < 55);
}

TEST_CASE("A recorded book has the form of a venue's snapshot") {
  TestOrders bus;
  bus.add(11, TestOrders::kBid, 1, 5);
  bus.add(10, TestOrders::kBid, 1, 5);
  bus.add(9, TestOrders::kAsk, 2, 5);
  bus.cancel(11, 2);
  const auto records = recorded(bus.fold(), bus.state());
  REQUIRE(records.size() == 4);
  CHECK(records[0].action == dbn::Action::kClear);
  CHECK(records[0].order_id == 0);
  CHECK(records[1].order_id == 11);  // in queue order, not in key order
  CHECK(records[1].size == 3);
  CHECK(records[2].order_id == 10);
  CHECK(records[3].order_id == 9);
  for (std::size_t i = 0; i < records.size(); ++i) {
    CHECK(records[i].flags == (i == 3 ? dbn::kFlagSnapshot | dbn::kFlagLast : dbn::kFlagSnapshot));
  }
}

TEST_CASE(
    "Each book, even an empty one, ends its own event, and the loss of the bus is not a record") {
  TestOrders bus;
  bus.lose(3);
  dbn::MboMsg other = test_record(dbn::Action::kAdd, 1, TestOrders::kBid, 1, 5);
  other.hd.instrument_id = kTestInstrument + 1;
  bus.clear();
  bus.apply(other);
  const auto records = recorded(bus.fold(), bus.state());
  REQUIRE(records.size() == 3);
  CHECK(records[0].flags == (dbn::kFlagSnapshot | dbn::kFlagLast));
  CHECK(records[1].hd.instrument_id == other.hd.instrument_id);
  CHECK((records[2].flags & dbn::kFlagLast) != 0);
  CHECK((records[2].flags & dbn::kFlagMaybeBadBook) != 0);  // it was first seen after the loss
}

TEST_CASE("The latest records are recorded unchanged, but a state of something else is not") {
  const auto latest = make_fold("latest", dbn::kSchemaMbo).value();
  MemoryState state(latest->shape());
  const dbn::MboMsg msg = test_record(dbn::Action::kModify, 4, TestOrders::kBid, 3, 2, 0);
  latest->apply(1, std::as_bytes(std::span(&msg, 1)), state);
  const auto records = recorded(*latest, state);
  REQUIRE(records.size() == 1);
  CHECK(records[0].action == dbn::Action::kModify);
  CHECK(records[0].flags == dbn::kFlagSnapshot);
  const auto pairs = make_fold("latest", "kv16").value();
  std::vector<std::byte> pair(16, std::byte{7});
  RecordedState of_pairs;
  REQUIRE(of_pairs.add(*pairs, pair).ok());
  CHECK(of_pairs.take_records() == pair);  // it has no DBN flags
  const TallyFold tallies;
  RecordedState none;
  const absl::Status refused = none.add(tallies, std::as_bytes(std::span(&msg, 1)));
  CHECK(errc_of(refused) == Errc::kInvalidArgument);
  CHECK(std::string(refused.message()).find("record from another start") != std::string::npos);
}

}  // namespace lapwing
