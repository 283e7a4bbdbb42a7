// Tests which announcements are trusted, in a folder that replaces /dev/shm.
#include "monitor/find_buses.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "testing/hanging_mount.h"
#include "testing/other_user.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

namespace fs = std::filesystem;

class SharedMemory {
 public:
  // A directory like one that this user's publishers create.
  std::string directory(const std::string& name, mode_t mode = 0700) {
    const std::string path = root_.file(name);
    fs::create_directory(path);
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    return path;
  }
  std::string own() { return directory(own_name()); }
  static std::string own_name() { return "lapwing-" + std::to_string(::geteuid()); }
  std::string bus(const std::string& name) const { return root_.file("buses") + name; }
  // Announces a bus whose directory exists.
  std::string announce(const std::string& directory, const std::string& name) {
    fs::create_directories(bus(name));
    const BusAnnouncement announcement{bus(name), "name", "ring", 1, 2};
    return write(directory + "/" + announcement.file_name(), *announcement.text());
  }
  static std::string write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
    REQUIRE(::chmod(path.c_str(), 0600) == 0);
    return path;
  }
  FoundBuses find(const WatchedUsers& users = {}) const { return find_buses(users, root_.path()); }
  const TemporaryDirectory& root() const { return root_; }

 private:
  TemporaryDirectory root_;
};

TEST_CASE("Buses are found in the directories of a user and of its groups") {
  SharedMemory memory;
  memory.announce(memory.own(), "/b");
  memory.announce(memory.directory(SharedMemory::own_name() + "-27", 0750), "/a");
  const FoundBuses found = memory.find();
  REQUIRE(found.buses.size() == 2);
  CHECK(found.buses[0].announcement.directory == memory.bus("/a"));
  CHECK(found.buses[1].announcement.directory == memory.bus("/b"));
  CHECK(found.buses[1].owner == ::geteuid());
  CHECK(found.left_out.not_trusted + found.left_out.not_permitted + found.left_out.beyond_limit ==
        0);
}

TEST_CASE("Other files are no buses") {
  SharedMemory memory;
  const std::string own = memory.own();
  SharedMemory::write(own + "/1.ring", "ring");
  SharedMemory::write(own + "/1.bus.new", "half");
  memory.announce(memory.directory("lapwing-"), "/a");
  memory.announce(memory.directory("lapwing-x"), "/a");
  memory.announce(memory.directory(SharedMemory::own_name() + "-1-2"), "/a");
  memory.announce(memory.directory("other"), "/a");
  const FoundBuses found = memory.find();
  CHECK(found.buses.empty());
  CHECK(found.left_out.not_trusted == 0);
}

TEST_CASE("What others may write is counted and not believed") {
  SharedMemory memory;
  const std::string own = memory.own();
  const std::string file = memory.announce(own, "/a");
  CHECK(memory.find().buses.size() == 1);
  SECTION("a file of the group's") {
    REQUIRE(::chmod(file.c_str(), 0620) == 0);
  }
  SECTION("a file of everybody's") {
    REQUIRE(::chmod(file.c_str(), 0602) == 0);
  }
  SECTION("a directory of the group's") {
    REQUIRE(::chmod(own.c_str(), 0770) == 0);
  }
  SECTION("a directory of everybody's") {
    REQUIRE(::chmod(own.c_str(), 0707) == 0);
  }
  SECTION("a link") {
    fs::rename(file, memory.root().file("elsewhere"));
    fs::create_symlink(memory.root().file("elsewhere"), file);
  }
  SECTION("a pipe") {
    fs::remove(file);
    REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  }
  SECTION("a damaged one") {
    SharedMemory::write(file, "{}");
  }
  SECTION("one that is too large") {
    SharedMemory::write(file, std::string(kAnnouncementBytesMax + 1, ' '));
  }
  const FoundBuses found = memory.find();
  CHECK(found.buses.empty());
  CHECK(found.left_out.not_trusted == 1);
}

TEST_CASE("A directory that is a link is not followed") {
  SharedMemory memory;
  memory.announce(memory.directory("elsewhere"), "/a");
  fs::create_directory_symlink(memory.root().file("elsewhere"),
                               memory.root().file(SharedMemory::own_name()));
  const FoundBuses found = memory.find();
  CHECK(found.buses.empty());
  CHECK(found.left_out.not_trusted == 1);
}

TEST_CASE("A directory of another user than its name says is not trusted") {
  SharedMemory memory;
  memory.announce(memory.directory("lapwing-" + std::to_string(::geteuid() + 1)), "/a");
  const FoundBuses found = memory.find({.all = true, .others = {}});
  CHECK(found.buses.empty());
  CHECK(found.left_out.not_trusted == 1);
}

