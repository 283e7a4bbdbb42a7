#include "publisher/feeds/dbn_feed.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "lapwing/error.h"
#include "lapwing/symbols.h"
#include "os/unique_fd.h"
#include "publisher/feeds/resume.h"
#include "snapshot/schema/known_schemas.h"
#include "snapshot/schema/record_clock.h"
#include "testing/dbn_files.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

// This value and larger ones are not times.
constexpr auto kTimeMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

std::unique_ptr<Feed> open_dbn(const std::string& path, const FeedOptions& options = {}) {
  auto feed = open_feed("dbn:" + path, options);
  if (!feed.ok()) FAIL(feed.status());
  return *std::move(feed);
}

std::string text(std::span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// Returns all records. `end` receives the status that ended the feed.
std::string play(Feed& feed, absl::Status* end = nullptr) {
  std::string out;
  for (;;) {
    const auto batch = feed.next();
    if (end != nullptr) *end = batch.status();
    if (!batch.ok() || batch->records.empty()) return out;
    out += text(batch->records);
  }
}

std::string metadata_of(dbn::SchemaId schema, bool ts_out = false) {
  dbn::Metadata metadata;
  metadata.dataset = "XTST.BOOK";
  metadata.schema = schema;
  metadata.ts_out = ts_out;
  return *dbn::encode_metadata(metadata);
}

template <typename Message>
std::string other_record(dbn::RType rtype) {
  Message record{};
  record.hd = {sizeof record / dbn::kLengthUnit, rtype, 1, 7, 1};
  return text(std::as_bytes(std::span(&record, 1)));
}

}  // namespace

TEST_CASE("A bus takes its schema and record size from the metadata") {
  struct Example {
    dbn::SchemaId id;
    const char* schema;
    std::uint32_t record_bytes;
  };
  const auto example = GENERATE(Example{dbn::SchemaId::kMbo, "dbn.mbo", 56},
                                Example{dbn::SchemaId::kTrades, "dbn.trades", 48},
                                Example{dbn::SchemaId::kMbp1, "dbn.mbp-1", 80});
  const TemporaryDirectory directory;
  write_file(directory.file("f"), metadata_of(example.id));
  const auto feed = open_dbn(directory.file("f"));
  CHECK(feed->description().schema == example.schema);
  CHECK(feed->description().record_bytes == example.record_bytes);
  CHECK(feed->description().metadata == metadata_of(example.id));
  CHECK(play(*feed).empty());
}

TEST_CASE("Every schema of DBN is carried as its version has it") {
  const auto version = GENERATE(std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3});
  for (const dbn::RecordSchema& schema : dbn::kRecordSchemas) {
    CAPTURE(schema.name, version);
    const TemporaryDirectory directory;
    dbn::Metadata metadata;
    metadata.version = version;
    metadata.dataset = "XTST.BOOK";
    metadata.schema = schema.id;
    const Schema records = known_schema(schema.name, version).value();
    std::string record(records.record_bytes, '\x5a');
    record[0] = static_cast<char>(record.size() / dbn::kLengthUnit);
    record[1] = static_cast<char>(schema.rtype);
    write_file(directory.file("f"), *dbn::encode_metadata(metadata) + record + record);
    const auto feed = open_dbn(directory.file("f"));
    CHECK(feed->description().schema == schema.name);
    CHECK(feed->description().record_bytes == records.record_bytes);
    CHECK(feed->description().records == records);
    CHECK(play(*feed) == record + record);
    CHECK(feed->skipped() == 0);
  }
}

TEST_CASE("A schema that this release does not know is refused") {
  const TemporaryDirectory directory;
  write_file(directory.file("f"), metadata_of(dbn::SchemaId{20}));
  const auto feed = open_feed("dbn:" + directory.file("f"), {});
  REQUIRE(errc_of(feed.status()) == Errc::kRecordSize);
  CHECK(std::string(feed.status().message()).find("schema unknown (20)") != std::string::npos);
}

