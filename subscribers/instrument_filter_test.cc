// Selects the records of chosen instruments using only the description and the feed's metadata.
#include "subscribers/instrument_filter.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "lapwing/error.h"
#include "snapshot/schema/known_schemas.h"
#include "testing/instrument_feed.h"
#include "testing/order_records.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kDay = InstrumentFeed::kDayNs;
constexpr std::uint64_t kJan1 = InstrumentFeed::kJan1 * kDay;

std::vector<std::byte> signal(std::uint32_t instrument, std::uint64_t ts_recv = kJan1) {
  Signal made{};
  made.instrument = instrument;
  made.ts_recv = ts_recv;
  const auto bytes = std::as_bytes(std::span(&made, 1));
  return {bytes.begin(), bytes.end()};
}

// A filter for records of that description, on its own bus.
struct Filter {
  Filter(std::vector<std::string> instruments, const Schema& description,
         std::vector<dbn::SymbolMapping> mappings = {})
      : filter(instruments) {
    if (!mappings.empty()) write_symbols(bus, std::move(mappings));
    begun = filter.begin(bus.directory(), &description, {});
  }
  bool says(const std::string& words) const {
    UNSCOPED_INFO(begun);
    return std::string(begun.message()).find(words) != std::string::npos;
  }

  TestBus bus;
  InstrumentFilter filter;
  absl::Status begun;
};

TEST_CASE("A record is chosen by a number in its field instrument_id, or else in its key") {
  Filter of_signals({"id:7", "id:3"}, schema_of<Signal>());
  REQUIRE(of_signals.begun.ok());
  CHECK(of_signals.filter.matches(signal(7)));
  CHECK(of_signals.filter.matches(signal(3)));
  CHECK_FALSE(of_signals.filter.matches(signal(5)));

  Filter of_orders({"id:7"}, known_schema("dbn.mbo").value());
  REQUIRE(of_orders.begun.ok());
  dbn::MboMsg order = test_record(dbn::Action::kAdd, 1, dbn::Side::kBid, 100, 1);
  order.hd.publisher_id = 5;  // also a key field, before the instrument
  CHECK(of_orders.filter.matches(std::as_bytes(std::span(&order, 1))));
  order.hd.instrument_id = 5;
  order.hd.publisher_id = 7;
  CHECK_FALSE(of_orders.filter.matches(std::as_bytes(std::span(&order, 1))));
}

TEST_CASE("A number of any width is the instrument") {
  const auto [type, bytes] = GENERATE(table<FieldType, std::uint32_t>({{FieldType::kUInt8, 1},
                                                                       {FieldType::kUInt16, 2},
                                                                       {FieldType::kUInt32, 4},
                                                                       {FieldType::kUInt64, 8}}));
  const Schema schema{
      .name = "desk.wide",
      .record_bytes = 16,
      .fields = {Field{
          .name = "what", .type = type, .offset = 8, .bytes = bytes, .role = FieldRole::kKey}}};
  const std::uint64_t largest = ~std::uint64_t{0} >> (64 - 8 * bytes);
  Filter filter({absl::StrCat("id:", largest)}, schema);
  REQUIRE(filter.begun.ok());
  std::vector<std::byte> record(16, std::byte{0xff});
  CHECK(filter.filter.matches(record));
  record[8] = std::byte{0xfe};
  CHECK_FALSE(filter.filter.matches(record));
  if (bytes == 8) return;
  const Filter beyond({absl::StrCat("id:", largest + 1)}, schema);
  CHECK(errc_of(beyond.begun) == Errc::kInvalidArgument);
  CHECK(beyond.says(absl::StrCat("the field what is a number of ", bytes, " bytes")));
}