TEST_CASE("Users that are not watched are counted and not read") {
  SharedMemory memory;
  const uid_t other = ::geteuid() + 1;
  memory.announce(memory.directory("lapwing-" + std::to_string(other)), "/a");
  memory.directory("lapwing-" + std::to_string(other) + "-27");
  memory.directory("lapwing-" + std::to_string(other + 1));
  const FoundBuses found = memory.find();
  CHECK(found.left_out.not_watched == 2);
  CHECK(found.left_out.not_trusted == 0);
  CHECK(memory.find({.all = false, .others = {other}}).left_out.not_watched == 1);
  CHECK(memory.find({.all = true, .others = {}}).left_out.not_watched == 0);
}

TEST_CASE("The directory of a user whose first name another user has taken is found") {
  SharedMemory memory;
  memory.announce(memory.directory(SharedMemory::own_name() + ".x1Y2z3"), "/a");
  memory.announce(memory.directory(SharedMemory::own_name() + "-27.x1Y2z3", 0750), "/b");
  memory.announce(memory.directory("lapwing-" + std::to_string(::geteuid() + 1) + ".x1Y2z3"), "/c");
  const FoundBuses found = memory.find({.all = true, .others = {}});
  REQUIRE(found.buses.size() == 2);
  CHECK(found.buses[0].announcement.directory == memory.bus("/a"));
  CHECK(found.buses[1].announcement.directory == memory.bus("/b"));
  CHECK(found.left_out.not_trusted == 1);
}

TEST_CASE("However many directories another user makes, the buses of this one are found") {
  SharedMemory memory;
  for (std::size_t i = 0; i < kBusesOfUserMax + 1; ++i) {
    // They sort before this user's own names, and do not belong to the user in their name.
    memory.directory("lapwing-" + std::to_string(::geteuid() + 1) + "." + std::to_string(i));
    memory.directory(SharedMemory::own_name() + "." + std::to_string(i), 0777);
  }
  memory.announce(memory.directory(SharedMemory::own_name() + ".zzzzzz"), "/a");
  CHECK(memory.find().buses.size() == 1);
}

TEST_CASE("First choices are found however few names a search visits") {
  SharedMemory memory;
  for (int i = 0; i < 100; ++i) {
    memory.directory(SharedMemory::own_name() + "." + std::to_string(i), 0777);
  }
  memory.announce(memory.own(), "/a");
  memory.announce(
      memory.directory(SharedMemory::own_name() + "-" + std::to_string(::getegid()), 0750), "/b");
  const FoundBuses found = find_buses({}, memory.root().path(), 3);
  CHECK(found.buses.size() == 2);
  CHECK(found.left_out.beyond_limit == 1);
  CHECK(find_buses({}, memory.root().path(), 1'000).left_out.beyond_limit == 0);
}

TEST_CASE("A file system that does not answer delays no search") {
  if (::geteuid() != 0) LAPWING_SKIP("mounting needs root");
  SharedMemory memory;
  memory.announce(memory.own(), "/a");
  const std::string named = "lapwing-" + std::to_string(kTestUser);
  const HangingMount suffixed(memory.directory(SharedMemory::own_name() + ".x1Y2z3"));
  const HangingMount first(memory.directory(named));
  if (!suffixed.mounted() || !first.mounted()) LAPWING_SKIP("no FUSE here");
  const FoundBuses found = memory.find({.all = false, .others = {kTestUser}});
  CHECK(found.buses.size() == 1);
  CHECK(found.left_out.not_trusted == 2);
}

TEST_CASE("The names in the directories of a user are visited up to a limit") {
  SharedMemory memory;
  const std::string own = memory.own();
  for (std::size_t i = 0; i < kNamesOfUserMax + 1; ++i) {
    REQUIRE(::mknod((own + "/" + std::to_string(i)).c_str(), S_IFREG | 0600, 0) == 0);
  }
  CHECK(memory.find().left_out.beyond_limit == 1);
}

TEST_CASE("A bus whose directory was removed is none") {
  SharedMemory memory;
  const std::string own = memory.own();
  memory.announce(own, "/a");
  memory.announce(own, "/b");
  fs::remove(memory.bus("/a"));
  const FoundBuses found = memory.find();
  REQUIRE(found.buses.size() == 1);
  CHECK(found.buses[0].announcement.directory == memory.bus("/b"));
  CHECK(found.left_out.not_trusted == 0);
}

TEST_CASE("Beyond the limit of a user buses are counted") {
  SharedMemory memory;
  const std::string own = memory.own();
  for (std::size_t i = 0; i < kBusesOfUserMax + 3; ++i) {
    memory.announce(own, "/bus-" + std::to_string(i));
  }
  const FoundBuses found = memory.find();
  CHECK(found.buses.size() == kBusesOfUserMax);
  CHECK(found.left_out.beyond_limit == 3);
}

TEST_CASE("Where there is no shared memory nothing is found") {
  const TemporaryDirectory directory;
  CHECK(find_buses({}, directory.file("absent")).buses.empty());
}

}  // namespace
}  // namespace lapwing
