#include "publisher/feeds/resume.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "lapwing/dbn.h"
#include "lapwing/error.h"
#include "snapshot/schema/known_schemas.h"
#include "testing/dbn_files.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

struct DbnFile {
  explicit DbnFile(const std::string& records) { write_file(path, mbo_metadata() + records); }
  std::unique_ptr<Feed> open() const {
    auto feed = open_feed("dbn:" + path, {});
    REQUIRE(feed.ok());
    return *std::move(feed);
  }

  TemporaryDirectory directory;
  const std::string path = directory.file("feed.dbn");
};

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string text_of(std::span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

bool says(const absl::Status& status, const std::string& words) {
  UNSCOPED_INFO(status);
  return errc_of(status) == Errc::kInvalidArgument &&
         status.message().find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("A fingerprint depends on the metadata and the first record, not on the path") {
  const DbnFile file(mbo_records(1, 5));
  const std::uint64_t own = *file.open()->fingerprint();
  CHECK(own != 0);
  CHECK(*DbnFile(mbo_records(1, 5)).open()->fingerprint() == own);
  CHECK(*DbnFile(mbo_records(1, 9)).open()->fingerprint() == own);
  CHECK(*DbnFile(mbo_records(2, 5)).open()->fingerprint() != own);
  CHECK(*DbnFile("").open()->fingerprint() != own);
  const auto feed = file.open();
  REQUIRE(feed->fingerprint().ok());
  CHECK(text_of(await_batch(*feed)->records.first(56)) == mbo_records(1, 1));
}

TEST_CASE("A file is continued after the journal's last record if that record is from the file") {
  const DbnFile file(mbo_records(1, 5));
  const auto third = bytes_of(mbo_records(3, 1));
  const auto feed = file.open();
  const auto resume = [&](const ResumePoint& point) { return feed->resume(point, nullptr, {}); };
  SECTION("it is") {
    const auto resumed = resume({.offset = 1, .records = 2, .last_record = third});
    REQUIRE(resumed.ok());
    CHECK(resumed->position == 3);
    std::string rest = text_of(resumed->rest.records);
    for (auto batch = await_batch(*feed); !batch->ended(); batch = await_batch(*feed)) {
      rest += text_of(batch->records);
    }
    CHECK(rest == mbo_records(4, 2));
  }
  SECTION("nothing of it was published") {
    CHECK(resume({})->position == 0);
    CHECK(text_of(await_batch(*feed)->records.first(56)) == mbo_records(1, 1));
  }
  SECTION("all of it was published") {
    const auto fifth = bytes_of(mbo_records(5, 1));
    const auto resumed = resume({.records = 5, .last_record = fifth});
    REQUIRE(resumed.ok());
    CHECK(resumed->rest.records.empty());
    CHECK(await_batch(*feed)->ended());
  }
  SECTION("it is another record") {
    const auto resumed = resume({.records = 2, .last = 77, .last_record = third});
    CHECK(says(resumed.status(), "its record 2 differs from record 77 of the journal"));
  }
  SECTION("it is shorter") {
    CHECK(says(resume({.records = 6}).status(),
               "it has 5 records, and the journal has 6 records of it"));
  }
  SECTION("what retention removed cannot be compared") {
    CHECK(resume({.records = 2})->position == 2);
  }
}

TEST_CASE("A restamped record is recognized with the clock that stamped it") {
  const RecordClock clock(*known_schema(dbn::kSchemaMbo));
  const auto source = bytes_of(mbo_records(3, 1));
  auto journaled = source;
  clock.stamp(journaled, 42);
  CHECK(is_same_record(source, source, nullptr));
  CHECK_FALSE(is_same_record(source, journaled, nullptr));
  CHECK(is_same_record(source, journaled, &clock));
  journaled[20] ^= std::byte{1};
  CHECK_FALSE(is_same_record(source, journaled, &clock));
}

}  // namespace lapwing
