#include "os/shared_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <set>
#include <string>

#include "testing/other_user.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

namespace fs = std::filesystem;

TEST_CASE("A name is described without following a link") {
  const TemporaryDirectory root;
  fs::create_directory(root.file("directory"));
  fs::create_directory_symlink(root.file("directory"), root.file("link"));
  const auto shared = SharedDirectory::open(root.path());
  REQUIRE(shared.ok());
  CHECK(shared->look_at("directory")->is_directory_of(::geteuid()));
  CHECK_FALSE(shared->look_at("directory")->is_directory_of(::geteuid() + 1));
  CHECK_FALSE(shared->look_at("link")->is_directory());
  CHECK_FALSE(shared->look_at("absent").has_value());
  CHECK(shared->open_name("directory", O_RDONLY | O_DIRECTORY).valid());
  CHECK_FALSE(shared->open_name("link", O_RDONLY | O_DIRECTORY).valid());
  CHECK_FALSE(shared->open_name("..", O_RDONLY | O_DIRECTORY).valid());
}

TEST_CASE("A mount is neither trusted nor opened") {
  if (::geteuid() != 0) LAPWING_SKIP("mounting needs root");
  const TemporaryDirectory root;
  fs::create_directory(root.file("mount"));
  if (::mount("lapwing-test", root.file("mount").c_str(), "tmpfs", 0, "") != 0) {
    LAPWING_SKIP("no mounts here");
  }
  const auto shared = SharedDirectory::open(root.path());
  REQUIRE(shared.ok());
  CHECK_FALSE(shared->look_at("mount")->is_directory_of(::geteuid()));
  const UniqueFd opened = shared->open_name("mount", O_RDONLY | O_DIRECTORY);
  const int error = errno;
  CHECK_FALSE(opened.valid());
  CHECK(error == EXDEV);
  ::umount2(root.file("mount").c_str(), MNT_DETACH);
}

TEST_CASE("Names are visited up to a limit") {
  const TemporaryDirectory root;
  for (int i = 0; i < 10; ++i) fs::create_directory(root.file("name-" + std::to_string(i)));
  const auto shared = SharedDirectory::open(root.path());
  REQUIRE(shared.ok());
  std::set<std::string> names;
  const auto visit = [&](const char* name, unsigned char type) {
    CHECK((type == DT_DIR || type == DT_UNKNOWN));
    names.insert(name);
  };
  CHECK_FALSE(shared->visit_names(9, visit));
  CHECK(names.size() == 9);
  CHECK(shared->visit_names(10, visit));
  CHECK(names.size() == 10);
}

}  // namespace
}  // namespace lapwing
