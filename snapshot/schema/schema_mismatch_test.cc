// Tests when a program can read records using its own description of them.
#include <catch2/catch.hpp>

#include "lapwing/schema.h"

namespace lapwing {
namespace {

Schema signal() {
  return {"desk.signal",
          1,
          32,
          {{"ts_recv", FieldType::kUInt64, 0, 8, FieldUnit::kUtcNs, FieldRole::kTime},
           {"instrument", FieldType::kUInt32, 8, 4, FieldUnit::kPlain, FieldRole::kKey},
           {"side", FieldType::kUInt8, 12, 1, FieldUnit::kPlain, FieldRole::kData, {{"buy", 1}}},
           {"fair_value", FieldType::kFloat64, 16, 8},
           {"spare", FieldType::kBytes, 24, 8, FieldUnit::kPlain, FieldRole::kSpare}}};
}

Schema later_signal() {
  Schema later = signal();
  later.version = 2;
  later.fields[2].values.push_back({"sell", 2});
  later.fields[4] = {"weight", FieldType::kFloat32, 24, 4};
  later.fields.push_back({"spare", FieldType::kBytes, 28, 4, FieldUnit::kPlain, FieldRole::kSpare});
  return later;
}

TEST_CASE("The same description can be read") {
  CHECK(mismatch(signal(), signal()).empty());
}

TEST_CASE("A later version that uses spare bytes can be read by a program of the earlier one") {
  CHECK(later_signal().check().ok());
  CHECK(mismatch(signal(), later_signal()).empty());
}

TEST_CASE("An earlier version lacks a field that a program of the later one expects") {
  CHECK(mismatch(later_signal(), signal()) ==
        "desk.signal version 1 instead of version 2: field side does not call the value 2 sell");
  Schema later = later_signal();
  later.fields[2] = signal().fields[2];
  CHECK(mismatch(later, signal()) ==
        "desk.signal version 1 instead of version 2: field weight is missing");
}

TEST_CASE("A field that was moved, renamed, resized or retyped is named") {
  const std::string begin = "desk.signal version 1: field ";
  Schema found = signal();
  found.fields[2].offset = 13;
  CHECK(mismatch(signal(), found) == begin + "side is at byte 13, not at 12");
  found = signal();
  found.fields[3].name = "fair";
  CHECK(mismatch(signal(), found) == begin + "fair_value is called fair");
  found = signal();
  found.fields[3].type = FieldType::kInt64;
  CHECK(mismatch(signal(), found) == begin + "fair_value is int64, not float64");
  found = signal();
  found.fields[1].unit = FieldUnit::kFlags;
  CHECK(mismatch(signal(), found) == begin + "instrument has the unit flags, not plain");
  found = signal();
  found.fields[1].role = FieldRole::kData;
  CHECK(mismatch(signal(), found) == begin + "instrument has the role data, not key");
  found = signal();
  found.fields[2].values = {{"buy", 2}};
  CHECK(mismatch(signal(), found) == begin + "side does not call the value 1 buy");
  Schema text = signal();
  text.fields[3] = {"note", FieldType::kText, 16, 8};
  found = text;
  found.fields[3].bytes = 7;
  CHECK(mismatch(text, found) == begin + "note has 7 bytes, not 8");
}

TEST_CASE("A field whose offset another one has now is missing, not renamed") {
  Schema found = signal();
  found.fields[3] = {"instrument", FieldType::kUInt32, 16, 4, FieldUnit::kPlain, FieldRole::kKey};
  found.fields.erase(found.fields.begin() + 1);
  CHECK(mismatch(signal(), found) ==
        "desk.signal version 1: field instrument is at byte 16, not at 8");
  found = signal();
  found.fields[3] = {"spare2", FieldType::kBytes, 16, 8, FieldUnit::kPlain, FieldRole::kSpare};
  CHECK(mismatch(signal(), found) == "desk.signal version 1: field fair_value is missing");
}

TEST_CASE("Another name or size is another record") {
  Schema found = signal();
  found.name = "desk.quote";
  CHECK(mismatch(signal(), found) == "the records are desk.quote, not desk.signal");
  found = signal();
  found.record_bytes = 40;
  CHECK(mismatch(signal(), found) == "desk.signal version 1: the record has 40 bytes, not 32");
}

TEST_CASE("An additional field is a later version, and is in spare bytes") {
  Schema found = later_signal();
  found.version = 1;
  CHECK(mismatch(signal(), found) ==
        "desk.signal version 1: field weight is new, and a new field needs a "
        "later version");
  found.version = 2;
  found.fields.insert(found.fields.begin() + 3, {"mark", FieldType::kUInt8, 13, 1});
  CHECK(mismatch(signal(), found) ==
        "desk.signal version 2 instead of version 1: field mark is not in version 1, and does not "
        "lie in its spare bytes");
  found = later_signal();
  found.fields[4].role = FieldRole::kKey;
  CHECK(mismatch(signal(), found) ==
        "desk.signal version 2 instead of version 1: field weight is a key that version 1 does not "
        "have");
  Schema spares = signal();  // several adjacent ones
  spares.fields[4].bytes = 2;
  spares.fields.push_back({"more", FieldType::kBytes, 26, 6, FieldUnit::kPlain, FieldRole::kSpare});
  CHECK(mismatch(spares, later_signal()).empty());
  spares.fields[5].offset = 27;
  spares.fields[5].bytes = 5;
  CHECK_FALSE(mismatch(spares, later_signal()).empty());
  found = signal();  // the spare bytes' name is used
  found.version = 2;
  found.fields[4] = {"spare", FieldType::kUInt64, 24, 8};
  CHECK(mismatch(signal(), found).empty());
}

}  // namespace
}  // namespace lapwing
