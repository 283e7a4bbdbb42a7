// The text of an announcement: what is written can be read, and nothing else.
#include "snapshot/bus_announcement.h"

#include <catch2/catch.hpp>
#include <string>

#include "lapwing/error.h"

namespace lapwing {
namespace {

const BusAnnouncement kBus = {.directory = "/data/es",
                              .name = "es",
                              .ring_path = "/dev/shm/lapwing-1000/es-1/2.ring",
                              .publisher_pid = 42,
                              .started_wall_ns = 1'700'000'000'000'000'000};

TEST_CASE("An announcement that is read is the one that was written") {
  const absl::StatusOr<std::string> text = kBus.text();
  REQUIRE(text.ok());
  const absl::StatusOr<BusAnnouncement> read = BusAnnouncement::parse(*text);
  REQUIRE(read.ok());
  CHECK(*read == kBus);
}

TEST_CASE("Each bus directory has an announcement of its own") {
  BusAnnouncement other = kBus;
  CHECK(other.file_name() == kBus.file_name());
  other.publisher_pid = 43;
  CHECK(other.file_name() == kBus.file_name());
  other.directory = "/data/nq";
  CHECK(other.file_name() != kBus.file_name());
  CHECK(other.file_name().size() == 16 + std::string(kAnnouncementExtension).size());
}

TEST_CASE("What is no announcement is damaged") {
  for (
      const std::string text :
      {"", "{", "[]", "{}", "null", R"({"directory": 1})",
       R"({"directory": "/a", "name": "a", "ring_path": "", "publisher_pid": -1.5e9})",
       R"({"directory": "a", "name": "a", "ring_path": "", "publisher_pid": 1, "started_wall_ns": 2})",
       R"({"directory": "", "name": "a", "ring_path": "", "publisher_pid": 1, "started_wall_ns": 2})"}) {
    CAPTURE(text);
    CHECK(errc_of(BusAnnouncement::parse(text).status()) == Errc::kDamaged);
  }
}

TEST_CASE("A name that is not UTF-8 is refused") {
  BusAnnouncement bus = kBus;
  bus.name = "\xff";
  CHECK(errc_of(bus.text().status()) == Errc::kInvalidArgument);
}

}  // namespace
}  // namespace lapwing
