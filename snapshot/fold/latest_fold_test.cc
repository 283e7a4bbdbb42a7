#include "snapshot/fold/latest_fold.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "lapwing/dbn.h"
#include "lapwing/error.h"
#include "lapwing/kv16.h"
#include "lapwing/memory_state.h"

namespace lapwing {
namespace {

// A fold for a bus with this schema, and the state after the records that it received.
template <typename Record>
struct Latest {
  explicit Latest(const std::string& schema)
      : fold(*make_fold(kFoldLatest, schema)), state(fold->shape()) {}

  void apply(const Record& record) {
    fold->apply(++sequence, std::as_bytes(std::span(&record, 1)), state);
  }
  std::vector<Record> all() const {
    std::vector<Record> records;
    state.for_each([&](std::span<const std::byte> entry) {
      std::memcpy(&records.emplace_back(), entry.data(), sizeof(Record));
    });
    return records;
  }

  std::unique_ptr<Fold> fold;
  MemoryState state;
  Sequence sequence = 0;
};

template <typename Record>
Record record_of(std::uint16_t publisher, std::uint32_t instrument, std::int64_t price) {
  Record record{};
  record.hd.publisher_id = publisher;
  record.hd.instrument_id = instrument;
  record.price = price;
  return record;
}

template <typename Record>
std::vector<std::int64_t> prices(const Latest<Record>& latest) {
  std::vector<std::int64_t> found;
  for (const Record& record : latest.all()) found.push_back(record.price);
  return found;
}

TEST_CASE("The last trade of each publisher and instrument is kept, sorted by these numbers") {
  Latest<dbn::TradeMsg> latest(dbn::kSchemaTrades);
  latest.apply(record_of<dbn::TradeMsg>(2, 1, 1));
  latest.apply(record_of<dbn::TradeMsg>(1, 256, 2));
  latest.apply(record_of<dbn::TradeMsg>(1, 2, 3));
  latest.apply(record_of<dbn::TradeMsg>(2, 1, 4));
  latest.apply(record_of<dbn::TradeMsg>(256, 1, 5));
  CHECK(prices(latest) == std::vector<std::int64_t>{3, 2, 4, 5});
}

TEST_CASE("The last top of book of each publisher and instrument is kept") {
  Latest<dbn::Mbp1Msg> latest(dbn::kSchemaMbp1);
  latest.apply(record_of<dbn::Mbp1Msg>(1, 2, 1));
  latest.apply(record_of<dbn::Mbp1Msg>(1, 1, 2));
  latest.apply(record_of<dbn::Mbp1Msg>(1, 2, 3));
  CHECK(prices(latest) == std::vector<std::int64_t>{2, 3});
}

TEST_CASE("The last order record of each publisher, instrument and side is kept") {
  Latest<dbn::MboMsg> latest(dbn::kSchemaMbo);
  const dbn::Side sides[] = {dbn::Side::kBid, dbn::Side::kAsk, dbn::Side::kBid, dbn::Side::kNone};
  std::int64_t price = 0;
  for (const dbn::Side side : sides) {
    dbn::MboMsg record = record_of<dbn::MboMsg>(1, 1, ++price);
    record.side = side;
    latest.apply(record);
  }
  CHECK(prices(latest) == std::vector<std::int64_t>{2, 3, 4});
}

TEST_CASE("The last pair of each key is kept, sorted by the number of the key") {
  Latest<kv16::Record> latest(kv16::kSchema);
  const std::uint64_t high = std::uint64_t{1} << 63;
  for (const std::uint64_t key : {std::uint64_t{256}, high, std::uint64_t{1}, std::uint64_t{256}}) {
    latest.apply({key, latest.sequence});
  }
  const std::vector<kv16::Record> all = latest.all();
  REQUIRE(all.size() == 3);
  CHECK(all[0].key == 1);
  CHECK(all[1].key == 256);
  CHECK(all[1].value == 3);
  CHECK(all[2].key == high);
}

TEST_CASE("An entry is the whole record, and its key is the one that it is stored under") {
  Latest<dbn::Mbp1Msg> latest(dbn::kSchemaMbp1);
  dbn::Mbp1Msg record;
  std::memset(&record, 0x5a, sizeof record);
  latest.apply(record);
  const FoldShape& shape = latest.fold->shape();
  std::vector<std::byte> key(shape.key_bytes);
  latest.fold->key_of(std::as_bytes(std::span(&record, 1)), key);
  const std::byte* found = latest.state.find(key);
  REQUIRE(found != nullptr);
  CHECK(std::memcmp(found, &record, sizeof record) == 0);
  CHECK(shape.entry_record_bytes == sizeof record);
}

TEST_CASE("A record is put without a lookup, every record settles, and a loss changes nothing") {
  Latest<kv16::Record> latest(kv16::kSchema);
  const kv16::Record record{1, 2};
  const auto bytes = std::as_bytes(std::span(&record, 1));
  latest.apply(record);
  const std::uint64_t digest = latest.state.digest();
  latest.fold->lose({.first = 2, .last = 9}, latest.state);
  CHECK(latest.state.digest() == digest);
  CHECK(latest.fold->settles(bytes));
  std::vector<std::byte> key(latest.fold->shape().key_bytes);
  CHECK_FALSE(latest.fold->reads(bytes, key));
}

TEST_CASE("A fold that a schema does not have is refused, with the valid ones") {
  const auto refusal = [](const char* name, const char* schema) {
    const absl::Status status = make_fold(name, schema).status();
    CHECK(errc_of(status) == Errc::kInvalidArgument);
    return std::string(status.message());
  };
  CHECK_THAT(refusal("orders", dbn::kSchemaTrades), Catch::EndsWith("it has latest"));
  CHECK_THAT(refusal("order", dbn::kSchemaMbo), Catch::EndsWith("it has latest and orders"));
  CHECK_THAT(refusal("latest", "mine"), Catch::Contains("`mine`"));
  CHECK(make_fold("orders", dbn::kSchemaMbo).ok());
}

TEST_CASE("Without a fold's name, market by order gets orders, and other schemas get latest") {
  CHECK(default_fold(dbn::kSchemaMbo) == "orders");
  CHECK(default_fold(dbn::kSchemaMbp1) == "latest");
  CHECK(default_fold(kv16::kSchema) == "latest");
}

TEST_CASE("A record or an entry of another size changes nothing in any fold") {
  using Case = std::pair<const char*, const char*>;
  const auto [name, schema] = GENERATE(
      Case(kFoldLatest, "dbn.mbo"), Case(kFoldLatest, "dbn.trades"), Case(kFoldLatest, "dbn.mbp-1"),
      Case(kFoldLatest, "kv16"), Case("orders", "dbn.mbo"));
  const auto fold = *make_fold(name, schema);
  const FoldShape& shape = fold->shape();
  MemoryState state(shape);
  std::vector<std::byte> key(shape.key_bytes, std::byte{0x55});
  const std::vector<std::byte> key_before = key;
  const std::size_t right = shape.record_bytes;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, right - 8, right + 8}) {
    const std::vector<std::byte> record(bytes, std::byte{'A'});  // a sanitizer checks its end
    fold->apply(1, record, state);
    fold->settles(record);
    CHECK_FALSE(fold->reads(record, key));
  }
  CHECK(state.size() == 0);
  if (std::string(name) == kFoldLatest) {
    fold->key_of(std::vector<std::byte>(shape.entry_bytes - 1), key);
    CHECK(key == key_before);
  }
  std::vector<std::byte> short_key(shape.key_bytes - 1);
  fold->key_of(std::vector<std::byte>(shape.entry_bytes), short_key);
}

}  // namespace
}  // namespace lapwing
