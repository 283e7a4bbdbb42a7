// The metadata that results from the mapping records of a live recording.
#include "snapshot/dbn/mapping_records.h"

#include <catch2/catch.hpp>
#include <span>
#include <string>
#include <vector>

#include "testing/dbn_files.h"

namespace lapwing {
namespace {

using Mappings = std::vector<dbn::SymbolMapping>;

constexpr std::uint64_t kDayNs = 86'400'000'000'000;
constexpr std::uint64_t kMappedFrom = 1'704'205'800'000'000'000;  // 2024-01-02 14:30 UTC
constexpr std::uint64_t kJan3 = kMappedFrom - kMappedFrom % kDayNs + kDayNs;

Mappings mappings_of(const std::vector<MappingRecord>& records, std::uint8_t version = 3) {
  dbn::MappingRecords found(version);
  for (const MappingRecord& record : records) {
    const std::string bytes = mapping_record(record, version);
    found.add(std::as_bytes(std::span(bytes)));
  }
  return found.mappings();
}

TEST_CASE("A mapping record gives the instrument of its header a symbol, in every version") {
  const auto version = GENERATE(std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3});
  CHECK(mapping_record({}, version).size() ==
        (version == 1 ? dbn::kMappingRecordBytesV1 : dbn::kMappingRecordBytes));
  const auto found = mappings_of({{"ES.c.0", "ESH4", 17077, kMappedFrom}}, version);
  CHECK(found == Mappings{{"ESH4", {{19700101, 99991231, "17077"}}}});
}

TEST_CASE("The symbol is on the side that is not the number") {
  CHECK(mappings_of({{"ESH4", "17077", 17077, kMappedFrom, 0}}) ==
        Mappings{{"ESH4", {{19700101, 99991231, "17077"}}}});
  CHECK(mappings_of({{"ESH4", "17077", 17077, kMappedFrom}}, 1) ==
        Mappings{{"ESH4", {{19700101, 99991231, "17077"}}}});
  CHECK(mappings_of({{"", "005930", 17077, kMappedFrom}}) ==
        Mappings{{"005930", {{19700101, 99991231, "17077"}}}});
}

TEST_CASE("A mapping holds for the dates from its start to its end") {
  CHECK(mappings_of({{"", "ESH4", 7, kMappedFrom, 255, kMappedFrom, kJan3}}) ==
        Mappings{{"ESH4", {{20240102, 20240103, "7"}}}});
  // If a mapping ends within a day, it is valid for that whole day.
  CHECK(mappings_of({{"", "ESH4", 7, kMappedFrom, 255, kMappedFrom, kJan3 + 1}}) ==
        Mappings{{"ESH4", {{20240102, 20240104, "7"}}}});
}

TEST_CASE("A repeated mapping changes nothing, and one of the next day extends it") {
  const MappingRecord first{"", "ESH4", 7, kMappedFrom};
  CHECK(mappings_of({first, first, first}) == mappings_of({first}));
  CHECK(mappings_of({{"", "ESH4", 7, kMappedFrom, 255, kMappedFrom, kJan3},
                     {"", "ESH4", 7, kJan3, 255, kJan3, kJan3 + kDayNs}}) ==
        Mappings{{"ESH4", {{20240102, 20240104, "7"}}}});
}

TEST_CASE("A mapping ends when its instrument or its symbol gets another one") {
  CHECK(mappings_of({{"", "OLD", 7, kMappedFrom}, {"", "NEW", 7, kJan3}}) ==
        Mappings{{"NEW", {{20240103, 99991231, "7"}}}, {"OLD", {{19700101, 20240103, "7"}}}});
  CHECK(mappings_of({{"", "ROLL", 7, kMappedFrom}, {"", "ROLL", 8, kJan3}}) ==
        Mappings{{"ROLL", {{19700101, 20240103, "7"}, {20240103, 99991231, "8"}}}});
  // The instrument gets its first symbol again.
  CHECK(
      mappings_of({{"", "A", 7, kMappedFrom}, {"", "B", 7, kJan3}, {"", "A", 7, kJan3 + kDayNs}}) ==
      Mappings{{"A", {{19700101, 20240103, "7"}, {20240104, 99991231, "7"}}},
               {"B", {{20240103, 20240104, "7"}}}});
}

TEST_CASE("Of several mappings on one day the last one holds") {
  CHECK(mappings_of(
            {{"", "ONE", 7, kMappedFrom, 255, kMappedFrom}, {"", "TWO", 7, kMappedFrom + 1}}) ==
        Mappings{{"TWO", {{20240102, 99991231, "7"}}}});
}

TEST_CASE("A symbol that metadata cannot hold is left out, as is a record of another type") {
  const std::string longest(dbn::kSymbolBytes - 1, 'x');
  CHECK(mappings_of({{"", longest, 7, kMappedFrom}}).size() == 1);
  CHECK(mappings_of({{"", longest + "x", 7, kMappedFrom}}).empty());
  CHECK(mappings_of({{"", "\xc3\xa9", 7, kMappedFrom}, {"", "", 8, kMappedFrom}}).empty());
  dbn::MappingRecords of_version_1(1);
  const std::string too_long = mapping_record({"", longest, 7, kMappedFrom}, 3);
  of_version_1.add(std::as_bytes(std::span(too_long)));
  CHECK(of_version_1.empty());
  dbn::MappingRecords found(3);
  std::string other = mapping_record({"", "ESH4", 7, kMappedFrom});
  other[offsetof(dbn::RecordHeader, rtype)] = 0x17;
  found.add(std::as_bytes(std::span(other)));
  found.add(std::as_bytes(std::span(other).first(8)));
  std::string cut = mapping_record({"", "ESH4", 7, kMappedFrom});
  cut.resize(100);
  found.add(std::as_bytes(std::span(cut)));
  CHECK(found.empty());
}

TEST_CASE("Errors, mappings and messages of the gateway are control records") {
  std::string record = mapping_record({"", "ESH4", 7, kMappedFrom});
  CHECK(dbn::is_control_record(std::as_bytes(std::span(record))));
  for (const char type : {'\x15', '\x17'}) {
    record[offsetof(dbn::RecordHeader, rtype)] = type;
    CHECK(dbn::is_control_record(std::as_bytes(std::span(record))));
  }
  const std::string mbo = mbo_records(1, 1);
  CHECK_FALSE(dbn::is_control_record(std::as_bytes(std::span(mbo))));
  CHECK_FALSE(dbn::is_control_record({}));
}

}  // namespace
}  // namespace lapwing