TEST_CASE("The requested schema of a mixed stream is taken") {
  const TemporaryDirectory directory;
  const std::string trade = other_record<dbn::TradeMsg>(dbn::RType::kTrade);
  write_file(directory.file("f"),
             metadata_of(dbn::SchemaId::kMixed) + mbo_records(1, 1) + trade + mbo_records(2, 1));
  const auto feed = open_dbn(directory.file("f"), {.schema = GENERATE("trades", "dbn.trades")});
  CHECK(feed->description().schema == dbn::kSchemaTrades);
  CHECK(play(*feed) == trade);
  CHECK(feed->skipped() == 2);
}

TEST_CASE("A requested schema that the file does not contain is refused") {
  const TemporaryDirectory directory;
  write_file(directory.file("f"), mbo_metadata() + mbo_records(1, 1));
  CHECK(open_feed("dbn:" + directory.file("f"), {.schema = "mbo"}).ok());
  const auto other = open_feed("dbn:" + directory.file("f"), {.schema = "trades"}).status();
  CHECK(errc_of(other) == Errc::kInvalidArgument);
  CHECK(std::string(other.message()).find("schema mbo, not of trades") != std::string::npos);
  const auto none = open_feed("dbn:" + directory.file("f"), {.schema = "mbp-2"}).status();
  CHECK(errc_of(none) == Errc::kInvalidArgument);
}

TEST_CASE("Records with send times are refused") {
  const TemporaryDirectory directory;
  write_file(directory.file("f"), metadata_of(dbn::SchemaId::kMbo, true));
  const auto feed = open_feed("dbn:" + directory.file("f"), {});
  CHECK(errc_of(feed.status()) == Errc::kRecordSize);
  CHECK(std::string(feed.status().message()).find("ts_out") != std::string::npos);
}

TEST_CASE("Records of another type or length are counted and left out") {
  const TemporaryDirectory directory;
  const std::string trade = other_record<dbn::TradeMsg>(dbn::RType::kTrade);
  std::string long_mbo = mbo_records(9, 1) + std::string(8, '\0');
  long_mbo[0] = 16;  // 64 bytes
  write_file(directory.file("f"), mbo_metadata() + trade + mbo_records(1, 2) + long_mbo + trade +
                                      mbo_records(3, 1) + trade);
  const auto feed = open_dbn(directory.file("f"));
  CHECK(play(*feed) == mbo_records(1, 3));
  CHECK(feed->skipped() == 4);
}

TEST_CASE("A mixed stream gives the bus the schema of its first record that fits one") {
  const TemporaryDirectory directory;
  const std::string system_message = other_record<dbn::Mbp1Msg>(dbn::RType{0x17});
  const std::string trade = other_record<dbn::TradeMsg>(dbn::RType::kTrade);
  write_file(directory.file("f"), metadata_of(dbn::SchemaId::kMixed) + system_message +
                                      mbo_records(1, 1) + trade + mbo_records(2, 1));
  const auto feed = open_dbn(directory.file("f"));
  CHECK(feed->description().schema == dbn::kSchemaMbo);
  CHECK(play(*feed) == mbo_records(1, 2));
  CHECK(feed->skipped() == 2);

  write_file(directory.file("g"), metadata_of(dbn::SchemaId::kMixed) + system_message);
  const auto none = open_feed("dbn:" + directory.file("g"), {});
  CHECK(errc_of(none.status()) == Errc::kRecordSize);
}

TEST_CASE("Records before the first of the chosen schema are counted once in each pass") {
  const TemporaryDirectory directory;
  const std::string system_message = other_record<dbn::Mbp1Msg>(dbn::RType{0x17});
  const std::string trade = other_record<dbn::TradeMsg>(dbn::RType::kTrade);
  write_file(directory.file("f"), metadata_of(dbn::SchemaId::kMixed) + system_message +
                                      system_message + trade + system_message + trade +
                                      system_message);
  const auto once = open_dbn(directory.file("f"));
  CHECK(once->skipped() == 2);
  REQUIRE(once->rewind().ok());
  CHECK(once->skipped() == 0);
  CHECK(play(*once) == trade + trade);
  CHECK(once->skipped() == 4);
  const auto looped = open_dbn(directory.file("f"), {.passes = 3});
  CHECK(play(*looped).size() == 6 * sizeof(dbn::TradeMsg));
  CHECK(looped->skipped() == 3 * 4);
}

