#include "monitor/http/view_query.h"

#include <catch2/catch.hpp>
#include <string>

namespace lapwing {
namespace {

TEST_CASE("a query names a bus, and an instrument where it wants a certain one") {
  const auto bus = parse_view_query("/api/v1/view?bus=es");
  REQUIRE(bus.ok());
  CHECK(bus->bus == "es");
  CHECK(bus->instrument.empty());
  const auto both = parse_view_query("/api/v1/view?instrument=ES+%2B%26&bus=%2Fdata%2fa=b%3F");
  REQUIRE(both.ok());
  CHECK(both->bus == "/data/a=b?");
  CHECK(both->instrument == "ES +&");
}

TEST_CASE("a query that is none is refused") {
  const std::string longest(kViewInstrumentBytesMax, 'x');
  CHECK(parse_view_query("/v?bus=es&instrument=" + longest).ok());
  for (const std::string query :
       {"", "?", "?bus", "?bus=", "?instrument=1", "?bus=es&bus=es", "?bus=es&depth=20",
        "?bus=es&instrument=", "?bus=%", "?bus=%2", "?bus=%g0", "?bus=e%00s", "?bus=es&",
        "?bus=es&instrument=1&instrument=2",
        "?bus=es&instrument=id:", "?bus=es&instrument=id:ES"}) {
    INFO(query);
    CHECK_FALSE(parse_view_query("/v" + query).ok());
  }
  CHECK_FALSE(parse_view_query("/v?bus=es&instrument=x" + longest).ok());
}

}  // namespace
}  // namespace lapwing
