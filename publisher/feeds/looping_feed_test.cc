#include "publisher/feeds/looping_feed.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "lapwing/error.h"
#include "publisher/feeds/resume.h"

namespace lapwing {
namespace {

// A feed that delivers the given records in batches of three.
class ListFeed : public Feed {
 public:
  ListFeed(std::vector<dbn::MboMsg> records, const char* schema) : records_(std::move(records)) {
    description_.schema = schema;
    description_.record_bytes = sizeof(dbn::MboMsg);
  }
  const FeedDescription& description() const override { return description_; }
  absl::StatusOr<FeedBatch> next() override {
    const std::size_t count = std::min<std::size_t>(3, records_.size() - at_);
    FeedBatch batch;
    if (at_ == pauses_at && !std::exchange(paused_, true)) {
      batch.nothing_yet = true;
      return batch;
    }
    batch.records = std::as_writable_bytes(std::span(records_).subspan(at_, count));
    at_ += count;
    return batch;
  }
  absl::Status rewind() override {
    if (!can_rewind) return make_error(Errc::kUnsupported, "a stream");
    at_ = 0;
    paused_ = false;
    return absl::OkStatus();
  }
  std::uint64_t skipped() const override { return 0; }

  bool can_rewind = true;
  std::size_t pauses_at = SIZE_MAX;  // once per pass, next() returns nothing_yet at this index

 private:
  FeedDescription description_;
  std::vector<dbn::MboMsg> records_;
  std::size_t at_ = 0;
  bool paused_ = false;
};

dbn::MboMsg add(std::uint32_t instrument, std::uint64_t order_id) {
  dbn::MboMsg record{};
  record.hd = {sizeof record / dbn::kLengthUnit, dbn::RType::kMbo, 1, instrument, 1'000 + order_id};
  record.order_id = order_id;
  record.action = dbn::Action::kAdd;
  record.ts_recv = 2'000 + order_id;
  return record;
}

std::unique_ptr<Feed> loop(std::vector<dbn::MboMsg> records, std::uint64_t passes,
                           const char* schema = dbn::kSchemaMbo) {
  auto feed = LoopingFeed::open(std::make_unique<ListFeed>(std::move(records), schema), passes);
  REQUIRE(feed.ok());
  return *std::move(feed);
}

// Plays up to `limit` records.
std::vector<dbn::MboMsg> play_loop(Feed& feed, std::size_t limit = 10'000) {
  std::vector<dbn::MboMsg> out;
  while (out.size() < limit) {
    const auto batch = feed.next();
    REQUIRE(batch.ok());
    if (batch->records.empty()) break;
    const std::size_t count = batch->records.size() / sizeof(dbn::MboMsg);
    REQUIRE(count <= kFeedBatchMax);
    out.resize(out.size() + count);
    std::memcpy(out.data() + out.size() - count, batch->records.data(), batch->records.size());
  }
  return out;
}

}  // namespace

TEST_CASE("Each pass but the first begins with one clear for each instrument seen") {
  const auto feed = loop({add(7, 1), add(9, 2), add(7, 3), add(8, 4)}, 3);
  const auto out = play_loop(*feed);
  REQUIRE(out.size() == 3 * 4 + 2 * 3);
  for (const std::size_t first : {4U, 11U}) {
    std::set<std::uint32_t> cleared;
    for (std::size_t i = first; i < first + 3; ++i) {
      CHECK(out[i].action == dbn::Action::kClear);
      CHECK(out[i].flags == dbn::kFlagLast);
      CHECK(out[i].hd.length == sizeof(dbn::MboMsg) / dbn::kLengthUnit);
      CHECK(out[i].ts_recv == 2'004);
      cleared.insert(out[i].hd.instrument_id);
    }
    CHECK(cleared == std::set<std::uint32_t>{7, 8, 9});
    CHECK(out[first + 3].order_id == 1);
  }
}

TEST_CASE("One pass is only the feed") {
  CHECK(play_loop(*loop({add(1, 1), add(1, 2)}, 1)).size() == 2);
}

TEST_CASE("Zero passes never end") {
  CHECK(play_loop(*loop({add(1, 1), add(1, 2)}, 0), 5'000).size() >= 5'000);
}

TEST_CASE("A source without records ends even if it is played for ever") {
  CHECK(play_loop(*loop({}, 0)).empty());
}

TEST_CASE("Clears for more instruments than a batch holds come in several batches") {
  std::vector<dbn::MboMsg> records;
  for (std::uint32_t i = 1; i <= 3'000; ++i) records.push_back(add(i, i));
  const auto out = play_loop(*loop(records, 2));
  REQUIRE(out.size() == 3 * 3'000);
  CHECK(out[3'000].action == dbn::Action::kClear);
  CHECK(out[5'999].action == dbn::Action::kClear);
  CHECK(out[6'000].action == dbn::Action::kAdd);
}

TEST_CASE("Passes of another schema are not separated by clears") {
  const auto out = play_loop(*loop({add(1, 1), add(1, 2)}, 2, dbn::kSchemaTrades));
  CHECK(out.size() == 4);
}

TEST_CASE("A source that cannot be rewound is refused at once") {
  auto stream = std::make_unique<ListFeed>(std::vector{add(1, 1)}, dbn::kSchemaMbo);
  stream->can_rewind = false;
  const auto feed = LoopingFeed::open(std::move(stream), 2);
  CHECK(errc_of(feed.status()) == Errc::kUnsupported);
}

TEST_CASE("Skipping counts the clears between the passes too") {
  const auto feed = loop({add(7, 1), add(9, 2), add(7, 3), add(8, 4)}, 2);
  const auto whole = play_loop(*feed);
  for (std::size_t skip = 0; skip <= whole.size(); ++skip) {
    REQUIRE(feed->rewind().ok());
    const auto resumed = feed->resume({.records = skip}, nullptr, {});
    REQUIRE(resumed.ok());
    CHECK(resumed->position == skip);
    std::vector<dbn::MboMsg> rest(resumed->rest.records.size() / sizeof(dbn::MboMsg));
    std::ranges::copy(resumed->rest.records, std::as_writable_bytes(std::span(rest)).begin());
    for (const dbn::MboMsg& record : play_loop(*feed)) rest.push_back(record);
    REQUIRE(rest.size() == whole.size() - skip);
    CHECK((rest.empty() || std::memcmp(rest.data(), &whole[skip], rest.size() * 56) == 0));
  }
}

TEST_CASE("A source without data so far has not ended its pass") {
  auto source = std::make_unique<ListFeed>(std::vector{add(7, 1), add(7, 2), add(7, 3), add(7, 4)},
                                           dbn::kSchemaMbo);
  source->pauses_at = GENERATE(0U, 3U);
  const auto feed = LoopingFeed::open(std::move(source), 2);
  REQUIRE(feed.ok());
  std::size_t records = 0;
  int pauses = 0;
  for (auto batch = (*feed)->next(); !batch->ended(); batch = (*feed)->next()) {
    pauses += batch->nothing_yet ? 1 : 0;
    records += batch->records.size() / sizeof(dbn::MboMsg);
  }
  CHECK(pauses == 2);
  CHECK(records == 4 + 1 + 4);
}

}  // namespace lapwing