TEST_CASE("A symbol selects the instrument that it maps to at the record's own time") {
  Filter filter({"ROLL"}, schema_of<Signal>(),
                {{"ROLL", {{20240101, 20240102, "1"}, {20240102, 20240103, "2"}}}});
  REQUIRE(filter.begun.ok());
  for (int round = 0; round < 3; ++round) {  // back and forth around midnight
    CHECK(filter.filter.matches(signal(1, kJan1)));
    CHECK_FALSE(filter.filter.matches(signal(2, kJan1 + kDay - 1)));
    CHECK_FALSE(filter.filter.matches(signal(1, kJan1 + kDay)));
    CHECK(filter.filter.matches(signal(2, kJan1 + kDay)));
  }
  for (std::uint64_t day = 2; day < 20; ++day) {  // more days than are kept
    CHECK(filter.filter.matches(signal(2, kJan1 + day * kDay)));
  }
  CHECK(filter.filter.matches(signal(1, kJan1)));
  // A record without a time uses the newest mapping.
  CHECK(filter.filter.matches(signal(2, dbn::kUndefTimestamp)));
  CHECK_FALSE(filter.filter.matches(signal(1, 0)));
}

TEST_CASE("An instrument that another symbol has by then no longer belongs to the symbol") {
  Filter filter({"OLD", "id:4"}, schema_of<Signal>(),
                {{"OLD", {{20240101, 20240102, "1"}}}, {"NEW", {{20240102, 20240103, "1"}}}});
  REQUIRE(filter.begun.ok());
  CHECK(filter.filter.matches(signal(1, kJan1)));
  CHECK_FALSE(filter.filter.matches(signal(1, kJan1 + kDay)));
  CHECK(filter.filter.matches(signal(4, kJan1 + kDay)));  // a number is the same on any day
}

TEST_CASE("A text of digits is a symbol, and differs from the instrument of that number") {
  Filter filter({"005930", "7"}, schema_of<Signal>(),
                {{"005930", {{20240101, 20240102, "1001"}}},
                 {"000660", {{20240101, 20240102, "5930"}}},
                 {"7", {{20240101, 20240102, "8"}}}});
  REQUIRE(filter.begun.ok());
  CHECK(filter.filter.matches(signal(1001)));
  CHECK(filter.filter.matches(signal(8)));
  CHECK_FALSE(filter.filter.matches(signal(5930)));
  CHECK_FALSE(filter.filter.matches(signal(7)));
  const Filter unknown({"5930"}, schema_of<Signal>(), {{"005930", {{20240101, 20240102, "1"}}}});
  CHECK(errc_of(unknown.begun) == Errc::kNotFound);
  CHECK(unknown.says("its only symbol is 005930."));
  CHECK(unknown.says("or id:5930 for the instrument of that number"));
}

TEST_CASE("No metadata are read for a number") {
  Filter filter({"id:1"}, schema_of<Signal>(), {{"1", {{20240101, 20240102, "2"}}}});
  REQUIRE(filter.begun.ok());
  CHECK(filter.filter.matches(signal(1)));
  CHECK_FALSE(filter.filter.matches(signal(2)));
  REQUIRE(write_feed_metadata(filter.bus.directory(), "none", std::nullopt).ok());
  const Schema schema = schema_of<Signal>();
  CHECK(filter.filter.begin(filter.bus.directory(), &schema, {}).ok());
  InstrumentFilter by_symbol({"ESH4"});
  CHECK(errc_of(by_symbol.begin(filter.bus.directory(), &schema, {})) == Errc::kBadInput);
  CHECK_FALSE(by_symbol.matches(signal(1)));
}