TEST_CASE("Records skipped before a rewind, with no delivered record since, stay counted") {
  const TemporaryDirectory directory;
  const std::string trade = other_record<dbn::TradeMsg>(dbn::RType::kTrade);
  std::string later = mbo_records(2, 1);  // later than a burst
  later[offsetof(dbn::MboMsg, ts_recv) + 3] = '\x7f';
  write_file(directory.file("f"),
             mbo_metadata() + trade + mbo_records(1, 1) + trade + later + trade);
  const auto feed = open_dbn(directory.file("f"), {.batch_by_burst = true});
  CHECK(text(feed->next()->records) == mbo_records(1, 1));  // the next one has already been read
  CHECK(feed->skipped() == 2);
  REQUIRE(feed->rewind().ok());
  CHECK(feed->skipped() == 1);
  CHECK(play(*feed).size() == 2 * sizeof(dbn::MboMsg));
  CHECK(feed->skipped() == 1 + 3);
}

TEST_CASE("A mixed stream names the schemas that it cannot distinguish") {
  const TemporaryDirectory directory;
  const std::string quote = other_record<dbn::Mbp1Msg>(dbn::RType::kMbp1);
  write_file(directory.file("mixed"),
             metadata_of(dbn::SchemaId::kMixed) + quote + mbo_records(1, 1));
  const auto tbbo = open_dbn(directory.file("mixed"), {.schema = "tbbo"});
  CHECK(play(*tbbo) == quote);
  CHECK(tbbo->description().remark.find("tbbo and mbp-1 have the same type") != std::string::npos);
  CHECK(tbbo->description().remark.find("published as dbn.tbbo") != std::string::npos);
  const auto by_first_record = open_dbn(directory.file("mixed"));
  CHECK(by_first_record->description().remark.find("published as dbn.mbp-1") != std::string::npos);
  CHECK(open_dbn(directory.file("mixed"), {.schema = "mbo"})->description().remark.empty());
  write_file(directory.file("tbbo"), metadata_of(dbn::SchemaId::kTbbo) + quote);
  CHECK(open_dbn(directory.file("tbbo"))->description().remark.empty());
}

// As a gateway sends it: no symbols, and unknown schema and symbol types.
std::string live_metadata(std::uint8_t version = 3) {
  dbn::Metadata metadata;
  metadata.version = version;
  metadata.dataset = "XTST.BOOK";
  metadata.stype_in = dbn::SType::kMixed;
  return *dbn::encode_metadata(metadata);
}

std::vector<std::string> names_of(const Feed& feed) {
  const std::string& metadata = feed.description().metadata;
  return Symbols::of_metadata(std::as_bytes(std::span(metadata))).value().names();
}

TEST_CASE("Symbols of a live recording come from the mapping records of the whole file") {
  const auto version = GENERATE(std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3});
  const TemporaryDirectory directory;
  const std::string news = other_record<dbn::Mbp1Msg>(dbn::RType{0x17});
  write_file(directory.file("live"),
             live_metadata(version) + news + mapping_record({"", "ESH4", 7, 5}, version) +
                 mbo_records(1, 2) + mapping_record({"", "005930", 8, 6}, version) + news +
                 mbo_records(3, 1));
  const auto feed = open_dbn(directory.file("live"), {.schema = GENERATE("", "mbo")});
  CHECK(names_of(*feed) == std::vector<std::string>{"005930", "ESH4"});
  const auto metadata = dbn::parse_metadata(std::as_bytes(std::span(feed->description().metadata)));
  REQUIRE(metadata.ok());
  CHECK(metadata->version == version);
  CHECK(metadata->dataset == "XTST.BOOK");
  CHECK(metadata->stype_in == dbn::SType::kRawSymbol);
  CHECK(metadata->stype_out == dbn::SType::kInstrumentId);
  CHECK(play(*feed) == mbo_records(1, 3));
  CHECK(feed->skipped() == 4);
  REQUIRE(feed->rewind().ok());
  CHECK(play(*feed) == mbo_records(1, 3));
}

