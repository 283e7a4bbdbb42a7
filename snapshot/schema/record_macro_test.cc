// The schemas that LAPWING_RECORD generates from structs.
#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>

#include "lapwing/schema.h"

namespace desk {

struct Signal {
  std::uint64_t ts_recv;
  std::uint32_t instrument;
  float weight;
  double fair_value;
};
LAPWING_RECORD(Signal, "desk.signal", 1, (ts_recv, kTime), (instrument, kKey), weight, fair_value);

enum class Venue : std::uint8_t { kLondon = 1, kTokyo = 2 };
inline constexpr lapwing::NamedValue kVenues[] = {{"london", 1}, {"tokyo", 2}};
inline constexpr std::array<lapwing::NamedValue, 2> kMarks = {{{"last", 0x80}, {"bad", 1}}};

struct Everything {
  std::int8_t i8;
  std::uint8_t u8;
  std::int16_t i16;
  std::int32_t i32;
  std::int64_t price;
  std::uint64_t sent;
  std::array<std::uint16_t, 3> counts;
  Venue venue;
  char side;
  char symbol[8];
  std::array<std::byte, 8> spare;
};
LAPWING_RECORD(Everything, "desk.everything", 7, i8, (price, kPrice), (sent, kPublishTime), i16,
               (i32, kKey), (u8, kFlags, kMarks), counts, (venue, kVenues), side, symbol,
               (spare, kSpare));

struct Short {
  std::uint16_t one[1];
  const std::uint16_t two;
  std::uint16_t spare[2];
};
LAPWING_RECORD(Short, "desk.short", 1, one, (two), (spare, kSpare));

// A program's own description of a record that the macro does not support.
struct Level {
  std::int64_t price;
  std::uint32_t size;
  std::uint32_t orders;
};
struct Ladder {
  Level levels[2];
};

}  // namespace desk

template <>
inline lapwing::Schema lapwing::schema_of<desk::Ladder>() {
  Schema schema{"desk.ladder", 1, sizeof(desk::Ladder)};
  for (std::uint32_t i = 0; i < 2; ++i) {
    const auto base = static_cast<std::uint32_t>(i * sizeof(desk::Level));
    const std::string place = detail::element_name("", i);
    schema.fields.push_back({"price" + place, FieldType::kInt64, base, 8, FieldUnit::kPrice});
    schema.fields.push_back({"size" + place, FieldType::kUInt32, base + 8, 4});
    schema.fields.push_back({"orders" + place, FieldType::kUInt32, base + 12, 4});
  }
  return schema;
}

