#include "lapwing/order_books.h"

#include <catch2/catch.hpp>
#include <limits>
#include <random>
#include <vector>

#include "testing/book_records.h"
#include "testing/environment.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kDigestEvery = 16;  // operations; also checked at the end

std::uint64_t operations() {
  return count_from("LAPWING_BOOK_OPERATIONS", 100'000);
}

std::span<const std::byte> bytes_of(const OrderEntry& entry) {
  return std::as_bytes(std::span(&entry, 1));
}
std::span<const std::byte> bytes_of(const dbn::MboMsg& record) {
  return std::as_bytes(std::span(&record, 1));
}

// Uses only a few different values, so that all combinations occur.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t count) { return random_() % count; }
  bool one_in(std::uint64_t count) { return below(count) == 0; }

  std::uint16_t publisher() { return one_in(3) ? 0 : 1; }
  std::uint32_t instrument() { return one_in(3) ? 0 : 0x01020304; }
  std::uint64_t order_id() { return below(24) * 0x0101'0000'0101; }
  dbn::Side side() {
    return one_in(20) ? dbn::Side::kNone : one_in(2) ? dbn::Side::kBid : dbn::Side::kAsk;
  }
  std::int64_t price() {
    if (one_in(20)) return dbn::kUndefPrice;
    if (one_in(20)) return std::numeric_limits<std::int64_t>::min();
    return (static_cast<std::int64_t>(below(8)) - 4) * dbn::kPriceScale;
  }
  std::uint32_t size() { return one_in(20) ? 0xffff'ffff : static_cast<std::uint32_t>(below(4)); }
  std::uint8_t flags() {
    std::uint8_t flags = one_in(2) ? dbn::kFlagLast : 0;
    if (one_in(8)) flags |= dbn::kFlagSnapshot;
    if (one_in(16)) flags |= dbn::kFlagTop;
    if (one_in(40)) flags |= dbn::kFlagMaybeBadBook;
    return flags;
  }
  dbn::MboMsg record() {
    static constexpr char kActions[] = "AAAAAMMMMCCCCTFN";
    dbn::MboMsg record{};
    record.hd = {sizeof record / dbn::kLengthUnit, dbn::RType::kMbo, publisher(), instrument(),
                 random_()};
    record.order_id = order_id();
    record.price = price();
    record.size = size();
    record.flags = flags();
    record.action = one_in(60) ? dbn::Action::kClear
                               : static_cast<dbn::Action>(kActions[below(sizeof kActions - 1)]);
    record.side = side();
    record.ts_recv = random_();
    return record;
  }

 private:
  std::mt19937_64 random_;
};

// A key of any kind, and an entry that fits it. Places are random, and some are equal.
struct RandomEntry {
  OrderKey key;
  OrderEntry entry;
};
RandomEntry random_entry(Dice& dice) {
  RandomEntry out{};
  dbn::MboMsg& msg = out.entry.msg;
  msg = dice.record();
  out.entry.place = dice.below(30);
  const std::uint64_t kind = dice.below(20);
  if (kind == 0) {
    out.key = loss_key();
  } else if (kind == 1) {
    out.key = book_key(msg.hd.publisher_id, msg.hd.instrument_id);
  } else if (kind <= 3) {
    if (msg.side == dbn::Side::kNone) msg.side = dbn::Side::kBid;
    msg.order_id = 1;  // not an order's, so no two entries in a level share place and id
    msg.action = dbn::Action::kAdd;
    msg.flags |= dbn::kFlagTop;
    out.key = top_key(msg.hd.publisher_id, msg.hd.instrument_id, msg.side);
  } else {
    msg.flags = static_cast<std::uint8_t>(msg.flags & ~dbn::kFlagTop);
    out.key = order_key(msg.hd.publisher_id, msg.hd.instrument_id, msg.order_id);
  }
  return out;
}

void check_found(OrderBooks& books, NaiveState& naive, const OrderKey& key) {
  const std::byte* const expected = naive.find(bytes_of(key));
  const std::byte* const found = books.find(bytes_of(key));
  REQUIRE((found == nullptr) == (expected == nullptr));
  if (found != nullptr) REQUIRE(std::memcmp(found, expected, sizeof(OrderEntry)) == 0);
}

TEST_CASE("as a state the books contain what a map contains, and their levels follow") {
  Dice dice(Catch::rngSeed());
  OrderBooks books;
  NaiveState naive;
  for (std::uint64_t i = 0; i < operations(); ++i) {
    const auto [key, entry] = random_entry(dice);
    const std::span<const std::byte> bytes = bytes_of(key);
    if (dice.one_in(400)) {
      const std::size_t length = dice.below(sizeof key + 1);
      books.erase_prefix(bytes.first(length));
      naive.erase_prefix(bytes.first(length));
    } else if (dice.one_in(3)) {
      books.erase(bytes);
      naive.erase(bytes);
    } else {
      books.put(bytes, bytes_of(entry));
      naive.put(bytes, bytes_of(entry));
    }
    check_found(books, naive, key);
    // During half of the time, not after every operation, so that queues get out of order before
    // they are read.
    if (i / 1024 % 2 == 0 || dice.one_in(10)) check_same(books, naive);
    if (i % kDigestEvery == 0) REQUIRE(books.digest() == naive.digest());
  }
  REQUIRE(books.digest() == naive.digest());
}

TEST_CASE("random records give the levels of the entries that the fold gives a map") {
  Dice dice(Catch::rngSeed());
  const OrderFold fold;
  OrderBooks books;
  NaiveState naive;
  Sequence n = 0;
  for (std::uint64_t i = 0; i < operations(); ++i) {
    ++n;
    if (dice.one_in(500)) {
      const Gap gap{n, n + dice.below(3), n + 3, GapCause::kLapped, false};
      fold.lose(gap, naive);
      books.lose(gap);
      n = gap.last;
    } else {
      const dbn::MboMsg record = dice.record();
      fold.apply(n, bytes_of(record), naive);
      REQUIRE(books.apply(n, bytes_of(record)));
      const OrderBook* const book =
          books.find_book(record.hd.publisher_id, record.hd.instrument_id);
      if (book != nullptr) REQUIRE(book->last_sequence() == n);
    }
    REQUIRE(books.sequence() == n);
    check_same(books, naive);
    if (i % kDigestEvery == 0) REQUIRE(books.digest() == naive.digest());
  }
  REQUIRE(books.digest() == naive.digest());
}

// A book to which the test feeds records: instrument 7 of publisher 1.
class ByHand {
 public:
  dbn::MboMsg record(dbn::Action action, dbn::Side side, std::uint64_t id, std::int64_t price,
                     std::uint32_t size, std::uint8_t flags = dbn::kFlagLast) {
    dbn::MboMsg record{};
    record.hd = {sizeof record / dbn::kLengthUnit, dbn::RType::kMbo, 1, 7, 1'000};
    record.order_id = id;
    record.price = price;
    record.size = size;
    record.flags = flags;
    record.action = action;
    record.side = side;
    record.ts_recv = 2'000;
    return record;
  }
  void take(Sequence n, const dbn::MboMsg& record) {
    REQUIRE(books.take(Item{.kind = ItemKind::kRecord, .sequence = n, .record = bytes_of(record)}));
  }
  void add(Sequence n, dbn::Side side, std::uint64_t id, std::int64_t price, std::uint32_t size) {
    take(n, record(dbn::Action::kAdd, side, id, price, size));
  }
  void clear(Sequence n) {
    take(n, record(dbn::Action::kClear, dbn::Side::kNone, 0, dbn::kUndefPrice, 0));
  }
  void lose(Sequence first, Sequence last) {
    const Gap gap{first, last, last + 1, GapCause::kLapped, false};
    books.take(Event{.kind = EventKind::kLost, .gap = gap});
  }
  const OrderBook& book() { return *books.find_book(1, 7); }
  std::vector<std::uint64_t> queue(dbn::Side side, std::size_t index) {
    std::vector<std::uint64_t> ids;
    book().for_each_order(side, index,
                          [&](const OrderEntry& entry) { ids.push_back(entry.msg.order_id); });
    return ids;
  }

  OrderBooks books;
};

TEST_CASE_METHOD(ByHand, "the best bid is the highest and the best ask the lowest price") {
  add(1, dbn::Side::kBid, 1, 100, 5);
  add(2, dbn::Side::kBid, 2, 102, 3);
  add(3, dbn::Side::kBid, 3, 102, 4);
  add(4, dbn::Side::kAsk, 4, 105, 1);
  add(5, dbn::Side::kAsk, 5, -3, 2);
  CHECK(book().best(dbn::Side::kBid)->price == 102);
  CHECK(book().best(dbn::Side::kBid)->size == 7);
  CHECK(book().best(dbn::Side::kBid)->orders == 2);
  CHECK(book().best(dbn::Side::kAsk)->price == -3);
  CHECK(book().level_count(dbn::Side::kBid) == 2);
  CHECK(book().level(dbn::Side::kBid, 1).price == 100);
  CHECK(book().find_level(dbn::Side::kBid, 101) == nullptr);
  CHECK(book().find_order(4)->msg.size == 1);
  CHECK(book().last_sequence() == 5);
  CHECK(book().last_ts_recv() == 2'000);
}

TEST_CASE_METHOD(ByHand,
                 "a queue is in the order of ranks, which an increase loses and a decrease keeps") {
  for (Sequence n = 1; n <= 4; ++n) add(n, dbn::Side::kBid, 10 - n, 100, 5);
  CHECK(queue(dbn::Side::kBid, 0) == std::vector<std::uint64_t>{9, 8, 7, 6});
  take(5, record(dbn::Action::kModify, dbn::Side::kBid, 9, 100, 6));
  take(6, record(dbn::Action::kModify, dbn::Side::kBid, 8, 100, 1));
  take(7, record(dbn::Action::kCancel, dbn::Side::kBid, 7, 100, 5));
  CHECK(queue(dbn::Side::kBid, 0) == std::vector<std::uint64_t>{8, 6, 9});
  CHECK(book().best(dbn::Side::kBid)->size == 12);
}

TEST_CASE_METHOD(ByHand, "a top is a level without orders") {
  constexpr std::uint8_t kTop = dbn::kFlagTop | dbn::kFlagLast;
  take(1, record(dbn::Action::kAdd, dbn::Side::kBid, 0, 100, 5, kTop));
  take(2, record(dbn::Action::kAdd, dbn::Side::kAsk, 0, 102, 3, kTop));
  take(3, record(dbn::Action::kAdd, dbn::Side::kBid, 0, 101, 4, kTop));
  CHECK(book().has_tops());
  CHECK(book().level_count(dbn::Side::kBid) == 1);
  CHECK(book().best(dbn::Side::kBid)->price == 101);
  CHECK(book().best(dbn::Side::kBid)->size == 4);
  CHECK(book().best(dbn::Side::kBid)->orders == 0);
  CHECK(book().order_count() == 0);
  take(4, record(dbn::Action::kAdd, dbn::Side::kBid, 0, dbn::kUndefPrice, 0, kTop));
  CHECK(book().best(dbn::Side::kBid) == nullptr);
  CHECK(book().best(dbn::Side::kAsk)->price == 102);
  add(5, dbn::Side::kBid, 9, 100, 5);
  CHECK_FALSE(book().has_tops());
  CHECK(book().best(dbn::Side::kAsk) == nullptr);
  CHECK(book().best(dbn::Side::kBid)->orders == 1);
  CHECK(book().order_count() == 1);
}

TEST_CASE_METHOD(ByHand, "a loss makes every book stale until its clear") {
  add(1, dbn::Side::kBid, 1, 100, 5);
  CHECK_FALSE(book().stale());
  lose(2, 4);
  CHECK(book().stale());
  CHECK(book().lost_through() == 4);
  CHECK(books.sequence() == 4);
  add(5, dbn::Side::kBid, 2, 101, 5);
  CHECK(book().stale());
  clear(6);
  CHECK_FALSE(book().stale());
  CHECK(book().order_count() == 0);
}

TEST_CASE_METHOD(ByHand, "an empty loss is ignored") {
  add(1, dbn::Side::kBid, 1, 100, 5);
  books.take(Event{.kind = EventKind::kLost, .gap = {2, 1, 2, GapCause::kVoid, false}});
  CHECK_FALSE(book().stale());
}

TEST_CASE_METHOD(ByHand, "a beginning in the middle is a loss, and so is a jump without an event") {
  add(9, dbn::Side::kBid, 1, 100, 5);
  CHECK(book().stale());
  CHECK(book().lost_through() == 8);
  clear(10);
  CHECK_FALSE(book().stale());
  add(12, dbn::Side::kBid, 1, 100, 5);
  CHECK(book().stale());
  CHECK(book().lost_through() == 11);
}

TEST_CASE_METHOD(ByHand,
                 "with chosen instruments a jump is not a loss, but the losses of events are") {
  books.take(Event{
      .kind = EventKind::kSession, .sequence = 1, .is_first_session = true, .is_filtered = true});
  add(9, dbn::Side::kBid, 1, 100, 5);
  add(12, dbn::Side::kBid, 2, 100, 5);
  CHECK_FALSE(book().stale());
  const Gap gap{13, 20, 21, GapCause::kLapped, true};
  Event event{.kind = EventKind::kGap, .sequence = 13, .gap = gap, .is_filtered = true};
  books.take(event);  // the gap is filled
  CHECK_FALSE(book().stale());
  event.on_gap = OnGap::kSkip;
  books.take(event);
  CHECK(book().stale());
  CHECK(book().lost_through() == 20);
  books.take(Event{.kind = EventKind::kReset, .sequence = 5, .is_filtered = true});
  add(7, dbn::Side::kBid, 1, 100, 5);
  CHECK(book().lost_through() == 4);
  // A session that is not the first one, and a session without a filter.
  books.take(Event{.kind = EventKind::kSession, .sequence = 8, .is_filtered = true});
  CHECK(book().lost_through() == 4);
  books.take(Event{.kind = EventKind::kSession, .sequence = 9});
  add(11, dbn::Side::kBid, 2, 100, 5);
  CHECK(book().lost_through() == 10);
}

TEST_CASE_METHOD(ByHand, "a record that is delivered twice is not a loss") {
  add(1, dbn::Side::kBid, 1, 100, 5);
  add(1, dbn::Side::kBid, 1, 100, 5);
  CHECK_FALSE(book().stale());
  CHECK(book().lost_through() == kNoSequence);
}

TEST_CASE_METHOD(ByHand, "another history begins with empty books") {
  add(1, dbn::Side::kBid, 1, 100, 5);
  lose(2, 4);
  books.take(Event{.kind = EventKind::kReset, .sequence = 1});
  CHECK(books.books().empty());
  CHECK(books.digest() == OrderBooks().digest());
  add(1, dbn::Side::kBid, 1, 100, 5);
  CHECK_FALSE(book().stale());
}

TEST_CASE_METHOD(ByHand, "books of a journal that follows another one lack their beginning") {
  SECTION("after a reset") {
    add(1, dbn::Side::kBid, 1, 100, 5);
    books.take(Event{.kind = EventKind::kReset, .sequence = 1, .follows_journal = true});
    CHECK(books.books().empty());
  }
  SECTION("at the first session") {
    books.take(Event{.kind = EventKind::kSession,
                     .sequence = 1,
                     .is_first_session = true,
                     .follows_journal = true});
  }
  add(1, dbn::Side::kBid, 1, 100, 5);
  add(2, dbn::Side::kBid, 2, 100, 5);
  CHECK(book().stale());
  take(3, record(dbn::Action::kClear, dbn::Side::kNone, 0, dbn::kUndefPrice, 0));
  CHECK_FALSE(book().stale());
}

TEST_CASE_METHOD(ByHand, "a book is found by its instrument's symbol") {
  Symbols symbols;
  symbols.add({"ESH4", 7, 19700101, 19700102});
  CHECK(books.find_book(symbols, "ESH4") == nullptr);
  add(1, dbn::Side::kBid, 1, 100, 5);
  CHECK(books.find_book(symbols, "ESH4") == &book());
  CHECK(books.find_book(symbols, "NQH4") == nullptr);
  // The symbol is reassigned to another instrument, whose book is newer.
  symbols.add({"ESH4", 3, 19700101, 19700102});
  dbn::MboMsg other = record(dbn::Action::kAdd, dbn::Side::kBid, 2, 100, 5);
  other.hd.instrument_id = 3;
  take(2, other);
  CHECK(books.find_book(symbols, "ESH4") == books.find_book(1, 3));
  add(3, dbn::Side::kBid, 3, 100, 5);
  CHECK(books.find_book(symbols, "ESH4") == &book());
}

TEST_CASE("a loaded state replaces the old one, and continues like the one that was saved") {
  Dice dice(Catch::rngSeed());
  OrderBooks saved;
  OrderBooks loaded;
  NaiveState naive;
  const OrderFold fold;
  Sequence n = 0;
  for (int round = 0; round < 200; ++round) {
    for (std::uint64_t i = dice.below(40); i > 0; --i) {
      const dbn::MboMsg record = dice.record();
      REQUIRE(saved.apply(++n, bytes_of(record)));
      fold.apply(n, bytes_of(record), naive);
    }
    saved.for_each_entry([&](const OrderEntry& entry) {
      REQUIRE(loaded.take(
          Item{.kind = ItemKind::kState, .sequence = entry.place, .record = bytes_of(entry)}));
    });
    loaded.take(Event{.kind = EventKind::kSnapshotComplete, .sequence = n});
    REQUIRE(loaded.sequence() == n);
    REQUIRE(loaded.digest() == saved.digest());
    check_same(loaded, naive);
    const dbn::MboMsg record = dice.record();
    REQUIRE(saved.apply(++n, bytes_of(record)));
    fold.apply(n, bytes_of(record), naive);
    REQUIRE(
        loaded.take(Item{.kind = ItemKind::kRecord, .sequence = n, .record = bytes_of(record)}));
    check_same(loaded, naive);
    REQUIRE(loaded.digest() == saved.digest());
  }
}

TEST_CASE_METHOD(ByHand, "within an event neither its book nor the books are settled") {
  CHECK(books.settled());
  take(1, record(dbn::Action::kAdd, dbn::Side::kBid, 1, 100, 5, 0));
  CHECK_FALSE(book().settled());
  CHECK_FALSE(books.settled());
  add(2, dbn::Side::kBid, 2, 100, 5);
  CHECK(book().settled());
  CHECK(books.settled());
}

TEST_CASE_METHOD(ByHand, "a book keeps its address, whatever happens to it and to others") {
  add(1, dbn::Side::kBid, 1, 100, 5);
  const OrderBook* const before = &book();
  for (Sequence n = 2; n <= 1000; ++n) {
    dbn::MboMsg other = record(dbn::Action::kAdd, dbn::Side::kBid, n, 100, 5);
    other.hd.instrument_id = static_cast<std::uint32_t>(n);
    take(n, other);
  }
  clear(1001);
  CHECK(&book() == before);
  CHECK(before->order_count() == 0);
}

TEST_CASE(
    "Bytes that are not a dbn.mbo record or an entry of the fold are refused without effect") {
  ByHand hand;
  hand.add(1, dbn::Side::kBid, 1, 100, 5);
  const std::uint64_t before = hand.books.digest();
  const dbn::MboMsg record = hand.record(dbn::Action::kAdd, dbn::Side::kBid, 2, 100, 5);
  for (const std::size_t size : {std::size_t{0}, std::size_t{48}, sizeof record - 1}) {
    const std::vector<std::byte> trade(size);  // separate, so that a sanitizer detects its end
    CHECK_FALSE(hand.books.take(Item{.kind = ItemKind::kRecord, .sequence = 2, .record = trade}));
    CHECK_FALSE(hand.books.apply(2, trade));
    CHECK_FALSE(hand.books.take(Item{.kind = ItemKind::kState, .record = trade}));
    CHECK(hand.books.find(trade) == nullptr);
    hand.books.put(trade, trade);
    hand.books.erase(trade);
  }
  hand.books.erase_prefix(std::vector<std::byte>(sizeof(OrderKey) + 1));
  CHECK(hand.books.digest() == before);
  CHECK(hand.books.sequence() == 1);
  CHECK(
      hand.books.take(Item{.kind = ItemKind::kRecord, .sequence = 2, .record = bytes_of(record)}));
  CHECK(hand.books.order_count() == 2);
}

}  // namespace
}  // namespace lapwing
