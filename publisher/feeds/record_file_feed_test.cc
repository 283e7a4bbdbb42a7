#include "publisher/feeds/record_file_feed.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "lapwing/error.h"
#include "lapwing/kv16.h"
#include "snapshot/schema/known_schemas.h"
#include "testing/dbn_files.h"
#include "testing/record_files.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

std::unique_ptr<Feed> open_file_feed(const std::string& path, const FeedOptions& options = {}) {
  auto feed = open_feed("file:" + path, options);
  if (!feed.ok()) FAIL(feed.status());
  return *std::move(feed);
}

// Creates a file with this name that has `records` after the head.
std::string made(const TemporaryDirectory& directory, const RecordFileHead& head,
                 const std::string& records, const std::string& name = "f.records") {
  const std::string path = directory.file(name);
  const std::string bytes = encode_record_file_head(head).value() + records;
  write_file(path, path.ends_with(".zst") ? zstd_frame(bytes) : bytes);
  return path;
}

// Returns all records. `end` receives the status that ended the feed, `batches` their number.
std::string play_file(Feed& feed, absl::Status* end = nullptr, std::size_t* batches = nullptr) {
  std::string out;
  for (;;) {
    const auto batch = feed.next();
    if (end != nullptr) *end = batch.status();
    if (!batch.ok() || batch->ended()) return out;
    REQUIRE(batch->records.size() <= kFeedBatchMax * feed.description().record_bytes);
    out.append(reinterpret_cast<const char*>(batch->records.data()), batch->records.size());
    if (batches != nullptr) ++*batches;
  }
}

}  // namespace

TEST_CASE("A bus takes the complete description from a record file") {
  const TemporaryDirectory directory;
  const std::string records = signal_records(1, 5'000);
  const auto feed = open_file_feed(
      made(directory, signal_head(), records, GENERATE("f.records", "f.records.zst")));
  CHECK(feed->description().schema == "desk.signal");
  CHECK(feed->description().record_bytes == sizeof(Signal));
  CHECK(feed->description().records == schema_of<Signal>());
  CHECK(feed->description().metadata.empty());
  for (int pass = 0; pass < 2; ++pass) {
    absl::Status end;
    CHECK((play_file(*feed, &end) == records));
    CHECK(end.ok());
    REQUIRE(feed->rewind().ok());
  }
}

TEST_CASE("Undescribed records stay undescribed, unless Lapwing ships their schema") {
  const TemporaryDirectory directory;
  const auto plain = open_file_feed(made(directory, plain_head(), signal_records(1, 3)));
  CHECK(plain->description().schema == "desk.plain");
  CHECK(plain->description().record_bytes == sizeof(Signal));
  CHECK_FALSE(plain->description().records);
  const auto batch = plain->next();
  REQUIRE(batch.ok());
  CHECK(batch->records.size() == 3 * sizeof(Signal));
  CHECK(batch->time_ns == 0);
  const RecordFileHead pairs{.schema = kv16::kSchema, .record_bytes = sizeof(kv16::Record)};
  CHECK(open_file_feed(made(directory, pairs, ""))->description().records ==
        known_schema(kv16::kSchema));
}

TEST_CASE("The pace uses the described time field, burst by burst") {
  const TemporaryDirectory directory;
  const std::string records = signal_records(1, 2) + signal_records(2, 1) + signal_records(9, 1);
  const std::string path = made(directory, signal_head(), records);
  const auto by_burst = open_file_feed(path);
  std::vector<std::pair<std::uint64_t, std::size_t>> seen;
  for (;;) {
    const auto batch = by_burst->next();
    REQUIRE(batch.ok());
    if (batch->ended()) break;
    seen.emplace_back(batch->time_ns, batch->records.size() / sizeof(Signal));
  }
  const std::vector<std::pair<std::uint64_t, std::size_t>> expected = {
      {kSignalBeginNs, 1},
      {kSignalBeginNs + kSignalStepNs, 2},
      {kSignalBeginNs + 8 * kSignalStepNs, 1}};
  CHECK(seen == expected);
  std::size_t batches = 0;
  CHECK(
      (play_file(*open_file_feed(path, {.batch_by_burst = false}), nullptr, &batches) == records));
  CHECK(batches == 1);
}

TEST_CASE("A partial record at the end is skipped, and reported after the others are delivered") {
  const TemporaryDirectory directory;
  const std::string records = signal_records(1, 3'000);
  const std::string path = made(directory, signal_head(), records + std::string(20, 'x'));
  const auto feed = open_file_feed(path, {.batch_by_burst = GENERATE(false, true)});
  absl::Status end;
  CHECK((play_file(*feed, &end) == records));
  CHECK(errc_of(end) == Errc::kBadInput);
  const std::string words(end.message());
  CHECK(words.find(path + ": record 3001 at byte ") == 0);
  CHECK(words.find("20 of its 56 bytes are there, and are ignored") != std::string::npos);
  CHECK(words.find("[3000 records came before]") != std::string::npos);
}

TEST_CASE("A record file is the same source under any name, and differs from a DBN file") {
  const TemporaryDirectory directory;
  const std::string path = made(directory, signal_head(), "");
  std::filesystem::create_symlink(path, directory.file("link"));
  const std::uint64_t id = open_file_feed(path)->description().source_id;
  CHECK(id != 0);
  CHECK(open_file_feed(directory.file("link"))->description().source_id == id);
  CHECK(source_id_of_file("dbn", path).value() != id);
}

TEST_CASE(
    "A file that is not a record file is refused, and for a DBN file the message names dbn:") {
  const TemporaryDirectory directory;
  const auto refusal = [&](const std::string& bytes, const FeedOptions& options = {}) {
    write_file(directory.file("f"), bytes);
    const auto feed = open_feed("file:" + directory.file("f"), options);
    CHECK_FALSE(feed.ok());
    return feed.status();
  };
  CHECK(errc_of(refusal("hello")) == Errc::kBadInput);
  const absl::Status dbn = refusal(mbo_metadata() + mbo_records(1, 1));
  CHECK(std::string(dbn.message()).find("give it as dbn:PATH") != std::string::npos);
  const absl::Status chosen =
      refusal(encode_record_file_head(signal_head()).value(), {.schema = "mbo"});
  CHECK(errc_of(chosen) == Errc::kInvalidArgument);
  CHECK(std::string(open_feed("file:", {}).status().message()).find("file:PATH") !=
        std::string::npos);
}

TEST_CASE("A record file can be played any number of times") {
  const TemporaryDirectory directory;
  const std::string records = signal_records(1, 10);
  const auto feed = open_file_feed(made(directory, signal_head(), records), {.passes = 3});
  CHECK((play_file(*feed) == records + records + records));
}

}  // namespace lapwing
