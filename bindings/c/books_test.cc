// Tests order books in the C interface, which take batches only in order.
#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

#include "lapwing/dbn.h"
#include "testing/c_interface.h"

namespace lapwing::c_test {
namespace {

constexpr std::int64_t kUnit = 1'000'000'000;

dbn::MboMsg add(std::uint64_t id, dbn::Side side, std::int64_t price, std::uint32_t size) {
  dbn::MboMsg msg{};
  msg.hd.length = sizeof msg / 4;
  msg.hd.rtype = dbn::RType::kMbo;
  msg.hd.publisher_id = 1;
  msg.hd.instrument_id = 7;
  msg.order_id = id;
  msg.price = price * kUnit;
  msg.size = size;
  msg.flags = dbn::kFlagLast;
  msg.action = dbn::Action::kAdd;
  msg.side = side;
  return msg;
}

lapwing_batch batch_of(std::vector<dbn::MboMsg>& rows, std::uint64_t first) {
  auto batch = sized<lapwing_batch>();
  batch.kind = LAPWING_BATCH_RECORDS;
  batch.rows = rows.data();
  batch.rows_bytes = rows.size() * sizeof rows[0];
  batch.count = rows.size();
  batch.first = first;
  batch.row_bytes = sizeof rows[0];
  return batch;
}

Books make_books() {
  lapwing_books* made = nullptr;
  REQUIRE(lapwing_books_create(&made, nullptr) == LAPWING_OK);
  return Books(made);
}

constexpr lapwing_book_key kKey{7, 1, 0};

TEST_CASE("books hold what batches say, level by level and order by order") {
  const Books books = make_books();
  std::vector<dbn::MboMsg> rows = {add(1, dbn::Side::kBid, 100, 5), add(2, dbn::Side::kBid, 100, 6),
                                   add(3, dbn::Side::kBid, 99, 7), add(4, dbn::Side::kAsk, 101, 8)};
  const lapwing_batch batch = batch_of(rows, 1);
  REQUIRE(lapwing_books_take(books.get(), &batch, nullptr) == LAPWING_OK);

  auto info = sized<lapwing_books_info>();
  REQUIRE(lapwing_books_inspect(books.get(), &info, nullptr) == LAPWING_OK);
  CHECK(info.books == 1);
  CHECK(info.orders == 4);
  CHECK(info.sequence == 4);
  CHECK(info.is_settled == 1);
  CHECK(info.digest != 0);

  lapwing_book_key key{};
  std::size_t count = 0;
  CHECK(lapwing_books_list(books.get(), nullptr, 0, &count, nullptr) == LAPWING_ERROR_TOO_SMALL);
  CHECK(count == 1);
  CHECK(lapwing_books_list(books.get(), &key, 1, &count, nullptr) == LAPWING_OK);
  CHECK(key.instrument_id == 7);
  CHECK(key.publisher_id == 1);

  auto book = sized<lapwing_book>();
  REQUIRE(lapwing_books_find(books.get(), kKey, &book, nullptr) == LAPWING_OK);
  CHECK(book.bid.price == 100 * kUnit);
  CHECK(book.bid.size == 11);
  CHECK(book.bid.orders == 2);
  CHECK(book.ask.price == 101 * kUnit);
  CHECK(book.ask.size == 8);
  CHECK(book.ask.orders == 1);
  CHECK(book.orders == 4);
  CHECK(book.bid_levels == 2);
  CHECK(book.ask_levels == 1);
  CHECK(lapwing_books_find(books.get(), {8, 1, 0}, &book, nullptr) == LAPWING_ERROR_NOT_FOUND);

  lapwing_level levels[4];
  CHECK(lapwing_books_levels(books.get(), kKey, 'B', 1, levels, 4, &count, nullptr) == LAPWING_OK);
  CHECK(count == 1);
  CHECK(levels[0].price == 99 * kUnit);
  CHECK(levels[0].size == 7);
  CHECK(levels[0].orders == 1);
  CHECK(lapwing_books_levels(books.get(), kKey, 'B', 2, levels, 4, &count, nullptr) == LAPWING_OK);
  CHECK(count == 0);
  CHECK(lapwing_books_levels(books.get(), kKey, 'X', 0, levels, 4, &count, nullptr) ==
        LAPWING_ERROR_INVALID_ARGUMENT);

  lapwing_order orders[2];
  CHECK(lapwing_books_orders(books.get(), kKey, 'B', 0, orders, 1, &count, nullptr) ==
        LAPWING_ERROR_TOO_SMALL);
  CHECK(count == 2);
  CHECK(lapwing_books_orders(books.get(), kKey, 'B', 0, orders, 2, &count, nullptr) == LAPWING_OK);
  CHECK(orders[0].order_id == 1);
  CHECK(orders[1].size == 6);
  CHECK(lapwing_books_orders(books.get(), kKey, 'B', 9, orders, 2, &count, nullptr) ==
        LAPWING_ERROR_NOT_FOUND);
}

TEST_CASE("an empty side has no price") {
  const Books books = make_books();
  std::vector<dbn::MboMsg> rows = {add(1, dbn::Side::kBid, 100, 5)};
  const lapwing_batch batch = batch_of(rows, 1);
  REQUIRE(lapwing_books_take(books.get(), &batch, nullptr) == LAPWING_OK);
  auto book = sized<lapwing_book>();
  REQUIRE(lapwing_books_find(books.get(), kKey, &book, nullptr) == LAPWING_OK);
  CHECK(book.ask.price == std::numeric_limits<std::int64_t>::max());
  CHECK(book.ask.size == 0);
}

TEST_CASE("a batch that does not follow is refused and changes nothing") {
  const Books books = make_books();
  std::vector<dbn::MboMsg> rows = {add(1, dbn::Side::kBid, 100, 5)};
  lapwing_batch batch = batch_of(rows, 5);
  REQUIRE(lapwing_books_take(books.get(), &batch, nullptr) == LAPWING_OK);
  auto before = sized<lapwing_books_info>();
  REQUIRE(lapwing_books_inspect(books.get(), &before, nullptr) == LAPWING_OK);
  auto error = sized<lapwing_error>();
  rows[0].order_id = 2;
  for (const std::uint64_t first : {5u, 7u, 4u}) {
    batch.first = first;
    CHECK(lapwing_books_take(books.get(), &batch, &error) == LAPWING_ERROR_MISUSE);
  }
  CHECK(std::string(error.message).find("next one is 6") != std::string::npos);
  auto after = sized<lapwing_books_info>();
  REQUIRE(lapwing_books_inspect(books.get(), &after, nullptr) == LAPWING_OK);
  CHECK(after.digest == before.digest);
  CHECK(after.orders == 1);
}

TEST_CASE("rows that the batch's memory has no place for are refused and change nothing") {
  const Books books = make_books();
  std::vector<dbn::MboMsg> rows = {add(1, dbn::Side::kBid, 100, 5), add(2, dbn::Side::kBid, 99, 5)};
  const lapwing_batch good = batch_of(rows, 1);
  lapwing_batch batch = good;
  std::uint64_t sequences[2] = {1, 2};
  SECTION("no memory") {
    batch.rows = nullptr;
  }
  SECTION("memory for one row") {
    batch.rows_bytes = sizeof rows[0];
  }
  SECTION("a column for one row") {
    batch.sequences = sequences;
    batch.rows_max = 1;
  }
  SECTION("a count beyond all memory") {
    batch.count = SIZE_MAX;
  }
  CHECK(lapwing_books_take(books.get(), &batch, nullptr) == LAPWING_ERROR_INVALID_ARGUMENT);
  auto info = sized<lapwing_books_info>();
  REQUIRE(lapwing_books_inspect(books.get(), &info, nullptr) == LAPWING_OK);
  CHECK(info.orders == 0);
  CHECK(lapwing_books_take(books.get(), &good, nullptr) == LAPWING_OK);
}

TEST_CASE("after a gap the books go on where the records do, and are stale") {
  const Books books = make_books();
  std::vector<dbn::MboMsg> rows = {add(1, dbn::Side::kBid, 100, 5)};
  lapwing_batch batch = batch_of(rows, 1);
  REQUIRE(lapwing_books_take(books.get(), &batch, nullptr) == LAPWING_OK);
  auto gap = sized<lapwing_batch>();
  gap.kind = LAPWING_BATCH_EVENT;
  gap.event.kind = LAPWING_EVENT_GAP;
  gap.event.cause = LAPWING_CAUSE_LAPPED;
  gap.event.first = 2;
  gap.event.last = 9;
  gap.event.resume = 10;
  REQUIRE(lapwing_books_take(books.get(), &gap, nullptr) == LAPWING_OK);
  batch.first = 1;
  CHECK(lapwing_books_take(books.get(), &batch, nullptr) == LAPWING_ERROR_MISUSE);
  batch.first = 10;
  rows[0].order_id = 2;
  REQUIRE(lapwing_books_take(books.get(), &batch, nullptr) == LAPWING_OK);
  auto book = sized<lapwing_book>();
  REQUIRE(lapwing_books_find(books.get(), kKey, &book, nullptr) == LAPWING_OK);
  CHECK(book.is_stale == 1);
  CHECK(book.lost_through == 9);
}

TEST_CASE("books of chosen instruments take jumps for others' records, and events for losses") {
  const Books books = make_books();
  auto session = sized<lapwing_batch>();
  session.kind = LAPWING_BATCH_EVENT;
  session.event.kind = LAPWING_EVENT_SESSION;
  session.event.sequence = 1;
  session.event.is_first_session = 1;
  session.event.is_filtered = 1;
  REQUIRE(lapwing_books_take(books.get(), &session, nullptr) == LAPWING_OK);
  std::vector<dbn::MboMsg> rows = {add(1, dbn::Side::kBid, 100, 5)};
  for (const std::uint64_t first : {5u, 9u}) {
    rows[0].order_id = first;
    const lapwing_batch batch = batch_of(rows, first);
    REQUIRE(lapwing_books_take(books.get(), &batch, nullptr) == LAPWING_OK);
    CHECK(lapwing_books_take(books.get(), &batch, nullptr) == LAPWING_ERROR_MISUSE);
  }
  auto book = sized<lapwing_book>();
  REQUIRE(lapwing_books_find(books.get(), kKey, &book, nullptr) == LAPWING_OK);
  CHECK(book.orders == 2);
  CHECK(book.is_stale == 0);

  auto gap = session;
  gap.event = {};
  gap.event.kind = LAPWING_EVENT_GAP;
  gap.event.cause = LAPWING_CAUSE_LAPPED;
  gap.event.first = 10;
  gap.event.last = 20;
  gap.event.resume = 21;
  gap.event.is_filtered = 1;
  gap.event.is_skipped = 1;
  REQUIRE(lapwing_books_take(books.get(), &gap, nullptr) == LAPWING_OK);
  REQUIRE(lapwing_books_find(books.get(), kKey, &book, nullptr) == LAPWING_OK);
  CHECK(book.is_stale == 1);
  CHECK(book.lost_through == 20);
}

TEST_CASE("rows of another size, and rows that stand for others, are refused") {
  const Books books = make_books();
  std::vector<dbn::MboMsg> rows = {add(1, dbn::Side::kBid, 100, 5)};
  lapwing_batch batch = batch_of(rows, 1);
  batch.row_bytes = 48;
  CHECK(lapwing_books_take(books.get(), &batch, nullptr) == LAPWING_ERROR_RECORD_SIZE);
  batch.kind = LAPWING_BATCH_STATE;
  CHECK(lapwing_books_take(books.get(), &batch, nullptr) == LAPWING_ERROR_RECORD_SIZE);
  batch = batch_of(rows, 1);
  std::uint64_t sequence = 1;
  std::uint64_t conflated = 2;
  batch.flags = LAPWING_BATCH_SPARSE;
  CHECK(lapwing_books_take(books.get(), &batch, nullptr) == LAPWING_ERROR_INVALID_ARGUMENT);
  batch.sequences = &sequence;
  batch.conflated = &conflated;
  CHECK(lapwing_books_take(books.get(), &batch, nullptr) == LAPWING_ERROR_INVALID_ARGUMENT);
  batch.kind = 9;
  CHECK(lapwing_books_take(books.get(), &batch, nullptr) == LAPWING_ERROR_INVALID_ARGUMENT);
  CHECK(lapwing_books_take(books.get(), nullptr, nullptr) == LAPWING_ERROR_INVALID_ARGUMENT);
  auto info = sized<lapwing_books_info>();
  REQUIRE(lapwing_books_inspect(books.get(), &info, nullptr) == LAPWING_OK);
  CHECK(info.orders == 0);
}

}  // namespace
}  // namespace lapwing::c_test
