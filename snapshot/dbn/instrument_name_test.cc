// Texts that identify an instrument, and the message for a symbol that is not on the bus.
#include "snapshot/dbn/instrument_name.h"

#include <catch2/catch.hpp>
#include <limits>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "snapshot/dbn/dbn_metadata.h"

namespace lapwing {
namespace {

std::string refusal(const std::string& symbol, const dbn::Metadata& metadata) {
  const std::string bytes = dbn::encode_metadata(metadata).value();
  const absl::Status unknown = unknown_symbol(absl::StrCat("instrument ", symbol), symbol, "./es",
                                              std::as_bytes(std::span(bytes)));
  CHECK(errc_of(unknown) == Errc::kNotFound);
  return std::string(unknown.message());
}

dbn::Metadata mapped(std::initializer_list<const char*> symbols) {
  dbn::Metadata metadata;
  metadata.dataset = "XTST.BOOK";
  int id = 0;
  for (const char* const symbol : symbols) {
    metadata.mappings.push_back({symbol, {{20240101, 20250101, absl::StrCat(++id)}}});
  }
  return metadata;
}

TEST_CASE("A text is a symbol, even one of digits, and id: begins a number") {
  for (const char* const symbol :
       {"ESH4", "005930", "7203", "0", "-1", "18446744073709551616", "ID:7", "i"}) {
    const auto name = parse_instrument(symbol);
    REQUIRE(name.ok());
    CHECK(name->is_symbol());
    CHECK(name->symbol == symbol);
  }
  CHECK(parse_instrument("id:5930")->number == 5930);
  CHECK(parse_instrument("id:005930")->number == 5930);
  CHECK(parse_instrument("id:18446744073709551615")->number ==
        std::numeric_limits<std::uint64_t>::max());
  CHECK_FALSE(parse_instrument("id:7")->is_symbol());
  for (const char* const wrong :
       {"", "id:", "id:ESH4", "id:-1", "id: 7", "id:7 ", "id:+7", "id:18446744073709551616"}) {
    const absl::Status refused = parse_instrument(wrong).status();
    CAPTURE(wrong, refused);
    CHECK(errc_of(refused) == Errc::kInvalidArgument);
    CHECK(std::string(refused.message()).find(wrong) != std::string::npos);
  }
}

TEST_CASE(
    "The error names the nearest symbols of the bus with their numbers and the form of a number") {
  CHECK(refusal("ESH5", mapped({"NQH4", "ESM4", "CLG4", "ESH4", "ESH6"})) ==
        "instrument ESH5: bus ./es has no such symbol; the nearest of its 5 symbols are ESH4, ESH6 "
        "and ESM4. Give one of its symbols, or the instrument's number as id:N");
  CHECK(refusal("esh4", mapped({"ESM4", "CL", "NQ", "ESH4"})).find("are ESH4, ESM4 and ") !=
        std::string::npos);
  CHECK(refusal("X", mapped({"ESH4"})).find("its only symbol is ESH4.") != std::string::npos);
  CHECK(refusal("X", mapped({"ESH4", "A"})).find("its 2 symbols are A and ESH4.") !=
        std::string::npos);
}

TEST_CASE("A number given as a symbol is refused with the intended form") {
  CHECK(refusal("17077", mapped({"ESH4"})).find("or id:17077 for the instrument of that number") !=
        std::string::npos);
}

TEST_CASE("A symbol that the metadata lists without a number is not called unknown") {
  dbn::Metadata listed;
  listed.dataset = "XTST.BOOK";
  SECTION("as one that was asked for") {
    listed.symbols = {"SPY", "AIG"};
  }
  SECTION("as one that was resolved in part") {
    listed.partial = {"AIG"};
  }
  SECTION("as one that was not found") {
    listed.not_found = {"AIG"};
  }
  CHECK(refusal("AIG", listed)
            .starts_with("instrument AIG: the feed's metadata of bus ./es lists this symbol "
                         "without an instrument "
                         "number. Give the instrument's number as id:N"));
  CHECK(refusal("IBM", listed).starts_with("instrument IBM: bus ./es has no symbols: "));
}

TEST_CASE("A bus without metadata has no symbols, and damaged metadata are a separate error") {
  const absl::Status none = unknown_symbol("instrument A", "A", "./es", {});
  CHECK(errc_of(none) == Errc::kNotFound);
  CHECK(std::string(none.message()).find("has no symbols") != std::string::npos);
  const std::string damaged = "none";
  CHECK(errc_of(unknown_symbol("instrument A", "A", "./es", std::as_bytes(std::span(damaged)))) ==
        Errc::kBadInput);
}

}  // namespace
}  // namespace lapwing
