#include "bus/ring_directory.h"

#include <sys/mount.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "lapwing/error.h"
#include "os/posix_io.h"
#include "testing/other_user.h"
#include "testing/ring_spec.h"

namespace lapwing {
namespace {

// Occupies the path of kTestUser's private directory, and removes the file at the end. Test
// processes on a machine use the path one after another.
class PrivatePlace {
 public:
  explicit PrivatePlace(const std::string& suffix = "")
      : path_("/dev/shm/lapwing-" + std::to_string(kTestUser) + suffix) {
    clear();
  }
  ~PrivatePlace() { clear(); }
  PrivatePlace(const PrivatePlace&) = delete;
  PrivatePlace& operator=(const PrivatePlace&) = delete;

  const std::string& path() const { return path_; }
  // The directories that were made because the first name was taken.
  std::vector<std::string> others() const {
    std::vector<std::string> found;
    const auto names = PosixDisk().list("/dev/shm");
    REQUIRE(names.ok());
    for (const std::string& name : *names) {
      const std::string path = "/dev/shm/" + name;
      if (path.starts_with(path_ + ".")) found.push_back(path);
    }
    return found;
  }
  void make_directory(mode_t mode, uid_t owner, gid_t group = kTestGroup) {
    REQUIRE(mkdir(path_.c_str(), 0700) == 0);
    REQUIRE(chmod(path_.c_str(), mode) == 0);
    REQUIRE(chown(path_.c_str(), owner, group) == 0);
  }

 private:
  void clear() const {
    std::filesystem::remove_all(path_);
    for (const std::string& path : others()) std::filesystem::remove_all(path);
  }