namespace lapwing {
namespace {

TEST_CASE("A described struct has its fields with name, offset, type and role") {
  const Schema schema = schema_of<desk::Signal>();
  CHECK(schema.check().ok());
  CHECK(schema.name == "desk.signal");
  CHECK(schema.version == 1);
  CHECK(schema.record_bytes == 24);
  REQUIRE(schema.fields.size() == 4);
  CHECK(schema.fields[0] ==
        Field{"ts_recv", FieldType::kUInt64, 0, 8, FieldUnit::kUtcNs, FieldRole::kTime});
  CHECK(schema.fields[1] ==
        Field{"instrument", FieldType::kUInt32, 8, 4, FieldUnit::kPlain, FieldRole::kKey});
  CHECK(schema.fields[2] == Field{"weight", FieldType::kFloat32, 12, 4});
  CHECK(schema.fields[3] == Field{"fair_value", FieldType::kFloat64, 16, 8});
}

TEST_CASE("Fields are ordered by their offset, whatever the order in which they are listed") {
  const Schema schema = schema_of<desk::Everything>();
  INFO(schema.check().ToString());
  CHECK(schema.check().ok());
  std::uint32_t end = 0;
  for (const Field& field : schema.fields) {
    CHECK(field.offset == end);
    end = field.offset + field.bytes;
  }
  CHECK(end == sizeof(desk::Everything));
}

TEST_CASE("Arrays of numbers become fields, arrays of letters a text, of bytes bytes") {
  const Schema schema = schema_of<desk::Everything>();
  REQUIRE(schema.find("counts_02") != nullptr);
  CHECK(*schema.find("counts_02") ==
        Field{"counts_02", FieldType::kUInt16, offsetof(desk::Everything, counts) + 4, 2});
  CHECK(schema.find("counts_03") == nullptr);
  CHECK(schema.find("symbol")->type == FieldType::kText);
  CHECK(schema.find("symbol")->bytes == 8);
  CHECK(schema.find("side")->type == FieldType::kChar);
  CHECK(schema.find("spare")->type == FieldType::kBytes);
  CHECK(schema.find("spare")->role == FieldRole::kSpare);
}

TEST_CASE("An array of one is numbered, and spare numbers are bytes") {
  const Schema schema = schema_of<desk::Short>();
  CHECK(schema.check().ok());
  REQUIRE(schema.fields.size() == 3);
  CHECK(schema.fields[0] == Field{"one_00", FieldType::kUInt16, 0, 2});
  CHECK(schema.fields[1] == Field{"two", FieldType::kUInt16, 2, 2});
  CHECK(schema.fields[2] ==
        Field{"spare", FieldType::kBytes, 4, 4, FieldUnit::kPlain, FieldRole::kSpare});
}

TEST_CASE("Units, roles and named values come from the options of a field") {
  const Schema schema = schema_of<desk::Everything>();
  CHECK(schema.find("price")->unit == FieldUnit::kPrice);
  CHECK(schema.find("sent")->unit == FieldUnit::kUtcNs);
  CHECK(schema.find(FieldRole::kPublishTime)->name == "sent");
  CHECK(schema.find(FieldRole::kKey)->name == "i32");
  CHECK(schema.find(FieldRole::kTime) == nullptr);
  CHECK(schema.find("u8")->unit == FieldUnit::kFlags);
  CHECK(schema.find("u8")->values == std::vector<FieldValue>{{"last", 0x80}, {"bad", 1}});
  CHECK(schema.find("venue")->type == FieldType::kUInt8);
  CHECK(schema.find("venue")->values == std::vector<FieldValue>{{"london", 1}, {"tokyo", 2}});
}

TEST_CASE("A program can describe what the macro cannot") {
  const Schema schema = schema_of<desk::Ladder>();
  CHECK(schema.check().ok());
  CHECK(schema.find("price_01")->offset == 16);
}

TEST_CASE("The checks of the static assertions detect their faults") {
  using detail::covers;
  const FieldDescription one{.name = "one", .type = FieldType::kUInt64, .offset = 0, .bytes = 8};
  FieldDescription two{.name = "two", .type = FieldType::kUInt64, .offset = 8, .bytes = 8};
  CHECK(covers(std::array{one, two}, 16));
  CHECK_FALSE(covers(std::array{one, two}, 24));  // an unlisted last member, or padding
  CHECK_FALSE(covers(std::array{one, one}, 16));  // listed twice
  two.offset = 16;
  CHECK_FALSE(covers(std::array{one, two}, 24));  // a hole
  CHECK(detail::units_fit(std::array{one}));
  two.type = FieldType::kFloat64;
  for (const FieldUnit unit : {FieldUnit::kPrice, FieldUnit::kUtcNs, FieldUnit::kFlags}) {
    CHECK_FALSE(detail::units_fit(std::array{detail::with(two, unit)}));
  }
  const FieldDescription time = detail::with(one, FieldRole::kTime);
  CHECK(detail::times_are_times(std::array{time}));
  CHECK_FALSE(detail::times_are_times(std::array{detail::with(time, FieldUnit::kPlain)}));
  CHECK(detail::times_are_times(std::array{time, one}));
  CHECK_FALSE(detail::times_are_times(std::array{time, time}));
  const FieldDescription published = detail::with(one, FieldRole::kPublishTime);
  CHECK(detail::times_are_times(std::array{time, published}));
  CHECK_FALSE(detail::times_are_times(std::array{published, published}));
  const RecordDescription<2> record{"a", 1, 16, {one, one}};
  CHECK(detail::names_fit(record));
  RecordDescription<2> wrong = record;
  wrong.version = 0;
  CHECK_FALSE(detail::names_fit(wrong));
  wrong = record;
  wrong.name = "two words";
  CHECK_FALSE(detail::names_fit(wrong));
  wrong = record;
  wrong.fields[1].name = "nested.member";
  CHECK_FALSE(detail::names_fit(wrong));
  wrong = record;
  wrong.fields[1].count = kSchemaFieldsMax;
  CHECK_FALSE(detail::names_fit(wrong));
}

}  // namespace
}  // namespace lapwing
