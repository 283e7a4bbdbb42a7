#include "lapwing/symbols.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lapwing/error.h"
#include "snapshot/bus_directory.h"
#include "snapshot/dbn/dbn_metadata.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kDay = 86'400'000'000'000;
constexpr std::uint64_t kJan2 = 1'704'205'800'000'000'000;  // 2024-01-02 14:30 UTC

Symbols symbols_of(const dbn::Metadata& metadata) {
  const absl::StatusOr<std::string> bytes = dbn::encode_metadata(metadata);
  REQUIRE(bytes.ok());
  const auto symbols = Symbols::of_metadata(std::as_bytes(std::span(*bytes)));
  REQUIRE(symbols.ok());
  return *symbols;
}

TEST_CASE("Lookups of an unknown symbol or instrument return nothing") {
  Symbols symbols;
  CHECK(symbols.empty());
  CHECK(symbols.names().empty());
  symbols.add({"ESH4", 17077, 20240101, 20240103});
  CHECK_FALSE(symbols.empty());
  CHECK_FALSE(symbols.instrument_id("CLG4", kJan2));
  CHECK(symbols.instrument_ids("CLG4").empty());
  CHECK(symbols.symbol(5, kJan2).empty());
}

TEST_CASE("Symbols map to instruments by date, and outside all dates to the last one") {
  Symbols symbols;
  symbols.add({"ESH4", 99, 20240103, 20240104});
  symbols.add({"NQH4", 17077, 20240103, 20240105});
  symbols.add({"ESH4", 17077, 20240101, 20240103});
  CHECK(symbols.symbol(17077, kJan2) == "ESH4");
  CHECK(symbols.symbol(17077, kJan2 + kDay) == "NQH4");
  CHECK(symbols.symbol(17077, kJan2 + 400 * kDay) == "NQH4");
  CHECK(symbols.symbol(99, kJan2) == "ESH4");
  CHECK(symbols.instrument_id("ESH4", kJan2) == 17077);
  CHECK(symbols.instrument_id("ESH4", kJan2 + kDay) == 99);
  CHECK(symbols.instrument_id("ESH4", kJan2 + 400 * kDay) == 99);
  CHECK(symbols.instrument_ids("ESH4") == std::vector<std::uint32_t>{99, 17077});
  CHECK(symbols.names() == std::vector<std::string>{"ESH4", "NQH4"});
}

TEST_CASE("A symbol maps to an instrument on its dates, and beyond them until another one does") {
  Symbols symbols;
  symbols.add({"ESH4", 1, 20240101, 20240103});
  symbols.add({"NQH4", 1, 20240103, 20240104});
  symbols.add({"ROLL", 1, 20240101, 20240103});  // another name for the same instrument
  symbols.add({"ROLL", 2, 20240103, 20240104});
  CHECK(symbols.stands_for("ESH4", 1, kJan2));
  CHECK_FALSE(symbols.stands_for("ESH4", 2, kJan2));
  CHECK_FALSE(symbols.stands_for("ESH4", 1, kJan2 + kDay));
  CHECK(symbols.stands_for("NQH4", 1, kJan2 + kDay));
  CHECK(symbols.stands_for("ROLL", 1, kJan2));
  CHECK_FALSE(symbols.stands_for("ROLL", 1, kJan2 + kDay));
  CHECK(symbols.stands_for("ROLL", 2, kJan2 + kDay));
  CHECK(symbols.stands_for("ESH4", 1, kJan2 + 400 * kDay));
  CHECK(symbols.stands_for("ROLL", 2, kJan2 + 400 * kDay));
  CHECK_FALSE(symbols.stands_for("ROLL", 1, kJan2 + 400 * kDay));
  CHECK_FALSE(symbols.stands_for("CLG4", 1, kJan2));
}

