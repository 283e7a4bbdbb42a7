// Tests symbols in the C interface: by date, in both directions.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "snapshot/dbn/dbn_metadata.h"
#include "testing/c_interface.h"

namespace lapwing::c_test {
namespace {

constexpr std::uint64_t kDayNs = 86'400'000'000'000;
constexpr std::uint64_t kMay2024 = 19'844 * kDayNs;   // 2024-05-01
constexpr std::uint64_t kJuly2024 = 19'905 * kDayNs;  // 2024-07-01

// A bus whose metadata maps ES to 7 until June 2024 and then to 9, and NQ to 8.
class SymbolBus {
 public:
  SymbolBus() {
    dbn::Metadata metadata;
    metadata.dataset = "XTST.BOOK";
    metadata.schema = dbn::SchemaId::kMbo;
    metadata.symbols = {"ES", "NQ"};
    metadata.mappings = {{"ES", {{20240101, 20240601, "7"}, {20240601, 20250101, "9"}}},
                         {"NQ", {{20240101, 20250101, "8"}}}};
    const std::string bytes = *dbn::encode_metadata(metadata);
    auto options = sized<lapwing_publisher_options>();
    options.directory = path_.c_str();
    options.schema_name = "dbn.mbo";
    options.metadata = bytes.data();
    options.metadata_bytes = bytes.size();
    lapwing_publisher* opened = nullptr;
    REQUIRE(lapwing_publisher_open(&options, kTenSeconds, &opened, nullptr) == LAPWING_OK);
    publisher_.reset(opened);
    lapwing_symbols* symbols = nullptr;
    REQUIRE(lapwing_symbols_open(path_.c_str(), &symbols, nullptr) == LAPWING_OK);
    symbols_.reset(symbols);
  }
  lapwing_symbols* symbols() { return symbols_.get(); }

 private:
  TemporaryDirectory directory_;
  std::string path_ = directory_.file("bus");
  Publisher publisher_;
  Symbols symbols_;
};

TEST_CASE("a symbol is another instrument from the date of its next mapping on") {
  SymbolBus bus;
  std::uint32_t instrument = 0;
  REQUIRE(lapwing_symbols_find(bus.symbols(), "ES", kMay2024, &instrument, nullptr) == LAPWING_OK);
  CHECK(instrument == 7);
  REQUIRE(lapwing_symbols_find(bus.symbols(), "ES", kJuly2024, &instrument, nullptr) == LAPWING_OK);
  CHECK(instrument == 9);
  lapwing_symbol_mapping mapping;
  REQUIRE(lapwing_symbols_name(bus.symbols(), 7, kMay2024, &mapping, nullptr) == LAPWING_OK);
  CHECK(std::string(mapping.symbol) == "ES");
  CHECK(mapping.start_date == 20240101);
  CHECK(mapping.end_date == 20240601);
}

TEST_CASE("an unknown symbol and an unknown instrument are not found, in words") {
  SymbolBus bus;
  auto error = sized<lapwing_error>();
  std::uint32_t instrument = 5;
  CHECK(lapwing_symbols_find(bus.symbols(), "YM", kMay2024, &instrument, &error) ==
        LAPWING_ERROR_NOT_FOUND);
  CHECK(std::string(error.message).find("\"YM\"") != std::string::npos);
  CHECK(instrument == 5);
  lapwing_symbol_mapping mapping;
  CHECK(lapwing_symbols_name(bus.symbols(), 77, kMay2024, &mapping, &error) ==
        LAPWING_ERROR_NOT_FOUND);
  CHECK(std::string(error.message).find("77") != std::string::npos);
  CHECK(lapwing_symbols_find(bus.symbols(), "ES", kMay2024, nullptr, nullptr) ==
        LAPWING_ERROR_INVALID_ARGUMENT);
  CHECK(lapwing_symbols_name(bus.symbols(), 7, kMay2024, nullptr, nullptr) ==
        LAPWING_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("the list has every mapping, and says how many there are where it has less room") {
  SymbolBus bus;
  std::vector<lapwing_symbol_mapping> mappings(2);
  std::size_t count = 0;
  CHECK(lapwing_symbols_list(bus.symbols(), mappings.data(), 2, &count, nullptr) ==
        LAPWING_ERROR_TOO_SMALL);
  CHECK(count == 3);
  CHECK(mappings[1].instrument_id == 9);
  mappings.resize(count);
  REQUIRE(lapwing_symbols_list(bus.symbols(), mappings.data(), 3, &count, nullptr) == LAPWING_OK);
  CHECK(std::string(mappings[0].symbol) == "ES");
  CHECK(mappings[0].instrument_id == 7);
  CHECK(std::string(mappings[2].symbol) == "NQ");
}

TEST_CASE("a bus without a feed's metadata has no symbols") {
  TestBus bus;
  lapwing_symbols* opened = nullptr;
  CHECK(lapwing_symbols_open((bus.path() + "/none").c_str(), &opened, nullptr) ==
        LAPWING_ERROR_NO_BUS);
  CHECK(opened == nullptr);
  REQUIRE(lapwing_symbols_open(bus.path().c_str(), &opened, nullptr) == LAPWING_OK);
  const Symbols symbols(opened);
  std::size_t count = 1;
  CHECK(lapwing_symbols_list(symbols.get(), nullptr, 0, &count, nullptr) == LAPWING_OK);
  CHECK(count == 0);
}

}  // namespace
}  // namespace lapwing::c_test
