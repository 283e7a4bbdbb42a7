#include "snapshot/dbn/dbn_metadata.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "lapwing/error.h"

namespace lapwing::dbn {
namespace {

Metadata example() {
  Metadata metadata;
  metadata.dataset = "XTST.BOOK";
  metadata.schema = SchemaId::kMbp1;
  metadata.start = 1'704'205'800'000'000'000;
  metadata.end = 1'704'292'200'000'000'000;
  metadata.limit = 12;
  metadata.symbols = {"ESH4", "NQH4"};
  metadata.partial = {"CLG4"};
  metadata.not_found = {"XX"};
  metadata.mappings = {
      {"ESH4", {{20240101, 20240103, "17077"}, {20240103, 20240105, "99"}}},
      {"NQH4", {{20240103, 20240105, "17077"}}},
  };
  return metadata;
}

std::string encode(const Metadata& metadata) {
  const auto bytes = encode_metadata(metadata);
  REQUIRE(bytes.ok());
  return *bytes;
}

absl::StatusOr<Metadata> parse(const std::string& bytes) {
  return parse_metadata(std::as_bytes(std::span(bytes)));
}

}  // namespace

TEST_CASE("Metadata of every version comes back as it was encoded") {
  Metadata metadata = example();
  metadata.version = GENERATE(std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3});
  metadata.ts_out = GENERATE(false, true);
  const std::string bytes = encode(metadata);
  const auto parsed = parse(bytes);
  REQUIRE(parsed.ok());
  CHECK(*parsed == metadata);
  CHECK(*metadata_bytes(std::as_bytes(std::span(bytes))) == bytes.size());
  // Offsets from the documentation.
  CHECK(bytes.substr(0, 3) == "DBN");
  CHECK(bytes.substr(8, 9) == "XTST.BOOK");
  CHECK(bytes[24] == 1);  // schema
  CHECK(static_cast<unsigned char>(bytes[metadata.version == 1 ? 60 : 52]) == metadata.ts_out);
  if (metadata.version == 3) CHECK(bytes.size() % 8 == 0);
}

TEST_CASE("A time range is put into metadata of every version, and nothing else is changed") {
  Metadata metadata = example();
  metadata.version = GENERATE(std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3});
  std::string bytes = encode(metadata);
  REQUIRE(set_time_range(bytes, 12, kUndefTimestamp).ok());
  metadata.start = 12;
  metadata.end = kUndefTimestamp;
  CHECK(bytes == encode(metadata));
  bytes.pop_back();
  CHECK(errc_of(set_time_range(bytes, 1, 2)) == Errc::kBadInput);
}

TEST_CASE("Metadata cut off at any byte is an error, never a crash or a wrong value") {
  Metadata metadata = example();
  metadata.version = GENERATE(std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3});
  const std::string bytes = encode(metadata);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    std::string cut = bytes.substr(0, length);
    CHECK(errc_of(parse(cut).status()) == Errc::kBadInput);
    if (length < kPreludeBytes) continue;
    // The same with a matching length field: the inner lists must not exceed it.
    const auto rest = static_cast<std::uint32_t>(length - kPreludeBytes);
    std::memcpy(cut.data() + 4, &rest, sizeof rest);
    const auto parsed = parse(cut);
    if (parsed.ok()) CHECK(*parsed == metadata);  // only padding was removed
  }
}

TEST_CASE("Bytes after the metadata's own length are refused, not taken for a part of it") {
  std::string bytes = encode_metadata(example()).value();
  REQUIRE(parse(bytes).ok());
  bytes.append(GENERATE(std::size_t{1}, std::size_t{100}), '\0');
  CHECK(errc_of(parse(bytes).status()) == Errc::kBadInput);
}

TEST_CASE("A count that promises more than the metadata holds is refused, not allocated") {
  Metadata metadata = example();
  std::string bytes = encode(metadata);
  const std::uint32_t huge = 0xffffffff;
  std::memcpy(bytes.data() + 112, &huge, sizeof huge);  // the number of symbols
  const auto parsed = parse(bytes);
  REQUIRE(errc_of(parsed.status()) == Errc::kBadInput);
  CHECK(std::string(parsed.status().message()).find("the symbols at byte 112") !=
        std::string::npos);
}

TEST_CASE("Bytes that are not DBN, or DBN of another version, are reported as such") {
  std::string bytes = encode(example());
  bytes[0] = 'X';
  CHECK(std::string(parse(bytes).status().message()).find("58 42 4e") != std::string::npos);
  bytes[0] = 'D';
  for (const char version : {'\0', '\4', '\xff'}) {
    bytes[3] = version;
    CHECK(errc_of(parse(bytes).status()) == Errc::kBadInput);
  }
  const std::uint32_t huge = 0xffffffff;
  bytes[3] = 3;
  std::memcpy(bytes.data() + 4, &huge, sizeof huge);
  CHECK(std::string(parse(bytes).status().message()).find("4294967295") != std::string::npos);
}

TEST_CASE("A symbol that does not fit its field is refused") {
  Metadata metadata = example();
  metadata.symbols = {std::string(71, 'A')};
  CHECK(errc_of(encode_metadata(metadata).status()) == Errc::kInvalidArgument);
  metadata.symbols = {std::string(70, 'A')};
  CHECK(encode_metadata(metadata).ok());
  metadata.version = 1;
  CHECK(errc_of(encode_metadata(metadata).status()) == Errc::kInvalidArgument);
  metadata.symbols = {"caf\xc3\xa9"};
  CHECK(errc_of(encode_metadata(metadata).status()) == Errc::kInvalidArgument);
}

TEST_CASE("Schemas have their documented names") {
  CHECK(schema_name(SchemaId::kMbo) == "mbo");
  CHECK(schema_name(SchemaId{9}) == "definition");
  CHECK(schema_name(SchemaId{19}) == "bbo-1m");
  CHECK(schema_name(SchemaId{20}) == "unknown (20)");
  CHECK(schema_name(SchemaId::kMixed) == "mixed");
}

}  // namespace lapwing::dbn