  TestUserLock lock_;
  std::string path_;
};

int private_directory_error(std::optional<unsigned> group = std::nullopt) {
  return static_cast<int>(errc_of(private_ring_directory(group).status()));
}

// Returns the error number that kTestUser gets, from the exit code of a process.
int error_of_test_user(std::optional<unsigned> group = std::nullopt) {
  const int code = run_as(kTestUser, kTestGroup, [&] { return private_directory_error(group); });
  return code == 0 ? 0 : code - 1;
}

constexpr int kRefused = static_cast<int>(Errc::kNotPermitted);

TEST_CASE("A user without a directory in /dev/shm gets one that no other user can enter") {
  if (geteuid() != 0) LAPWING_SKIP("running as another user needs root");
  const PrivatePlace place;
  CHECK(error_of_test_user() == 0);
  CHECK(error_of_test_user() == 0);  // a second bus also uses it
  struct stat found{};
  REQUIRE(stat(place.path().c_str(), &found) == 0);
  CHECK((found.st_mode & 07777) == 0700);
  CHECK(found.st_uid == kTestUser);
}

TEST_CASE("A group has a directory of its own, which its members can enter") {
  if (geteuid() != 0) LAPWING_SKIP("running as another user needs root");
  const PrivatePlace place("-" + std::to_string(kTestGroup));
  const mode_t umask_before = umask(0077);
  CHECK(error_of_test_user(kTestGroup) == 0);
  umask(umask_before);
  CHECK(error_of_test_user(kTestGroup) == 0);
  struct stat found{};
  REQUIRE(stat(place.path().c_str(), &found) == 0);
  CHECK((found.st_mode & 07777) == 0750);
  CHECK(found.st_gid == kTestGroup);
}

TEST_CASE("A private directory that was left incomplete is completed") {
  if (geteuid() != 0) LAPWING_SKIP("running as another user needs root");
  PrivatePlace place("-" + std::to_string(kTestGroup));
  place.make_directory(0700, kTestUser);
  CHECK(error_of_test_user(kTestGroup) == 0);
  struct stat found{};
  REQUIRE(stat(place.path().c_str(), &found) == 0);
  CHECK((found.st_mode & 07777) == 0750);
}

struct Obstacle {
  const char* what;
  void (*put)(PrivatePlace& place, const std::string& elsewhere);
};
using Path = std::string;

TEST_CASE("A user's own directory with too many permissions, or a file, is not used") {
  if (geteuid() != 0) LAPWING_SKIP("running as another user needs root");
  const Obstacle wrong = GENERATE(
      Obstacle{"a directory that others can enter",
               [](PrivatePlace& place, const Path&) { place.make_directory(0755, kTestUser); }},
      Obstacle{"a directory that others can write",
               [](PrivatePlace& place, const Path&) { place.make_directory(0777, kTestUser); }},
      Obstacle{"a link to an own directory",
               [](PrivatePlace& place, const Path& elsewhere) {
                 REQUIRE(chown(elsewhere.c_str(), kTestUser, kTestUser) == 0);
                 std::filesystem::create_directory_symlink(elsewhere, place.path());
                 REQUIRE(lchown(place.path().c_str(), kTestUser, kTestUser) == 0);
               }},
      Obstacle{"a file", [](PrivatePlace& place, const Path&) {
                 REQUIRE(mknod(place.path().c_str(), S_IFREG | 0600, 0) == 0);
                 REQUIRE(chown(place.path().c_str(), kTestUser, kTestUser) == 0);
               }});
  INFO(wrong.what);
  const TestDirectory elsewhere;
  PrivatePlace place;
  wrong.put(place, elsewhere.path());
  CHECK(error_of_test_user() == kRefused);
  CHECK(place.others().empty());
}

TEST_CASE(
    "If another user has taken the name, a directory with another name is created once and used") {
  if (geteuid() != 0) LAPWING_SKIP("running as another user needs root");
  const Obstacle squatted = GENERATE(
      Obstacle{
          "a directory that all may use",
          [](PrivatePlace& place, const Path&) { place.make_directory(0777, kOtherTestUser); }},
      Obstacle{
          "a directory that looks right",
          [](PrivatePlace& place, const Path&) { place.make_directory(0700, kOtherTestUser); }},
      Obstacle{"a link",
               [](PrivatePlace& place, const Path& elsewhere) {
                 std::filesystem::create_directory_symlink(elsewhere, place.path());
               }},
      Obstacle{"a file", [](PrivatePlace& place, const Path&) {
                 REQUIRE(mknod(place.path().c_str(), S_IFREG | 0600, 0) == 0);
               }});
  INFO(squatted.what);
  const TestDirectory elsewhere;
  PrivatePlace place;
  squatted.put(place, elsewhere.path());
  REQUIRE(mkdir((place.path() + ".000000").c_str(), 0777) == 0);  // root's, which is another user
  for (int start = 0; start < 2; ++start) {
    CHECK(run_as(kTestUser, kTestGroup, [&] {
            const auto made = private_ring_directory({});
            if (!made.ok() || !made->starts_with(place.path() + ".")) return __LINE__;
            if (private_ring_directory_path({}) != *made) return __LINE__;
            return private_ring_directories({}) == std::vector<std::string>{*made} ? 0 : __LINE__;
          }) == 0);
  }
  const std::vector<std::string> others = place.others();
  REQUIRE(others.size() == 2);
  const std::string& made = others[0].ends_with(".000000") ? others[1] : others[0];
  struct stat found{};
  REQUIRE(stat(made.c_str(), &found) == 0);
  CHECK((found.st_mode & 07777) == 0700);
  CHECK(found.st_uid == kTestUser);
}

TEST_CASE("A mount of another user on the first name is not used") {
  if (geteuid() != 0) LAPWING_SKIP("mounting needs root");
  PrivatePlace place;
  place.make_directory(0700, kOtherTestUser);
  const std::string owner = "mode=0700,uid=" + std::to_string(kTestUser);
  if (mount("lapwing-test", place.path().c_str(), "tmpfs", 0, owner.c_str()) != 0) {
    LAPWING_SKIP("no mounts here");
  }
  CHECK(run_as(kTestUser, kTestGroup, [&] {
          const auto made = private_ring_directory({});
          return made.ok() && made->starts_with(place.path() + ".") ? 0 : __LINE__;
        }) == 0);
  umount2(place.path().c_str(), MNT_DETACH);
}

TEST_CASE("Names that another user creates cost no search if the first choice is ours") {
  if (geteuid() != 0) LAPWING_SKIP("running as another user needs root");
  PrivatePlace place;
  place.make_directory(0700, kTestUser);
  constexpr int kNames = 2'000;
  for (int i = 0; i < kNames; ++i) {
    REQUIRE(mkdir((place.path() + "." + std::to_string(100'000 + i)).c_str(), 0700) == 0);
  }
  const std::string own = place.path() + ".own000";
  REQUIRE(mkdir(own.c_str(), 0700) == 0);
  REQUIRE(chown(own.c_str(), kTestUser, kTestGroup) == 0);
  const auto found = [&] {
    return run_as(kTestUser, kTestGroup, [&] {
      const std::vector<std::string> all = private_ring_directories({});
      return all.size() == 1 ? all.front() == own ? 1 : 2 : 3;
    });
  };
  CHECK(found() == 1 + 2);  // the first choice: no other name was checked
  REQUIRE(chown(place.path().c_str(), kOtherTestUser, kTestGroup) == 0);
  CHECK(found() == 1 + 1);
}

TEST_CASE("A group's directory also gets another name if its first one is taken") {
  if (geteuid() != 0) LAPWING_SKIP("running as another user needs root");
  PrivatePlace place("-" + std::to_string(kTestGroup));
  place.make_directory(0750, kOtherTestUser, kTestGroup);
  CHECK(error_of_test_user(kTestGroup) == 0);
  REQUIRE(place.others().size() == 1);
  struct stat found{};
  REQUIRE(stat(place.others()[0].c_str(), &found) == 0);
  CHECK((found.st_mode & 07777) == 0750);
  CHECK(found.st_gid == kTestGroup);
}

TEST_CASE("A directory cannot be given to a group that the user is not in") {
  if (geteuid() != 0) LAPWING_SKIP("running as another user needs root");
  const PrivatePlace place("-" + std::to_string(kOtherTestUser));
  CHECK(error_of_test_user(kOtherTestUser) == kRefused);
}

TEST_CASE("tmpfs is distinguished from other file systems") {
  CHECK(is_on_tmpfs("/dev/shm").value());
  CHECK_FALSE(is_on_tmpfs("/proc").value());
  CHECK(errc_of(is_on_tmpfs("/dev/shm/lapwing-none").status()) == Errc::kNotFound);
}

}  // namespace
}  // namespace lapwing
