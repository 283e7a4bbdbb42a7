#include "os/directory_anchors.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "lapwing/error.h"
#include "os/posix_io.h"

namespace lapwing {
namespace {

// A directory "root" that contains "root/id", in a directory of its own.
class Fixture {
 public:
  Fixture() {
    std::string name = std::filesystem::temp_directory_path() / "lapwing-anchors-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    top_ = name;
    std::filesystem::create_directories(root() + "/id");
  }
  ~Fixture() { std::filesystem::remove_all(top_); }
  std::string root() const { return top_ + "/root"; }
  std::string elsewhere() const { return top_ + "/elsewhere"; }

 private:
  std::string top_;
};

OpenFile create(PosixDisk& disk, const std::string& path) {
  const auto opened = disk.open(path, {.mode = OpenMode::kCreate});
  REQUIRE(opened.ok());
  return OpenFile(disk, *opened);
}

TEST_CASE("Below an anchor everything is found where its directory was moved to") {
  const Fixture fixture;
  PosixDisk disk;
  disk.anchor(fixture.root());
  const std::string old_path = fixture.root() + "/id/a", new_path = fixture.root() + "/id/b";
  create(disk, old_path);
  std::filesystem::rename(fixture.root(), fixture.elsewhere());

  CHECK(*disk.exists(old_path));
  CHECK(disk.open(old_path, {}).ok());
  CHECK(disk.rename(old_path, new_path).ok());
  CHECK(std::filesystem::exists(fixture.elsewhere() + "/id/b"));
  CHECK(*disk.list(fixture.root() + "/id") == std::vector<std::string>{"b"});
  CHECK(*disk.list(fixture.root()) == std::vector<std::string>{"id"});
  CHECK(disk.make_directory(fixture.root() + "/other", 0750).ok());
  CHECK(std::filesystem::exists(fixture.elsewhere() + "/other"));
  CHECK(disk.sync_directory(fixture.root()).ok());
  CHECK(disk.sync_directory(fixture.root() + "/id").ok());
  CHECK(*disk.free_bytes(fixture.root() + "/id") > 0);
  CHECK(disk.remove(new_path).ok());
  CHECK_FALSE(*disk.exists(new_path));
  CHECK_FALSE(std::filesystem::exists(fixture.root()));
}

TEST_CASE("A path that only begins like an anchor's is no path below it") {
  const Fixture fixture;
  PosixDisk disk;
  disk.anchor(fixture.root());
  REQUIRE(disk.make_directory(fixture.root() + "-beside", 0700).ok());
  CHECK(std::filesystem::exists(fixture.root() + "-beside"));
}

TEST_CASE("Below an anchor no link is followed, and nothing leaves it") {
  const Fixture fixture;
  PosixDisk disk;
  std::filesystem::create_directory(fixture.elsewhere());
  create(disk, fixture.elsewhere() + "/f");
  std::filesystem::create_symlink(fixture.elsewhere(), fixture.root() + "/link");
  disk.anchor(fixture.root());
  CHECK(errc_of(disk.open(fixture.root() + "/link/f", {}).status()) == Errc::kNotALapwingFile);
  CHECK_FALSE(disk.list(fixture.root() + "/link").ok());
  CHECK_FALSE(disk.remove(fixture.root() + "/link/f").ok());
  CHECK(errno_of(disk.remove(fixture.root() + "/../elsewhere/f")) == EXDEV);
  CHECK(std::filesystem::exists(fixture.elsewhere() + "/f"));
}

TEST_CASE("An anchor that is set again is of the directory that stands there then") {
  const Fixture fixture;
  PosixDisk disk;
  disk.anchor(fixture.root());
  std::filesystem::rename(fixture.root(), fixture.elsewhere());
  std::filesystem::create_directory(fixture.root());
  disk.anchor(fixture.root());
  create(disk, fixture.root() + "/f");
  CHECK(std::filesystem::exists(fixture.root() + "/f"));
}

TEST_CASE("A directory that cannot be anchored is looked up by its name") {
  const Fixture fixture;
  PosixDisk disk;
  disk.anchor(fixture.elsewhere());
  REQUIRE(disk.make_directory(fixture.elsewhere(), 0700).ok());
  create(disk, fixture.elsewhere() + "/f");
  CHECK(disk.anchor_state(fixture.elsewhere() + "/f") == AnchorState::kStands);
}

TEST_CASE("An anchor tells a directory that was moved from one that was removed") {
  const Fixture fixture;
  PosixDisk disk;
  disk.anchor(fixture.root());
  const std::string path = fixture.root() + "/id/a";
  CHECK(disk.anchor_state(path) == AnchorState::kStands);
  std::filesystem::rename(fixture.root(), fixture.elsewhere());
  CHECK(disk.anchor_state(path) == AnchorState::kMoved);
  std::filesystem::create_directory(fixture.root());
  CHECK(disk.anchor_state(path) == AnchorState::kMoved);
  std::filesystem::remove_all(fixture.elsewhere());
  CHECK(disk.anchor_state(path) == AnchorState::kRemoved);
}

TEST_CASE("A path names an open file until its name is gone or another's") {
  const Fixture fixture;
  PosixDisk disk;
  const std::string path = fixture.root() + "/id/a";
  const OpenFile file = create(disk, path);
  disk.anchor(fixture.root());
  CHECK(*disk.names(path, file.get()));
  std::filesystem::rename(fixture.root(), fixture.elsewhere());
  CHECK(*disk.names(path, file.get()));
  const std::string moved = fixture.elsewhere() + "/id/a";
  std::filesystem::rename(moved, moved + ".aside");
  CHECK_FALSE(*disk.names(path, file.get()));
  create(disk, path);
  CHECK_FALSE(*disk.names(path, file.get()));
}

TEST_CASE("Below no anchor a moved directory costs a file nothing, and its removal everything") {
  const Fixture fixture;
  PosixDisk disk;
  const std::string path = fixture.root() + "/id/a";
  const OpenFile file = create(disk, path);
  std::filesystem::rename(fixture.root(), fixture.elsewhere());
  CHECK(*disk.names(path, file.get()));
  std::filesystem::remove_all(fixture.elsewhere());
  CHECK_FALSE(*disk.names(path, file.get()));
}

}  // namespace
}  // namespace lapwing
