#include "bus/ring_directory.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "lapwing/error.h"
#include "testing/other_user.h"
#include "testing/ring_spec.h"

namespace lapwing {
namespace {

// What stands in the way of kTestUser's private directory, removed at the end. The test processes
// of a machine have it one after the other.
class PrivatePlace {
 public:
  explicit PrivatePlace(const std::string& suffix = "")
      : path_("/dev/shm/lapwing-" + std::to_string(kTestUser) + suffix) {
    std::filesystem::remove_all(path_);
  }
  ~PrivatePlace() { std::filesystem::remove_all(path_); }
  PrivatePlace(const PrivatePlace&) = delete;
  PrivatePlace& operator=(const PrivatePlace&) = delete;

  const std::string& path() const { return path_; }
  void make_directory(mode_t mode, uid_t owner, gid_t group = kTestGroup) {
    REQUIRE(mkdir(path_.c_str(), 0700) == 0);
    REQUIRE(chmod(path_.c_str(), mode) == 0);
    REQUIRE(chown(path_.c_str(), owner, group) == 0);
  }

 private:
  TestUserLock lock_;
  std::string path_;
};

int private_directory_error(std::optional<unsigned> group = std::nullopt) {
  return static_cast<int>(errc_of(private_ring_directory(group).status()));
}

// The error number that kTestUser gets, as a process's exit code has it.
int error_of_test_user(std::optional<unsigned> group = std::nullopt) {
  const int code = run_as(kTestUser, kTestGroup, [&] { return private_directory_error(group); });
  return code == 0 ? 0 : code - 1;
}

constexpr int kRefused = static_cast<int>(Errc::kNotPermitted);

TEST_CASE("A user without a directory in /dev/shm gets one that nobody else can enter") {
  if (geteuid() != 0) LAPWING_SKIP("running as another user needs root");
  const PrivatePlace place;
  CHECK(error_of_test_user() == 0);
  CHECK(error_of_test_user() == 0);  // a second bus uses it as well
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

TEST_CASE("A private directory that was left half made is completed") {
  if (geteuid() != 0) LAPWING_SKIP("running as another user needs root");
  PrivatePlace place("-" + std::to_string(kTestGroup));
  place.make_directory(0700, kTestUser);
  CHECK(error_of_test_user(kTestGroup) == 0);
  struct stat found{};
  REQUIRE(stat(place.path().c_str(), &found) == 0);
  CHECK((found.st_mode & 07777) == 0750);
}

TEST_CASE("Nothing but an own directory with no more than the due permissions will do") {
  if (geteuid() != 0) LAPWING_SKIP("running as another user needs root");
  struct Case {
    const char* what;
    void (*stand)(PrivatePlace& place, const std::string& elsewhere);
  };
  using Path = std::string;
  const Case wrong = GENERATE(
      Case{"somebody else's directory",
           [](PrivatePlace& place, const Path&) { place.make_directory(0777, kOtherTestUser); }},
      Case{"a directory that others can enter",
           [](PrivatePlace& place, const Path&) { place.make_directory(0755, kTestUser); }},
      Case{"a directory that others can write",
           [](PrivatePlace& place, const Path&) { place.make_directory(0777, kTestUser); }},
      Case{"a link to an own directory",
           [](PrivatePlace& place, const Path& elsewhere) {
             REQUIRE(chown(elsewhere.c_str(), kTestUser, kTestUser) == 0);
             std::filesystem::create_directory_symlink(elsewhere, place.path());
           }},
      Case{"a file", [](PrivatePlace& place, const Path&) {
             REQUIRE(mknod(place.path().c_str(), S_IFREG | 0600, 0) == 0);
           }});
  INFO(wrong.what);
  const TestDirectory elsewhere;
  PrivatePlace place;
  wrong.stand(place, elsewhere.path());
  CHECK(error_of_test_user() == kRefused);
}

TEST_CASE("Another user's directory is refused even if all the rest is right") {
  if (geteuid() != 0) LAPWING_SKIP("running as another user needs root");
  PrivatePlace place("-" + std::to_string(kTestGroup));
  place.make_directory(0750, kOtherTestUser, kTestGroup);
  CHECK(run_as(kTestUser, kTestGroup, [] {
          const absl::Status status = private_ring_directory(kTestGroup).status();
          if (errc_of(status) != Errc::kNotPermitted) return __LINE__;
          const std::string owner = "belongs to user " + std::to_string(kOtherTestUser);
          return status.message().find(owner) != absl::string_view::npos ? 0 : __LINE__;
        }) == 0);
}

TEST_CASE("A group that the user is not in cannot be given the directory") {
  if (geteuid() != 0) LAPWING_SKIP("running as another user needs root");
  const PrivatePlace place("-" + std::to_string(kOtherTestUser));
  CHECK(error_of_test_user(kOtherTestUser) == kRefused);
}

TEST_CASE("tmpfs is told from other file systems") {
  CHECK(is_on_tmpfs("/dev/shm").value());
  CHECK_FALSE(is_on_tmpfs("/proc").value());
  CHECK(errc_of(is_on_tmpfs("/dev/shm/lapwing-none").status()) == Errc::kNotFound);
}

}  // namespace
}  // namespace lapwing