TEST_CASE("Metadata stay as they are if they have mappings, or no mapping record comes first") {
  const TemporaryDirectory directory;
  const std::string mapping = mapping_record({"", "NEW", 7, 5});
  std::string metadata = mbo_metadata();
  SECTION("the metadata has mappings") {
    write_file(directory.file("f"), metadata + mapping + mbo_records(1, 2));
  }
  SECTION("the first mapping record comes after the first record of the market") {
    metadata = live_metadata();
    write_file(directory.file("f"), metadata + mbo_records(1, 1) + mapping + mbo_records(2, 1));
  }
  SECTION("there is no record") {
    metadata = metadata_of(dbn::SchemaId::kMbo);
    write_file(directory.file("f"), metadata);
  }
  const auto feed = open_dbn(directory.file("f"));
  CHECK(feed->description().metadata == metadata);
}

TEST_CASE("A file of one schema may contain mapping records") {
  const TemporaryDirectory directory;
  write_file(directory.file("f"), metadata_of(dbn::SchemaId::kMbo) +
                                      mapping_record({"", "ESH4", 7, 5}) + mbo_records(1, 2));
  const auto feed = open_dbn(directory.file("f"));
  CHECK(names_of(*feed) == std::vector<std::string>{"ESH4"});
  CHECK(play(*feed) == mbo_records(1, 2));
  CHECK(feed->skipped() == 1);
}

TEST_CASE("Damage after mapping records is reported at the end of the records") {
  const TemporaryDirectory directory;
  write_file(directory.file("f"), live_metadata() + mapping_record({"", "ESH4", 7, 5}) +
                                      mbo_records(1, 2) + mbo_records(3, 1).substr(0, 20));
  const auto feed = open_dbn(directory.file("f"));
  CHECK(names_of(*feed) == std::vector<std::string>{"ESH4"});
  absl::Status end;
  CHECK(play(*feed, &end) == mbo_records(1, 2));
  CHECK(errc_of(end) == Errc::kBadInput);
}

