#include "publisher/feeds/synthetic_feed.h"

#include <xxhash.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lapwing/error.h"
#include "lapwing/symbols.h"
#include "snapshot/dbn/dbn_metadata.h"

namespace lapwing {
namespace {

std::unique_ptr<Feed> open_synthetic(const std::string& specification,
                                     bool batch_by_burst = false) {
  auto feed = open_feed(specification, {.batch_by_burst = batch_by_burst});
  REQUIRE(feed.ok());
  return *std::move(feed);
}

struct Pass {
  std::uint64_t records = 0;
  std::uint64_t digest = 0;
  std::size_t batch_max = 0;
};

Pass play_synthetic(Feed& feed) {
  Pass pass;
  XXH3_state_t* state = XXH3_createState();
  XXH3_64bits_reset(state);
  for (;;) {
    const auto batch = feed.next();
    REQUIRE(batch.ok());
    if (batch->records.empty()) break;
    XXH3_64bits_update(state, batch->records.data(), batch->records.size());
    const std::size_t count = batch->records.size() / feed.description().record_bytes;
    pass.records += count;
    pass.batch_max = std::max(pass.batch_max, count);
  }
  pass.digest = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  return pass;
}

}  // namespace

// If you change the flow, increase kFlowVersion in synthetic_feed.cc and update these digests.
TEST_CASE("The same options give the same records on every machine") {
  CHECK(play_synthetic(*open_synthetic("synthetic:records=100000")).digest == 0xff136c0d4d074b14);
  CHECK(play_synthetic(*open_synthetic("synthetic:records=100000,seed=7,instruments=3")).digest ==
        0x4b5723557e2a6f8f);
}

TEST_CASE("Another seed gives other records") {
  const auto one = open_synthetic("synthetic:records=1000,seed=1");
  const auto two = open_synthetic("synthetic:records=1000,seed=2");
  CHECK(play_synthetic(*one).digest != play_synthetic(*two).digest);
  CHECK(one->description().source_id != two->description().source_id);
}

TEST_CASE("Batching does not change the records") {
  const auto full = open_synthetic("synthetic:records=200000", false);
  const auto bursts = open_synthetic("synthetic:records=200000", true);
  const Pass a = play_synthetic(*full);
  const Pass b = play_synthetic(*bursts);
  CHECK(a.digest == b.digest);
  CHECK(a.batch_max <= kFeedBatchMax);
  CHECK(b.batch_max <= kFeedBatchMax);
}

TEST_CASE("A batch by burst spans at most kBurstNs and begins later than the one before ends") {
  const auto feed = open_synthetic("synthetic:records=100000", true);
  std::uint64_t last_ns = 0;
  for (;;) {
    const auto batch = feed->next();
    REQUIRE(batch.ok());
    if (batch->records.empty()) break;
    dbn::MboMsg first;
    dbn::MboMsg last;
    std::memcpy(&first, batch->records.data(), sizeof first);
    std::memcpy(&last, batch->records.data() + batch->records.size() - sizeof last, sizeof last);
    REQUIRE(batch->time_ns == first.ts_recv);
    REQUIRE(last.ts_recv <= first.ts_recv + kBurstNs);
    REQUIRE(first.ts_recv > last_ns + kBurstNs);
    last_ns = last.ts_recv;
  }
  CHECK(last_ns != 0);
}

TEST_CASE("A pass has exactly the requested records and ends with an event") {
  const auto records = GENERATE(1, 2, 63, 64, 65, 1'199, 1'200, 1'201, 99'999);
  const auto feed = open_synthetic("synthetic:records=" + std::to_string(records));
  CHECK(feed->total() == static_cast<std::uint64_t>(records));
  dbn::MboMsg last{};
  std::uint64_t count = 0;
  for (;;) {
    const auto batch = feed->next();
    REQUIRE(batch.ok());
    if (batch->records.empty()) break;
    count += batch->records.size() / sizeof last;
    std::memcpy(&last, batch->records.data() + batch->records.size() - sizeof last, sizeof last);
  }
  CHECK(count == static_cast<std::uint64_t>(records));
  CHECK(last.flags == dbn::kFlagLast);
}

TEST_CASE("A rewound feed gives the same records again") {
  const auto feed = open_synthetic("synthetic:records=50000,instruments=5");
  const Pass first = play_synthetic(*feed);
  REQUIRE(feed->rewind().ok());
  CHECK(play_synthetic(*feed).digest == first.digest);
  REQUIRE(feed->rewind().ok());
  REQUIRE(feed->next().ok());  // in the middle of a pass
  REQUIRE(feed->rewind().ok());
  CHECK(play_synthetic(*feed).digest == first.digest);
}

TEST_CASE("The feed describes an MBO bus with symbols for its instruments") {
  const auto feed = open_synthetic("synthetic:instruments=3");
  CHECK(feed->description().schema == dbn::kSchemaMbo);
  CHECK(feed->description().record_bytes == 56);
  CHECK(feed->description().source_id != 0);
  const auto metadata = dbn::parse_metadata(std::as_bytes(std::span(feed->description().metadata)));
  REQUIRE(metadata.ok());
  CHECK(metadata->dataset == "LAPWING.SYNTH");
  CHECK(metadata->schema == dbn::SchemaId::kMbo);
  const auto symbols = Symbols::of_metadata(std::as_bytes(std::span(feed->description().metadata)));
  REQUIRE(symbols.ok());
  CHECK(symbols->symbol(3, FlowClock::kStartNs) == "SYN3");
  CHECK(symbols->instrument_ids("SYN2") == std::vector<std::uint32_t>{2});
}

TEST_CASE("An unknown option is refused with the valid ones") {
  const auto option = GENERATE("rate=5", "records", "records=x", "records=-1", "instruments=0",
                               "instruments=65", "seed=1,,colour=red");
  const auto feed = open_feed(std::string("synthetic:") + option, {});
  REQUIRE_FALSE(feed.ok());
  CHECK(errc_of(feed.status()) == Errc::kInvalidArgument);
  CHECK(std::string(feed.status().message()).find("records=N") != std::string::npos);
}

}  // namespace lapwing
