// The schemas that Lapwing ships. tests/conformance/dbn_package checks the DBN ones.
#include "snapshot/schema/known_schemas.h"

#include <catch2/catch.hpp>

#include "lapwing/dbn.h"
#include "lapwing/kv16.h"

namespace lapwing {
namespace {

TEST_CASE("Every shipped schema is a valid description of every byte of its record") {
  for (const std::string_view name : known_schema_names()) {
    for (const std::uint32_t version : {0U, 1U, 2U, 3U}) {
      const auto schema = known_schema(name, version);
      if (!schema) continue;
      CAPTURE(name, version);
      CHECK(schema->check().ok());
      std::uint32_t end = 0;
      for (const Field& field : schema->fields) {
        CHECK(field.offset == end);
        end = field.offset + field.bytes;
      }
      CHECK(end == schema->record_bytes);
      CHECK(schema->find(FieldRole::kKey) != nullptr);
      const auto read = Schema::parse(schema->text());
      REQUIRE(read.ok());
      CHECK(*read == *schema);
    }
  }
}

TEST_CASE("Descriptions have the sizes and offsets of the structs") {
  CHECK(known_schema(kv16::kSchema)->record_bytes == sizeof(kv16::Record));
  CHECK(known_schema(dbn::kSchemaMbo)->record_bytes == sizeof(dbn::MboMsg));
  CHECK(known_schema(dbn::kSchemaMbo)->find("ts_recv")->offset == offsetof(dbn::MboMsg, ts_recv));
  CHECK(known_schema(dbn::kSchemaTrades)->record_bytes == sizeof(dbn::TradeMsg));
  CHECK(known_schema(dbn::kSchemaMbp1)->record_bytes == sizeof(dbn::Mbp1Msg));
  CHECK(known_schema(dbn::kSchemaMbp1)->find("bid_px_00")->offset == offsetof(dbn::Mbp1Msg, level));
}

TEST_CASE("Every schema of DBN has a description, in every version") {
  for (const dbn::RecordSchema& schema : dbn::kRecordSchemas) {
    CAPTURE(schema.name);
    for (const std::uint32_t version : {1U, 2U, 3U}) CHECK(known_schema(schema.name, version));
    CHECK(dbn::find_schema(schema.id) == &schema);
  }
}

TEST_CASE("A version is DBN's, and 0 the newest") {
  CHECK(known_schema("dbn.definition", 1)->record_bytes == 360);
  CHECK(known_schema("dbn.definition", 2)->record_bytes == 400);
  CHECK(known_schema("dbn.definition", 3)->record_bytes == 520);
  CHECK(known_schema("dbn.definition")->version == 3);
  CHECK(known_schema("dbn.statistics", 2)->record_bytes == 64);
  CHECK(known_schema("dbn.statistics", 2)->version == 2);
  CHECK(known_schema("dbn.statistics")->record_bytes == 80);
  CHECK_FALSE(known_schema("dbn.mbo", 4));
  CHECK_FALSE(known_schema("kv16", 2));
  CHECK_FALSE(known_schema("dbn.mbp-2"));
}

TEST_CASE("Levels are numbered from 00") {
  const auto schema = known_schema("dbn.mbp-10");
  CHECK(schema->record_bytes == 368);
  CHECK(schema->find("bid_px_00")->offset == 48);
  CHECK(schema->find("ask_ct_09")->offset == 364);
  CHECK(schema->find("bid_px_10") == nullptr);
}

}  // namespace
}  // namespace lapwing