TEST_CASE("Reading the symbols of a long file can be stopped") {
  const TemporaryDirectory directory;
  write_file(directory.file("f"),
             live_metadata() + mapping_record({"", "ESH4", 7, 5}) + mbo_records(1, 70'000));
  const auto stopped = open_feed("dbn:" + directory.file("f"), {.stopped = [] { return true; }});
  CHECK(errc_of(stopped.status()) == Errc::kClosed);
}

TEST_CASE("Batches end with their burst or have the maximum size") {
  const TemporaryDirectory directory;
  write_file(directory.file("f"), mbo_metadata() + mbo_records(1, 5'000));  // a microsecond apart
  const auto paced = open_dbn(directory.file("f"), {.batch_by_burst = true});
  for (std::uint64_t first = 1; first <= 1'001; first += 2) {
    const auto batch = paced->next();
    REQUIRE(batch.ok());
    CHECK(text(batch->records) == mbo_records(first, 2));  // exactly kBurstNs apart: one burst
    CHECK(batch->time_ns == 1'000 * first + 1);
  }
  const auto full = open_dbn(directory.file("f"), {.batch_by_burst = false});
  CHECK(full->next()->records.size() == kFeedBatchMax * sizeof(dbn::MboMsg));
}

TEST_CASE("Records before an error are delivered, then the error") {
  const TemporaryDirectory directory;
  std::string records = mbo_records(1, 3'000);
  SECTION("the last record is cut off") {
    records.resize(2'999 * 56 + 9);
  }
  SECTION("the last record's length is damaged") {
    records[2'999 * 56] = 0;
  }
  write_file(directory.file("f"), mbo_metadata() + records);
  const auto feed = open_dbn(directory.file("f"), {.batch_by_burst = false});
  absl::Status end;
  CHECK((play(*feed, &end) == mbo_records(1, 2'999)));
  REQUIRE(errc_of(end) == Errc::kBadInput);
  CHECK(std::string(end.message()).find("record 3000") != std::string::npos);
  CHECK(feed->next().status() == end);
  REQUIRE(feed->rewind().ok());
  CHECK((play(*feed) == mbo_records(1, 2'999)));
}

TEST_CASE("A file is the same source under any path") {
  const TemporaryDirectory directory;
  write_file(directory.file("f"), mbo_metadata());
  write_file(directory.file("g"), mbo_metadata());
  std::filesystem::create_symlink(directory.file("f"), directory.file("link"));
  const auto id = open_dbn(directory.file("f"))->description().source_id;
  CHECK(id != 0);
  CHECK(open_dbn(directory.file("link"))->description().source_id == id);
  CHECK(open_dbn(directory.path() + "/./f")->description().source_id == id);
  CHECK(open_dbn(directory.file("f"), {.passes = 3})->description().source_id == id);
  CHECK(open_dbn(directory.file("g"))->description().source_id != id);
}

// A named pipe that contains metadata. A feed reads it, and a test writes to it.
class FeedPipe {
 public:
  explicit FeedPipe(const std::string& metadata = mbo_metadata()) {
    REQUIRE(::mkfifo(path().c_str(), 0600) == 0);
    writer_.reset(::open(path().c_str(), O_RDWR | O_CLOEXEC));  // does not wait for a reader
    REQUIRE(writer_.valid());
    send(metadata);
  }
  std::string path() const { return directory_.file("pipe"); }
  void send(const std::string& bytes) {
    const bool sent =
        ::write(writer_.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    if (!sent) FAIL("write: errno " << errno);
  }
  void close() { writer_.reset(); }

 private:
  TemporaryDirectory directory_;
  UniqueFd writer_;
};

bool readable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

TEST_CASE("A feed of a pipe without data returns the descriptor to wait for") {
  FeedPipe pipe;
  const auto feed = open_dbn(pipe.path(), {.batch_by_burst = false});
  pipe.send(mbo_records(1, 2) + mbo_records(3, 1).substr(0, 20));
  CHECK(text(feed->next()->records) == mbo_records(1, 2));
  for (int i = 0; i < 2; ++i) {
    const auto nothing = feed->next();
    REQUIRE(nothing.ok());
    CHECK(nothing->nothing_yet);
    CHECK_FALSE(nothing->ended());
  }
  CHECK_FALSE(readable(feed->fd()));
  pipe.send(mbo_records(3, 1).substr(20));
  CHECK(readable(feed->fd()));
  CHECK(text(feed->next()->records) == mbo_records(3, 1));
  pipe.close();
  CHECK(readable(feed->fd()));
  CHECK(feed->next()->ended());
}

TEST_CASE("A live stream has the symbols that are mapped before its first record of the market") {
  FeedPipe pipe(live_metadata());
  const std::string news = other_record<dbn::Mbp1Msg>(dbn::RType{0x17});
  const std::string trade = other_record<dbn::TradeMsg>(dbn::RType::kTrade);
  pipe.send(news + mapping_record({"", "ESH4", 7, 5}) + mapping_record({"", "NQH4", 8, 5}));
  SECTION("its schema is that of the first record") {
    pipe.send(mbo_records(1, 1) + mapping_record({"", "LATE", 9, 6}));
    const auto feed = open_dbn(pipe.path());
    CHECK(names_of(*feed) == std::vector<std::string>{"ESH4", "NQH4"});
    pipe.close();
    CHECK(play(*feed) == mbo_records(1, 1));
    CHECK(feed->skipped() == 4);
  }
  SECTION("its schema is asked for, and other records come first") {
    pipe.send(trade + mbo_records(1, 1));
    const auto feed = open_dbn(pipe.path(), {.schema = "mbo"});
    CHECK(names_of(*feed) == std::vector<std::string>{"ESH4", "NQH4"});
    pipe.close();
    CHECK(play(*feed) == mbo_records(1, 1));
    CHECK(feed->skipped() == 4);
  }
}

TEST_CASE("A stream of one schema is open before its first record arrives") {
  FeedPipe pipe(metadata_of(dbn::SchemaId::kMbo));
  const auto feed = open_dbn(pipe.path());
  CHECK(feed->next()->nothing_yet);
}

TEST_CASE("Waiting for a feed ends with the next batch, or with the stop") {
  FeedPipe pipe;
  const auto feed = open_dbn(pipe.path(), {.batch_by_burst = false});
  int stop[2];
  REQUIRE(::pipe2(stop, O_CLOEXEC) == 0);
  std::thread sender([&pipe] { pipe.send(mbo_records(1, 1)); });
  CHECK(text(await_batch(*feed, {.stop_fd = stop[0]})->records) == mbo_records(1, 1));
  sender.join();
  std::thread stopper([&stop] {
    if (::write(stop[1], "x", 1) != 1) ::close(stop[1]);
  });
  CHECK(errc_of(await_batch(*feed, {.stop_fd = stop[0]}).status()) == Errc::kClosed);
  stopper.join();
  pipe.send(mbo_records(2, 1));
  CHECK(text(await_batch(*feed, {.stop_fd = stop[0]})->records) ==
        mbo_records(2, 1));  // available records come first
  ::close(stop[0]);
  ::close(stop[1]);
}

TEST_CASE("Records are skipped over pauses of the feed") {
  FeedPipe pipe;
  const auto feed = open_dbn(pipe.path(), {.batch_by_burst = false});
  std::thread sender([&pipe] {
    const std::string records = mbo_records(1, 5);
    for (std::size_t at = 0; at < records.size(); at += 28) pipe.send(records.substr(at, 28));
    pipe.close();
  });
  std::string rest;
  const auto resumed = feed->resume({.records = 3}, nullptr, {});
  REQUIRE(resumed.ok());
  rest = text(resumed->rest.records);
  for (auto batch = await_batch(*feed); !batch->ended(); batch = await_batch(*feed)) {
    rest += text(batch->records);
  }
  sender.join();
  CHECK(rest == mbo_records(4, 2));
}

TEST_CASE("A looped file is separated by clears") {
  const TemporaryDirectory directory;
  write_file(directory.file("f"), mbo_metadata() + mbo_records(1, 3));
  const auto feed = open_dbn(directory.file("f"), {.passes = 2});
  const std::string out = play(*feed);
  REQUIRE(out.size() == 7 * sizeof(dbn::MboMsg));
  CHECK(out.substr(0, 3 * 56) == mbo_records(1, 3));
  CHECK(out[3 * 56 + offsetof(dbn::MboMsg, action)] == 'R');
  CHECK(out.substr(4 * 56) == mbo_records(1, 3));
}

TEST_CASE("Restamping sets ts_recv of each record and nothing else") {
  const TemporaryDirectory directory;
  write_file(directory.file("f"), mbo_metadata() + mbo_records(1, 100));
  const auto feed = open_dbn(directory.file("f"), {.batch_by_burst = false});
  const auto batch = feed->next();
  REQUIRE(batch->records.size() == 100 * sizeof(dbn::MboMsg));
  RecordClock(*feed->description().records).stamp(batch->records, 42);
  for (std::uint64_t i = 0; i < 100; ++i) {
    dbn::MboMsg wanted = mbo_record(i + 1);
    wanted.ts_recv = 42;
    REQUIRE(std::memcmp(batch->records.data() + i * sizeof wanted, &wanted, sizeof wanted) == 0);
  }
}

TEST_CASE("A record's pacing time is ts_recv, else ts_event, else none") {
  const RecordClock clock(*known_schema(dbn::kSchemaMbo));
  dbn::MboMsg record = mbo_record(5);
  const auto time = [&] { return clock.pacing_time_ns(std::as_bytes(std::span(&record, 1))); };
  CHECK(time() == 5'001);
  const std::uint64_t none =
      GENERATE(std::uint64_t{0}, kTimeMax, kTimeMax + 1, dbn::kUndefTimestamp);  // + 1: not a time
  record.ts_recv = none;
  CHECK(time() == 5'000);
  record.hd.ts_event = none;
  CHECK(time() == 0);
  record.ts_recv = kTimeMax - 1;
  CHECK(time() == kTimeMax - 1);
}

TEST_CASE("An invalid source is refused with the valid forms") {
  const auto specification =
      GENERATE("", "es.dbn", "dbn", "dbn:", "journal", "journal:", "DBN:x", "syntheticx");
  const auto feed = open_feed(specification, {});
  CHECK(errc_of(feed.status()) == Errc::kInvalidArgument);
  CHECK(std::string(feed.status().message()).find("dbn:PATH") != std::string::npos);
}

}  // namespace lapwing
