#include "monitor/view/view_quotes.h"

#include <catch2/catch.hpp>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "lapwing/dbn.h"
#include "lapwing/error.h"
#include "lapwing/memory_state.h"
#include "monitor/view/view_records.h"
#include "snapshot/schema/known_schemas.h"

namespace lapwing {
namespace {

using ViewJson = nlohmann::ordered_json;

// A view of an mbp-1 bus.
class Board {
 public:
  Board() { begin_session(dbn::kSchemaMbp1); }

  void begin_session(const std::string& schema, EventKind kind = EventKind::kSession) {
    Event event;
    event.kind = kind;
    event.schema_name = schema;
    if (const auto known = known_schema(schema)) {
      event.schema = std::make_shared<const Schema>(*known);
    }
    view_.take_event(event, false);
  }
  // A quote with this bid, and an ask that is one higher.
  absl::Status quote(std::uint32_t instrument, std::int64_t bid, std::uint16_t publisher = 1) {
    return take(record_of(dbn::Action::kAdd, instrument, publisher, bid));
  }
  absl::Status trade(std::uint32_t instrument, std::int64_t price) {
    dbn::Mbp1Msg record = record_of(dbn::Action::kTrade, instrument, 1, 100);
    record.price = price;
    return take(record);
  }
  absl::Status take(const dbn::Mbp1Msg& record) {
    return view_.take_records(++sequence_, std::as_bytes(std::span(&record, 1)), sizeof record);
  }
  static dbn::Mbp1Msg record_of(dbn::Action action, std::uint32_t instrument,
                                std::uint16_t publisher, std::int64_t bid) {
    dbn::Mbp1Msg record{};
    record.hd = {sizeof record / dbn::kLengthUnit, dbn::RType::kMbp1, publisher, instrument, 1};
    record.size = 2;
    record.action = action;
    record.side = dbn::Side::kAsk;
    record.level.bid_px = bid;
    record.level.bid_sz = 3;
    record.level.ask_px = bid == dbn::kUndefPrice ? bid : bid + 1;
    record.level.ask_sz = 4;
    return record;
  }
  ViewJson message() {
    ViewJson message;
    view_.prepare();
    view_.add_to(message, "");
    return message;
  }
  ViewQuotes& view() { return view_; }

 private:
  ViewQuotes view_{"nowhere"};
  Sequence sequence_ = 0;
};

TEST_CASE("A quote board has the newest quote and the last trade of each instrument") {
  Board board;
  REQUIRE(board.quote(8, 50).ok());
  REQUIRE(board.trade(7, 101).ok());
  REQUIRE(board.quote(7, 200).ok());
  const ViewJson message = board.message();
  REQUIRE(message["quotes"].size() == 2);
  const ViewJson& quote = message["quotes"][0];
  CHECK(quote["instrument_id"] == 7);
  CHECK(quote["publisher_id"] == 1);
  CHECK(quote["symbol"].is_null());
  CHECK(quote["bid"] == 200);
  CHECK(quote["bid_size"] == 3);
  CHECK(quote["ask"] == 201);
  CHECK(quote["ask_size"] == 4);
  CHECK(quote["last"] == 101);
  CHECK(quote["last_size"] == 2);
  CHECK(quote["last_side"] == "A");
  CHECK(quote["age_seconds"] >= 0);
  CHECK(message["quotes"][1]["instrument_id"] == 8);
  CHECK(message["quotes"][1]["last"].is_null());
  CHECK(message["quotes"][1]["last_side"].is_null());
  CHECK(message["book"].is_null());
  CHECK(board.view().sequence() == 3);
  // The records below the quotes: only the newest ones, with the newest last.
  REQUIRE(message["records"].size() == 2);
  CHECK(message["records"][0]["seq"] == 1);
  CHECK(message["records"][1]["seq"] == 3);
}

TEST_CASE("A side without orders is null, and so is its size") {
  Board board;
  REQUIRE(board.quote(7, dbn::kUndefPrice).ok());
  const ViewJson message = board.message();
  const ViewJson& quote = message["quotes"][0];
  for (const char* key : {"bid", "bid_size", "ask", "ask_size"}) CHECK(quote[key].is_null());
}

TEST_CASE("An instrument has a quote for each publisher") {
  Board board;
  REQUIRE(board.quote(7, 10, 1).ok());
  REQUIRE(board.quote(7, 20, 2).ok());
  const ViewJson message = board.message();
  REQUIRE(message["quotes"].size() == 2);
  CHECK(message["quotes"][0]["bid"] == 10);
  CHECK(message["quotes"][1]["bid"] == 20);
  CHECK(message["quotes"][1]["publisher_id"] == 2);
}

TEST_CASE("Of many instruments those with most records are quoted") {
  Board board;
  constexpr std::uint32_t kInstruments = kViewQuotesMax + 44;
  for (std::uint32_t instrument = 1; instrument <= kInstruments; ++instrument) {
    REQUIRE(board.quote(instrument, 10).ok());
    if (instrument > 44) REQUIRE(board.quote(instrument, 11).ok());
  }
  const ViewJson message = board.message();
  REQUIRE(message["quotes"].size() == kViewQuotesMax);
  CHECK(message["quotes"].front()["instrument_id"] == 45);
  CHECK(message["quotes"].back()["instrument_id"] == kInstruments);
  CHECK(message["records"].size() == kViewRecordsMax);
}

TEST_CASE("A bus with too many instruments ends its view, with words") {
  Board board;
  for (std::uint32_t instrument = 1; instrument <= kQuotesKeptMax; ++instrument) {
    if (!board.quote(instrument, 10).ok()) FAIL(instrument);
  }
  CHECK(board.quote(1, 11).ok());
  const absl::Status full = board.quote(kQuotesKeptMax + 1, 10);
  CHECK(errc_of(full) == Errc::kLimit);
  CHECK(full.message().find("65536 instruments, too many for a view") != std::string::npos);
}

TEST_CASE("Quotes stay for a session of the same records, and go with other ones or a reset") {
  Board board;
  REQUIRE(board.quote(7, 10).ok());
  board.begin_session(dbn::kSchemaMbp1);
  CHECK(board.message()["quotes"].size() == 1);
  board.begin_session(dbn::kSchemaMbp1, EventKind::kReset);
  CHECK(board.message()["quotes"].empty());
  CHECK(board.view().sequence() == kNoSequence);
  REQUIRE(board.quote(7, 10).ok());
  board.begin_session(dbn::kSchemaTrades);
  CHECK(board.message()["quotes"].empty());
}

TEST_CASE("Records that are shorter than described are passed over") {
  Board board;
  const std::vector<std::byte> half(sizeof(dbn::Mbp1Msg) / 2);
  REQUIRE(board.view().take_records(1, half, half.size()).ok());
  CHECK(board.message()["quotes"].empty());
}

TEST_CASE("An entry of a state is quoted, and its record has no sequence") {
  Board board;
  const auto fold = make_fold(kFoldLatest, dbn::kSchemaMbp1);
  REQUIRE(fold.ok());
  MemoryState state((*fold)->shape());
  const dbn::Mbp1Msg record = Board::record_of(dbn::Action::kAdd, 7, 1, 10);
  (*fold)->apply(5, std::as_bytes(std::span(&record, 1)), state);
  state.for_each([&](std::span<const std::byte> entry) {
    REQUIRE(board.view().take_state(entry, **fold).ok());
  });
  const ViewJson message = board.message();
  REQUIRE(message["quotes"].size() == 1);
  CHECK(message["quotes"][0]["bid"] == 10);
  CHECK(message["records"][0]["seq"].is_null());
}

}  // namespace
}  // namespace lapwing
