// A bus is announced on its machine while published, and afterwards if it was not closed.
#include "publisher/announcement.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "bus/ring_directory.h"
#include "os/small_file.h"
#include "snapshot/bus_announcement.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

namespace fs = std::filesystem;

std::string file_for(const std::string& directory) {
  BusAnnouncement bus;
  bus.directory = fs::canonical(directory).string();
  return private_ring_directory_path({}) + "/" + bus.file_name();
}

PublisherOptions options_in(const std::string& directory, std::vector<std::string>& log) {
  PublisherOptions options;
  options.directory = directory;
  options.record_bytes = 16;
  options.capacity = 4096;
  options.log = [&log](const std::string& line) { log.push_back(line); };
  return options;
}

TEST_CASE("A bus is announced while it is published and not after its close") {
  const TemporaryDirectory place;
  std::vector<std::string> log;
  absl::StatusOr<Publisher> bus = Publisher::open(options_in(place.file("es"), log));
  REQUIRE(bus.ok());
  const std::string file = file_for(place.file("es"));
  const absl::StatusOr<std::string> text = read_small_file(file, kAnnouncementBytesMax);
  REQUIRE(text.ok());
  const absl::StatusOr<BusAnnouncement> said = BusAnnouncement::parse(*text);
  REQUIRE(said.ok());
  CHECK(said->directory == fs::canonical(place.file("es")).string());
  CHECK(said->name == "es");
  CHECK(fs::exists(said->ring_path));
  CHECK(said->publisher_pid == static_cast<std::uint32_t>(getpid()));
  CHECK((fs::status(file).permissions() & fs::perms::mask) ==
        (fs::perms::owner_read | fs::perms::owner_write));
  REQUIRE(bus->close().ok());
  CHECK_FALSE(fs::exists(file));
}

TEST_CASE("A bus whose directory was renamed is withdrawn where it was announced") {
  const TemporaryDirectory place;
  std::vector<std::string> log;
  absl::StatusOr<Publisher> bus = Publisher::open(options_in(place.file("es"), log));
  REQUIRE(bus.ok());
  const std::string file = file_for(place.file("es"));
  fs::rename(place.file("es"), place.file("moved"));
  REQUIRE(fs::exists(file));
  bus->close().IgnoreError();
  CHECK_FALSE(fs::exists(file));
}

TEST_CASE("A start removes the announcements of vanished buses, and no others") {
  const TemporaryDirectory place;
  const std::string gone = place.file("gone");
  fs::create_directory(gone);
  const std::string orphan = file_for(gone);
  const BusAnnouncement bus{fs::canonical(gone).string(), "gone", "ring", 1, 2};
  REQUIRE(private_ring_directory({}).ok());
  REQUIRE(replace_file(private_ring_directory_path({}), bus.file_name(), *bus.text(), {}).ok());
  std::vector<std::string> log;
  REQUIRE(Publisher::open(options_in(place.file("es"), log))->close().ok());
  CHECK(fs::exists(orphan));
  fs::remove(gone);
  REQUIRE(Publisher::open(options_in(place.file("es"), log))->close().ok());
  CHECK_FALSE(fs::exists(orphan));
}

TEST_CASE("A bus that cannot be announced is still published, and the log contains the reason") {
  const TemporaryDirectory place;
  const std::string parent = place.file("\xff");
  fs::create_directory(parent);
  std::vector<std::string> log;
  absl::StatusOr<Publisher> bus = Publisher::open(options_in(parent + "/es", log));
  REQUIRE(bus.ok());
  CHECK(std::any_of(log.begin(), log.end(), [](const std::string& line) {
    return line.find("monitors will not find this bus") != std::string::npos;
  }));
  CHECK(bus->close().ok());
}

}  // namespace
}  // namespace lapwing
