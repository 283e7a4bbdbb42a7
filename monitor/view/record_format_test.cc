#include "monitor/view/record_format.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <span>

#include "lapwing/schema.h"

namespace lapwing {
namespace {

struct Reading {
  double wide;
  float narrow;
  std::uint32_t count;
};

std::shared_ptr<const Schema> schema_of_readings() {
  Schema schema{.name = "desk.reading", .version = 1, .record_bytes = sizeof(Reading)};
  schema.fields = {
      {.name = "wide", .type = FieldType::kFloat64, .offset = 0, .bytes = 8},
      {.name = "narrow", .type = FieldType::kFloat32, .offset = 8, .bytes = 4},
      {.name = "count", .type = FieldType::kUInt32, .offset = 12, .bytes = 4},
  };
  REQUIRE(schema.check().ok());
  return std::make_shared<const Schema>(schema);
}

struct Shown {
  std::string text;
  std::string csv;
  std::string json;
};

Shown show(double wide, float narrow) {
  const RecordFormat format(schema_of_readings());
  const Reading reading{wide, narrow, 7};
  const auto bytes = std::as_bytes(std::span(&reading, 1));
  return {format.text(bytes), format.csv(1, bytes), format.json(1, bytes).dump()};
}

}  // namespace

TEST_CASE("A float that is not finite is nan, inf or -inf in text and CSV, and null in JSON") {
  const double inf = std::numeric_limits<double>::infinity();
  const float narrow_inf = std::numeric_limits<float>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const float narrow_nan = std::numeric_limits<float>::quiet_NaN();
  const std::string null = R"({"seq":1,"wide":null,"narrow":null,"count":7})";
  CHECK(show(inf, -narrow_inf).text == "wide=inf narrow=-inf count=7");
  CHECK(show(inf, -narrow_inf).csv == "1,inf,-inf,7");
  CHECK(show(inf, -narrow_inf).json == null);
  CHECK(show(-inf, narrow_inf).text == "wide=-inf narrow=inf count=7");
  CHECK(show(-inf, narrow_inf).csv == "1,-inf,inf,7");
  for (const double sign : {1.0, -1.0}) {  // the sign of a NaN has no meaning
    const Shown shown =
        show(std::copysign(nan, sign), std::copysign(narrow_nan, static_cast<float>(sign)));
    CHECK(shown.text == "wide=nan narrow=nan count=7");
    CHECK(shown.csv == "1,nan,nan,7");
    CHECK(shown.json == null);
  }
}

TEST_CASE("A finite float has the same digits in CSV and JSON") {
  CHECK(show(0.25, 0.1F).csv == "1,0.25,0.1,7");
  CHECK(show(0.25, 0.1F).json == R"({"seq":1,"wide":0.25,"narrow":0.1,"count":7})");
  CHECK(show(0.25, 0.1F).text == "wide=0.25 narrow=0.1 count=7");
}

}  // namespace lapwing
