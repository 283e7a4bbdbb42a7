// Tests a description as text, and which texts are refused.
#include <catch2/catch.hpp>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "lapwing/schema.h"

namespace lapwing {
namespace {

Schema signal_schema() {
  return {"desk.signal",
          1,
          24,
          {{"ts_recv", FieldType::kUInt64, 0, 8, FieldUnit::kUtcNs, FieldRole::kTime},
           {"instrument", FieldType::kUInt32, 8, 4, FieldUnit::kPlain, FieldRole::kKey},
           {"side", FieldType::kChar, 12, 1, FieldUnit::kPlain, FieldRole::kData, {{"buy", 'B'}}},
           {"note", FieldType::kText, 13, 3},
           {"fair_value", FieldType::kFloat64, 16, 8}}};
}

constexpr char kText[] =
    R"({"name":"desk.signal","version":1,"record_bytes":24,"fields":[)"
    R"({"name":"ts_recv","type":"uint64","offset":0,"unit":"utc_ns","role":"time"},)"
    R"({"name":"instrument","type":"uint32","offset":8,"role":"key"},)"
    R"({"name":"side","type":"char","offset":12,"values":[["buy",66]]},)"
    R"({"name":"note","type":"text","bytes":3,"offset":13},)"
    R"({"name":"fair_value","type":"float64","offset":16}]})";

bool is_refused(const Schema& schema, const std::string& words) {
  const absl::Status status = schema.check();
  INFO(status.ToString());
  CHECK(errc_of(status) == Errc::kInvalidArgument);
  return absl::StrContains(status.message(), words);
}

TEST_CASE("The text of a schema is one line, always the same, with a hash of its own") {
  CHECK(signal_schema().text() == kText);
  CHECK(signal_schema().hash() == 0xb9cebee29af384ec);
  Schema other = signal_schema();
  other.fields[4].type = FieldType::kInt64;
  CHECK(other.hash() != signal_schema().hash());
}

TEST_CASE("Every member of the text is read back") {
  const auto read = Schema::parse(kText);
  REQUIRE(read.ok());
  CHECK(*read == signal_schema());
}

TEST_CASE("Members that this release does not know are ignored") {
  const auto read =
      Schema::parse(R"({"later":{},"name":"a","version":2,"record_bytes":8,"fields":[)"
                    R"({"name":"x","type":"int64","offset":0,"later":[1]}]})");
  REQUIRE(read.ok());
  CHECK(*read == Schema{"a", 2, 8, {{"x", FieldType::kInt64, 0, 8}}});
  CHECK(Schema::hash_of(read->text()) == read->hash());
}

TEST_CASE("Other text than a schema is refused") {
  for (
      const char* text :
      {"", "[]", "{", R"({"name":"a","version":1,"record_bytes":8})",
       R"({"name":1,"version":1,"record_bytes":8,"fields":[]})",
       R"({"name":"a","version":-1,"record_bytes":8,"fields":[]})",
       R"({"name":"a","version":1,"record_bytes":8,"fields":[1]})",
       R"({"name":"a","version":1,"record_bytes":8,"fields":[{"name":"x"}]})",
       R"({"name":"a","version":1,"record_bytes":8,"fields":[{"name":"x","type":"int65","offset":0}]})",
       R"({"name":"a","version":1,"record_bytes":8,"fields":[{"name":"x","type":"int64"}]})",
       R"({"name":"a","version":1,"record_bytes":8,"fields":[{"name":"x","type":"text","offset":0}]})",
       R"({"name":"a","version":1,"record_bytes":8,"fields":[{"name":"x","type":"int64","offset":8}]})",
       R"({"name":"a","version":1,"record_bytes":8,"fields":[{"name":"x","type":"int64","offset":0,"unit":"ell"}]})",
       R"({"name":"a","version":1,"record_bytes":8,"fields":[{"name":"x","type":"int64","offset":0,"values":[["a"]]}]})",
       R"({"name":"a","version":1,"record_bytes":8,"fields":[{"name":"x","type":"int64","bytes":8,"offset":0}]})",
       R"({"name":"a","version":1,"record_bytes":8,"fields":[{"name":"x","type":"uint64","offset":0,"values":[["a",9223372036854775808]]}]})",
       R"({"name":"a","version":1,"record_bytes":8,"fields":[{"name":"x","type":"int64","offset":4294967297}]})"}) {
    CAPTURE(text);
    CHECK(errc_of(Schema::parse(text).status()) == Errc::kInvalidArgument);
  }
  CHECK(errc_of(Schema::parse(std::string(kSchemaTextBytesMax + 1, ' ')).status()) == Errc::kLimit);
}

TEST_CASE("A description that contradicts itself is refused with the field's name") {
  REQUIRE(signal_schema().check().ok());
  Schema schema = signal_schema();
  schema.fields[1].offset = 6;
  CHECK(is_refused(schema, "field instrument begins at 6, before the end of ts_recv"));
  schema = signal_schema();
  schema.fields[4].offset = 20;
  CHECK(is_refused(schema, "field fair_value ends at 28, but the record has 24"));
  schema = signal_schema();
  schema.fields[4].offset = std::numeric_limits<std::uint32_t>::max();
  CHECK(is_refused(schema, "field fair_value ends at 4294967303"));
  schema = signal_schema();
  schema.fields[4].bytes = 4;
  CHECK(is_refused(schema, "field fair_value has 4 bytes"));
  schema = signal_schema();
  schema.fields[3].name = "side";
  CHECK(is_refused(schema, "field side is listed twice"));
  schema = signal_schema();
  schema.fields[3].bytes = 0;
  CHECK(is_refused(schema, "field note has no bytes"));
  schema = signal_schema();
  schema.fields[3].name = "a b";
  CHECK(is_refused(schema, "the field at 13 has a name"));
  schema = signal_schema();
  schema.fields[4].unit = FieldUnit::kPrice;
  CHECK(is_refused(schema, "field fair_value is a price"));
  schema = signal_schema();
  schema.fields[4].unit = FieldUnit::kFlags;
  CHECK(is_refused(schema, "field fair_value has flags"));
  schema = signal_schema();
  schema.fields[1].role = FieldRole::kTime;
  CHECK(is_refused(schema, "field instrument is a time"));
  schema = signal_schema();
  schema.fields[4].values = {{"one", 1}};
  CHECK(is_refused(schema, "field fair_value names values"));
  schema = signal_schema();
  for (const char* name : {"", "two words", "\xff"}) {
    schema.fields[2].values = {{name, 1}};
    CHECK(is_refused(schema, "field side names the value 1 with what is not"));
  }
  schema.fields[2].values = {{"one", 1}, {"two", 1}};
  CHECK(is_refused(schema, "field side names two or the value 1 twice"));
  schema.fields[2].values = {{"one", 1}, {"one", 2}};
  CHECK(is_refused(schema, "field side names one or the value 2 twice"));
  for (const std::int64_t value : {-129, 256}) {
    schema.fields[2].values = {{"one", value}};
    CHECK(is_refused(schema, "which it cannot hold"));
  }
  schema.fields[2].values = {{"one", -128}, {"two", 255}};
  CHECK(schema.check().ok());
  schema.fields[2].type = FieldType::kUInt8;
  CHECK(is_refused(schema, "field side names the value -128, which it cannot hold"));
  schema.fields[2].unit = FieldUnit::kFlags;
  for (const std::int64_t value : {0, 3}) {
    schema.fields[2].values = {{"one", value}};
    CHECK(is_refused(schema, "which is not one bit"));
  }
  schema.fields[2].values = {{"one", 128}};
  CHECK(schema.check().ok());
  schema = signal_schema();
  schema.fields[4].unit = static_cast<FieldUnit>(99);
  CHECK(is_refused(schema, "field fair_value has a unit or a role"));
  schema = signal_schema();
  schema.fields[4] = {"again", FieldType::kUInt64, 16, 8, FieldUnit::kUtcNs, FieldRole::kTime};
  CHECK(is_refused(schema, "field again is a second time"));
}

TEST_CASE("Names, versions and sizes of a schema have limits") {
  Schema schema = signal_schema();
  schema.name = "two words";
  CHECK(is_refused(schema, "a schema's name"));
  schema.name = std::string(32, 'a');
  CHECK(is_refused(schema, "a schema's name"));
  schema.name = std::string(31, 'a');
  CHECK(schema.check().ok());
  schema.version = 0;
  CHECK(is_refused(schema, "versions begin at 1"));
  schema = signal_schema();
  schema.record_bytes = 4089;
  CHECK(is_refused(schema, "records of 4089 bytes"));
  schema.record_bytes = 4088;
  schema.fields.clear();
  CHECK(is_refused(schema, "no fields"));
  for (std::uint32_t i = 0; i < kSchemaFieldsMax; ++i) {
    schema.fields.push_back({absl::StrCat("f", i), FieldType::kInt8, i, 1});
  }
  CHECK(schema.check().ok());
  schema.fields.push_back({"more", FieldType::kInt8, kSchemaFieldsMax, 1});
  CHECK(errc_of(schema.check()) == Errc::kLimit);
  schema = signal_schema();
  for (int i = 0; i < 1000; ++i) {
    schema.fields[1].values.push_back({absl::StrCat(std::string(59, 'v'), i), i});
  }
  CHECK(errc_of(schema.check()) == Errc::kLimit);
}

}  // namespace
}  // namespace lapwing
