#include "publisher/feeds/kv16_feed.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <set>

#include "lapwing/error.h"

namespace lapwing {
namespace {

std::vector<kv16::Record> play_pairs(Feed& feed) {
  std::vector<kv16::Record> records;
  for (;;) {
    const absl::StatusOr<FeedBatch> batch = feed.next();
    REQUIRE(batch.ok());
    if (batch->records.empty()) return records;
    const std::size_t before = records.size();
    records.resize(before + batch->records.size() / sizeof(kv16::Record));
    std::memcpy(&records[before], batch->records.data(), batch->records.size());
  }
}

}  // namespace

TEST_CASE("Every key comes once before the first comes again, and values count") {
  const auto feed = open_feed("kv16:records=25000,keys=10000", {});
  REQUIRE(feed.ok());
  CHECK((*feed)->description().schema == "kv16");
  CHECK((*feed)->total() == 25'000);
  const std::vector<kv16::Record> records = play_pairs(**feed);
  REQUIRE(records.size() == 25'000);
  std::set<std::uint64_t> keys;
  for (std::size_t n = 0; n < records.size(); ++n) {
    CHECK(records[n].value == n + 1);
    CHECK(keys.insert(records[n].key).second == (n < 10'000));
    if (n >= 10'000) CHECK(records[n].key == records[n - 10'000].key);
  }
  REQUIRE((*feed)->rewind().ok());
  CHECK(play_pairs(**feed).front().key == records.front().key);
}

TEST_CASE("Without a number of keys each record has its own, another seed gives others") {
  const auto one = open_feed("kv16:records=3000", {});
  const auto other = open_feed("kv16:records=3000,seed=4000", {});
  std::set<std::uint64_t> keys;
  for (const kv16::Record& record : play_pairs(**one)) keys.insert(record.key);
  CHECK(keys.size() == 3000);
  for (const kv16::Record& record : play_pairs(**other)) keys.insert(record.key);
  CHECK(keys.size() == 6000);
  CHECK((*one)->description().source_id != (*other)->description().source_id);
}

TEST_CASE("An unknown option of the kv16 feed is named, with the valid ones") {
  for (const char* text : {"kv16:rows=1", "kv16:keys=0", "kv16:records=x"}) {
    const auto feed = open_feed(text, {});
    CHECK(errc_of(feed.status()) == Errc::kInvalidArgument);
    CHECK(feed.status().message().find("keys=N") != absl::string_view::npos);
  }
}

}  // namespace lapwing