TEST_CASE("An impossible choice is reported with a message, and then nothing matches") {
  SECTION("an unknown symbol") {
    Filter filter({"id:1", "NONE"}, schema_of<Signal>(), {{"ESH4", {{20240101, 20240102, "1"}}}});
    CHECK(errc_of(filter.begun) == Errc::kNotFound);
    CHECK(filter.says(filter.bus.directory()));
    CHECK(filter.says("instrument NONE: bus "));
    CHECK(filter.says("its only symbol is ESH4. Give one of its symbols"));
    CHECK_FALSE(filter.filter.matches(signal(1)));
    CHECK_FALSE(filter.filter.matches(1, 0));
    CHECK(filter.filter.count_others(signal(1)) == 0);
  }
  SECTION("records without an instrument") {
    Schema schema = schema_of<Signal>();
    schema.fields[1].role = FieldRole::kData;
    const Filter filter({"id:1"}, schema);
    CHECK(errc_of(filter.begun) == Errc::kInvalidArgument);
    CHECK(filter.says("carries desk.signal, which has neither a field instrument_id nor"));
  }
  SECTION("records whose key is a text") {
    Schema schema = schema_of<Signal>();
    schema.fields[1].type = FieldType::kText;
    const Filter filter({"id:1"}, schema);
    CHECK(errc_of(filter.begun) == Errc::kInvalidArgument);
    CHECK(filter.says("(its key instrument is text)"));
  }
  SECTION("records that nobody has described") {
    TestBus bus;
    InstrumentFilter filter({"id:1"});
    const absl::Status begun = filter.begin(bus.directory(), nullptr, {});
    CHECK(errc_of(begun) == Errc::kInvalidArgument);
    CHECK(std::string(begun.message()).find("the records of bus") == 0);
  }
}

TEST_CASE("Leading records are counted up to the first that is chosen, or not chosen") {
  Filter filter({"id:1"}, schema_of<Signal>());
  REQUIRE(filter.begun.ok());
  std::vector<std::byte> records;
  for (const std::uint32_t instrument : {2U, 3U, 1U, 1U, 1U, 2U}) {
    const std::vector<std::byte> record = signal(instrument);
    records.insert(records.end(), record.begin(), record.end());
  }
  const std::span<const std::byte> all(records);
  CHECK(filter.filter.count_others(all) == 2);
  CHECK(filter.filter.count_chosen(all) == 0);
  CHECK(filter.filter.count_chosen(all.subspan(2 * sizeof(Signal))) == 3);
  CHECK(filter.filter.count_others(all.subspan(5 * sizeof(Signal))) == 1);
  CHECK(filter.filter.count_others({}) == 0);
}

TEST_CASE("An entry is chosen by its record, and the loss of the whole bus always") {
  Filter filter({"id:7"}, known_schema("dbn.mbo").value());
  REQUIRE(filter.begun.ok());
  TestOrders orders;
  orders.add(1, dbn::Side::kBid, 100, 5);
  orders.lose(3);
  dbn::MboMsg other = test_record(dbn::Action::kAdd, 2, dbn::Side::kBid, 100, 5);
  other.hd.instrument_id = 8;
  orders.apply(other);
  const FoldShape& shape = orders.fold().shape();
  std::vector<std::uint32_t> chosen;
  orders.state().for_each([&](std::span<const std::byte> bytes) {
    OrderEntry entry;
    std::memcpy(&entry, bytes.data(), sizeof entry);
    if (filter.filter.matches_entry(shape, bytes)) chosen.push_back(entry.msg.hd.instrument_id);
  });
  CHECK(chosen == std::vector<std::uint32_t>{0, 7, 7});  // the loss, the book, the order
  FoldShape without_record = shape;
  without_record.entry_record_bytes = 0;
  CHECK(filter.filter.matches_entry(without_record, std::vector<std::byte>(64)));
  CHECK_FALSE(filter.filter.matches_entry(shape, std::vector<std::byte>(8)));
}

TEST_CASE("Empty names and too many names are refused") {
  CHECK(check_instruments({}).ok());
  CHECK(check_instruments({"ESH4", "7", "id:7"}).ok());
  CHECK(errc_of(check_instruments({"ESH4", ""})) == Errc::kInvalidArgument);
  CHECK(errc_of(check_instruments({"ESH4", "id:7x"})) == Errc::kInvalidArgument);
  CHECK(check_instruments(std::vector<std::string>(kInstrumentsMax, "1")).ok());
  CHECK(errc_of(check_instruments(std::vector<std::string>(kInstrumentsMax + 1, "1"))) ==
        Errc::kLimit);
}

}  // namespace
}  // namespace lapwing
