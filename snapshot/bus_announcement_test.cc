// An announcement's text: written text can be read back, and any other text is refused.
#include "snapshot/bus_announcement.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "lapwing/error.h"

namespace lapwing {
namespace {

const BusAnnouncement kBus = {.directory = "/data/es",
                              .name = "es",
                              .ring_path = "/dev/shm/lapwing-1000/es-1/2.ring",
                              .publisher_pid = 42,
                              .started_wall_ns = 1'700'000'000'000'000'000};

TEST_CASE("An announcement is read back as it was written") {
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

TEST_CASE("Other bytes than an announcement are damage") {
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

// Changes, removes or inserts one byte, or duplicates part of the text.
void change(std::string& text, std::mt19937_64& random) {
  const std::size_t at = random() % (text.size() + 1);
  switch (random() % 4) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(random());
      break;
    case 1:
      if (at < text.size()) text.erase(at, 1);
      break;
    case 2:
      text.insert(at, 1, "{}[]\",:-09e\\u\0"[random() % 14]);
      break;
    default:
      text.insert(at, text.substr(random() % (text.size() + 1), random() % 32));
  }
}

TEST_CASE("A changed announcement is either valid or damaged") {
  std::mt19937_64 random(20);
  const std::string good = kBus.text().value();
  int damaged = 0, read_again = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good;
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) change(text, random);
    CAPTURE(i, text);
    const absl::StatusOr<BusAnnouncement> read = BusAnnouncement::parse(text);
    if (!read.ok()) {
      REQUIRE(errc_of(read.status()) == Errc::kDamaged);
      ++damaged;
      continue;
    }
    const absl::StatusOr<std::string> written = read->text();
    REQUIRE(written.ok());
    REQUIRE(*BusAnnouncement::parse(*written) == *read);
    ++read_again;
  }
  CHECK(damaged > 1'000);
  CHECK(read_again > 1'000);
}

TEST_CASE("An announcement that is nested without end is damaged") {
  for (const std::string part : {"[", "{\"a\":"}) {
    std::string text;
    while (text.size() < kAnnouncementBytesMax) text += part;
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
