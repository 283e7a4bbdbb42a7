// The metadata of each session, according to the list of sessions and the journal.
#include "snapshot/dbn/session_metadata.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "lapwing/error.h"
#include "snapshot/bus_directory.h"
#include "snapshot/dbn/kept_metadata.h"
#include "testing/journal_fixture.h"

namespace lapwing {
namespace {

// A bus with a journal. The session added last is the newest.
class SessionsOfBus {
 public:
  SessionsOfBus() { describe(); }
  void add(std::uint8_t session, const std::string& metadata) {
    journal.metadata = metadata;
    journal.begin(session, 1);
    journal.end(session, 0, SessionEnd::kClosed);
  }
  void describe(const std::string& journal_root = "") const {
    BusDescription bus;
    bus.name = "test";
    bus.schema = "bytes";
    bus.ring_path = "ring";
    bus.journal_root = journal_root.empty() ? journal.root() : journal_root;
    bus.record_bytes = 56;
    bus.slot_bytes = 64;
    bus.capacity = 1024;
    REQUIRE(write_bus_description(directory.path(), bus, std::nullopt).ok());
  }

  JournalFixture journal;
  TemporaryDirectory directory;
};

TEST_CASE("Each session has the metadata that it was published with") {
  SessionsOfBus bus;
  bus.add(1, "one");
  bus.add(2, "two");
  bus.add(3, "");
  REQUIRE(write_feed_metadata(bus.directory.path(), "newest", std::nullopt).ok());
  SessionMetadata metadata(bus.directory.path());
  for (int round = 0; round < 2; ++round) {
    CHECK(metadata.of(fixture_id(2)).value() == "two");
    CHECK(metadata.of(fixture_id(1)).value() == "one");
    CHECK(metadata.of(fixture_id(3)).value().empty());
  }
  bus.add(4, "four");  // begun after the list was read
  CHECK(metadata.of(fixture_id(4)).value() == "four");
}

TEST_CASE("A session that is not listed has the metadata of the bus") {
  SessionsOfBus bus;
  bus.add(1, "one");
  REQUIRE(write_feed_metadata(bus.directory.path(), "newest", std::nullopt).ok());
  CHECK(SessionMetadata(bus.directory.path()).of(fixture_id(9)).value() == "newest");
  CHECK(SessionMetadata(bus.directory.path()).of({}).value() == "newest");
  const TemporaryDirectory no_bus;
  CHECK(SessionMetadata(no_bus.path()).of(fixture_id(1)).value().empty());
}

TEST_CASE("Metadata that are lost or damaged are an error, and not those of another session") {
  SessionsOfBus bus;
  bus.add(1, "one");
  const std::string path = kKeptMetadata.path(bus.journal.root(), metadata_hash_of("one"));
  SECTION("damaged") {
    std::ofstream(path) << "two";
    CHECK(errc_of(SessionMetadata(bus.directory.path()).of(fixture_id(1)).status()) ==
          Errc::kDamaged);
  }
  SECTION("removed") {
    std::filesystem::remove(path);
    CHECK_FALSE(SessionMetadata(bus.directory.path()).of(fixture_id(1)).ok());
  }
}

TEST_CASE("Later sessions are searched from the newest, each content once") {
  SessionsOfBus bus;
  for (const auto& [session, text] : std::vector<std::pair<std::uint8_t, std::string>>{
           {1, "one"}, {2, "two"}, {3, "three"}, {4, "two"}, {5, "three"}}) {
    bus.add(session, text);
  }
  SessionMetadata metadata(bus.directory.path());
  std::vector<std::string> seen;
  const auto look = [&seen](const std::string& wanted) {
    return [&seen, wanted](const std::string& text) {
      seen.push_back(text);
      return text == wanted;
    };
  };
  CHECK_FALSE(metadata.is_later(fixture_id(1), look("one")).value());
  CHECK(seen == std::vector<std::string>{"three", "two"});
  CHECK(metadata.is_later(fixture_id(1), look("three")).value());
  CHECK_FALSE(metadata.is_later(fixture_id(5), look("three")).value());
  CHECK_FALSE(metadata.is_later(fixture_id(9), look("three")).value());
}

}  // namespace
}  // namespace lapwing
