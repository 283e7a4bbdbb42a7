// Tests with real market files from the folder LAPWING_TEST_DATA.
#include <catch2/catch.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lapwing/symbols.h"
#include "publisher/feeds/dbn_feed.h"
#include "snapshot/dbn/dbn_reader.h"
#include "testing/dbn_files.h"

namespace lapwing {
namespace {

struct RealFile {
  const char* name;
  std::uint64_t records;
  std::size_t record_bytes;  // 0: several sizes, so a bus cannot carry it
};

constexpr RealFile kRealFiles[] = {
    {"esh4-glbx-mdp3-20231225.mbo.dbn.zst", 68'792, 56},
    {"esh4-glbx-mdp3-20231224.mbo.dbn.zst", 8'725, 56},
    {"futures_mbp-1_2024-07-01T23-58_2024-07-02T00-02.dbn.zst", 2'288, 80},
    {"futures_trades_2024-07-01T23-58_2024-07-02T00-02.dbn.zst", 120, 48},
    {"definition-glbx-es-fut.dbn.zst", 2, 0},
    {"us-equities-20131007.mbp-1.dbn.zst", 2'054'274, 80},
    {"us-equities-20131007.trades.dbn.zst", 388'417, 48},
};

}  // namespace

TEST_CASE("Each real file decodes to its documented number of records") {
  const std::string folder = test_data_folder("the seven real DBN files");
  if (folder.empty()) return;
  for (const RealFile& file : kRealFiles) {
    CAPTURE(file.name);
    const auto reader = DbnReader::open(folder + "/" + file.name);
    REQUIRE(reader.ok());
    std::uint64_t count = 0;
    for (;; ++count) {
      const auto record = (*reader)->next();
      if (!record.ok()) FAIL(record.status());
      if (record->empty()) break;
      if (file.record_bytes != 0 && record->size() != file.record_bytes) FAIL("record " << count);
    }
    CHECK(count == file.records);
  }
}

TEST_CASE("The real files feed a bus with all their records") {
  const std::string folder = test_data_folder("the feeds of six real DBN files");
  if (folder.empty()) return;
  const bool by_burst = GENERATE(false, true);
  for (const RealFile& file : kRealFiles) {
    if (file.record_bytes == 0) continue;
    CAPTURE(file.name, by_burst);
    const auto feed =
        open_feed(std::string("dbn:") + folder + "/" + file.name, {.batch_by_burst = by_burst});
    REQUIRE(feed.ok());
    std::uint64_t bytes = 0;
    for (;;) {
      const auto batch = (*feed)->next();
      if (!batch.ok()) FAIL(batch.status());
      if (batch->records.empty()) break;
      bytes += batch->records.size();
    }
    CHECK((*feed)->description().record_bytes == file.record_bytes);
    CHECK(bytes == file.records * file.record_bytes);
    CHECK((*feed)->skipped() == 0);
  }
}

TEST_CASE("The symbols of a real live recording are those of its mapping records") {
  const std::string folder = test_data_folder("a real live recording");
  if (folder.empty()) return;
  const std::string source = "dbn:" + folder + "/live/capture-46-records.live.dbn.zst";
  for (const auto& [schema, records] : std::vector<std::pair<std::string, std::size_t>>{
           {"", 2}, {"mbo", 5}, {"trades", 2}, {"statistics", 9}}) {
    CAPTURE(schema);
    const auto feed = open_feed(source, {.schema = schema});
    REQUIRE(feed.ok());
    const std::string& metadata = (*feed)->description().metadata;
    const auto symbols = Symbols::of_metadata(std::as_bytes(std::span(metadata)));
    REQUIRE(symbols.ok());
    CHECK(symbols->names() == std::vector<std::string>{"ESZ4"});
    CHECK(symbols->instrument_ids("ESZ4") == std::vector<std::uint32_t>{183'748});
    std::size_t count = 0;
    for (;;) {
      const auto batch = (*feed)->next();
      REQUIRE(batch.ok());
      if (batch->records.empty()) break;
      count += batch->records.size() / (*feed)->description().record_bytes;
    }
    CHECK(count == records);
    CHECK((*feed)->skipped() == 46 - records);
  }
}

}  // namespace lapwing