TEST_CASE("Selected symbols map as before, with the other symbols of their instruments") {
  Symbols symbols;
  symbols.add({"ESH4", 1, 20240101, 20240103});
  symbols.add({"NQH4", 1, 20240103, 20240104});
  symbols.add({"CLG4", 3, 20240101, 20240104});
  const std::vector<std::string> wanted = {"ESH4", "NONE", "ESH4"};
  const Symbols selected = symbols.select(wanted);
  CHECK(selected.names() == std::vector<std::string>{"ESH4"});
  CHECK(selected.stands_for("ESH4", 1, kJan2));
  CHECK_FALSE(selected.stands_for("ESH4", 1, kJan2 + kDay));
  CHECK(selected.symbol(1, kJan2 + kDay) == "NQH4");
  CHECK(selected.symbol(3, kJan2).empty());
}

TEST_CASE("A date ends at midnight UTC") {
  Symbols symbols;
  symbols.add({"OLD", 1, 20240101, 20240103});
  symbols.add({"NEW", 1, 20240103, 20240105});
  constexpr std::uint64_t kJanuary3 = 1'704'240'000'000'000'000;  // 00:00
  CHECK(symbols.symbol(1, kJanuary3 - 1) == "OLD");
  CHECK(symbols.symbol(1, kJanuary3) == "NEW");
}

TEST_CASE("DBN metadata maps symbols to instruments, or instruments to symbols") {
  dbn::Metadata metadata;
  SECTION("symbols to instruments") {
    metadata.stype_in = dbn::SType::kRawSymbol;
    metadata.stype_out = dbn::SType::kInstrumentId;
    metadata.mappings = {{"ESH4", {{20240101, 20240103, "17077"}}}};
  }
  SECTION("instruments to symbols") {
    metadata.stype_in = dbn::SType::kInstrumentId;
    metadata.stype_out = dbn::SType::kRawSymbol;
    metadata.mappings = {{"17077", {{20240101, 20240103, "ESH4"}}}};
  }
  const Symbols symbols = symbols_of(metadata);
  CHECK(symbols.symbol(17077, 0) == "ESH4");
  CHECK(symbols.instrument_id("ESH4", 0) == 17077);
}

TEST_CASE("An invalid instrument number is omitted") {
  dbn::Metadata metadata;
  metadata.stype_in = dbn::SType::kRawSymbol;
  metadata.mappings = {{"ESH4", {{20240101, 20240103, "ES.FUT"}, {20240103, 20240105, ""}}}};
  CHECK(symbols_of(metadata).empty());
}

TEST_CASE("Bytes that are not metadata are refused") {
  const std::string bytes = "no metadata";
  CHECK(errc_of(Symbols::of_metadata(std::as_bytes(std::span(bytes))).status()) == Errc::kBadInput);
}

TEST_CASE("A bus has the symbols of its feed, or none") {
  const TemporaryDirectory directory;
  const std::string bus = directory.file("bus");
  std::filesystem::create_directory(bus);
  CHECK(errc_of(Symbols::of_bus(bus).status()) == Errc::kNoBus);
  BusDescription description;
  description.record_bytes = 56;
  description.slot_bytes = 64;
  description.capacity = 1024;
  REQUIRE(write_bus_description(bus, description, std::nullopt).ok());
  auto symbols = Symbols::of_bus(bus);
  INFO(symbols.status().ToString());
  REQUIRE(symbols.ok());
  CHECK(symbols->empty());
  dbn::Metadata metadata;
  metadata.stype_in = dbn::SType::kInstrumentId;
  metadata.mappings = {{"17077", {{20240101, 20240103, "ESH4"}}}};
  REQUIRE(write_feed_metadata(bus, dbn::encode_metadata(metadata).value(), std::nullopt).ok());
  symbols = Symbols::of_bus(bus);
  REQUIRE(symbols.ok());
  CHECK(symbols->instrument_id("ESH4", 0) == 17077);
}

}  // namespace
}  // namespace lapwing
