// Records of every size pass intact through ring and journal, across laps, segments and sessions
// that begin inside a block.
#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "snapshot/journal/journal_reader.h"
#include "testing/closing_publisher.h"
#include "testing/publisher_fixture.h"

namespace lapwing {
namespace {

std::byte byte_of(Sequence n, std::size_t i) {
  return static_cast<std::byte>((n * 0x9e3779b97f4a7c15u + i * 0x85ebca6bu) >> 21);
}

std::vector<std::byte> records_of(Sequence first, std::size_t count, std::uint32_t record_bytes) {
  std::vector<std::byte> bytes(count * record_bytes);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] = byte_of(first + at / record_bytes, at % record_bytes);
  }
  return bytes;
}

// Runs one session of `count` records, in batches of an odd size.
void publish_session(const PublisherSetUp& options, std::uint64_t count) {
  constexpr std::uint64_t kBatch = 37;
  const auto publisher = open_publisher(options);
  for (std::uint64_t left = count; left > 0;) {
    const std::uint64_t batch = std::min(left, kBatch);
    const auto records = records_of(publisher->head() + 1, batch, options.record_bytes);
    REQUIRE(publisher->publish_batch(records).ok());
    left -= batch;
  }
  REQUIRE(publisher->close().ok());
}

// Checks all records in the journal, and returns its last sequence.
Sequence read_back(const PublisherSetUp& options) {
  const auto bus = read_bus_description(options.directory);
  REQUIRE(bus.ok());
  PosixDisk disk;
  const auto reader = JournalReader::open(disk, bus->journal_root, bus->journal_id);
  REQUIRE(reader.ok());
  const auto bounds = (*reader)->settled_bounds();
  REQUIRE(bounds.ok());
  std::vector<std::byte> out(std::size_t{100} * options.record_bytes);
  Sequence next = 1;
  while (next <= bounds->archived) {
    const auto run = (*reader)->read(next, *bounds, out);
    REQUIRE(run.ok());
    REQUIRE(run->count > 0);
    const auto expected = records_of(next, run->count, options.record_bytes);
    REQUIRE(std::equal(expected.begin(), expected.end(), out.begin()));
    next += run->count;
  }
  return next - 1;
}

}  // namespace

TEST_CASE("Records of every size are read from the journal as they were published") {
  for (const std::uint32_t record_bytes :
       {8u, 9u, 15u, 24u, 25u, 56u, 57u, 80u, 1000u, 2040u, 2041u, 4087u, 4088u}) {
    INFO("records of " << record_bytes << " bytes");
    const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
    PublisherSetUp options = options_for(directory);
    options.record_bytes = record_bytes;
    const std::uint64_t capacity = capacity_min(slot_bytes_for(record_bytes));
    options.capacity = capacity;
    Sequence last = 0;
    // One record, a ring minus one, a ring, just over three laps, none, one block plus one.
    for (const std::uint64_t count :
         {std::uint64_t{1}, capacity - 1, capacity, 3 * capacity + 5, std::uint64_t{0},
          slots_per_block(slot_bytes_for(record_bytes)) + 1}) {
      publish_session(options, count);
      last += count;
    }
    CHECK(read_back(options) == last);
  }
}

TEST_CASE("Records of an unsupported size are refused before anything is created") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  options.record_bytes = GENERATE(0u, 1u, 7u, 4089u, UINT32_MAX);
  CHECK(errc_of(closing(open_with_seams(options)).status()) == Errc::kRecordSize);
  CHECK_FALSE(std::filesystem::exists(options.directory));
}

TEST_CASE("A shipped schema is refused with records of another size, before anything is created") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  options.capacity = 0;
  const auto [schema, right] = GENERATE(std::pair("dbn.mbo", 56u), std::pair("dbn.trades", 48u),
                                        std::pair("dbn.mbp-1", 80u), std::pair("kv16", 16u));
  options.schema_name = schema;
  for (const std::uint32_t wrong : {right - 8, right + 8, 2 * right}) {
    options.record_bytes = wrong;
    const absl::Status refused = closing(open_with_seams(options)).status();
    CHECK(errc_of(refused) == Errc::kRecordSize);
    CHECK_THAT(std::string(refused.message()), Catch::Contains(std::to_string(right)));
    CHECK_FALSE(std::filesystem::exists(options.directory));
  }
  options.record_bytes = right;
  CHECK(open_publisher(options)->close().ok());
  options.schema_name = "my.own";
  options.directory += "-other";
  options.record_bytes = right + 8;
  CHECK(open_publisher(options)->close().ok());
}

TEST_CASE("A record of another size is refused, and changes nothing") {
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  PublisherSetUp options = options_for(directory);
  options.capacity = 0;
  options.record_bytes = GENERATE(16u, 56u, 57u);  // stored inline, or by a function call
  const std::size_t right = options.record_bytes;
  const auto publisher = open_publisher(options);
  CHECK(publisher->last_error().ok());
  const auto first = records_of(1, 1, options.record_bytes);
  REQUIRE(*publisher->publish(first) == 1);
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{8}, right - 1, right + 1, 2 * right}) {
    INFO(bytes << " bytes");
    const std::vector<std::byte> wrong(bytes);
    CHECK(!publisher->publish(wrong).ok());
    CHECK(publisher->head() == 1);
    CHECK(publisher->status().ok());
    CHECK(errc_of(publisher->last_error()) == Errc::kRecordSize);
    CHECK_THAT(std::string(publisher->last_error().message()),
               Catch::Contains(std::to_string(bytes) + " bytes cannot be published"));
  }
  CHECK(!publisher->publish({}).ok());
  for (const std::size_t bytes : {std::size_t{1}, right - 1, right + 1, 3 * right - 1}) {
    const std::vector<std::byte> wrong(bytes);
    CHECK(!publisher->publish_batch(wrong).ok());
    CHECK(publisher->head() == 1);
    CHECK(publisher->status().ok());
  }
  CHECK(*publisher->publish_batch({}) == 1);
  REQUIRE(*publisher->publish_batch(records_of(2, 2, options.record_bytes)) == 3);
  REQUIRE(publisher->close().ok());
  CHECK(read_back(options) == 3);  // each as published
}

}  // namespace lapwing
