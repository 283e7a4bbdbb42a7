// Tests which ring a reader accepts as the ring that bus.json names.
#include "subscribers/described_ring.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "lapwing/error.h"
#include "testing/other_user.h"
#include "testing/ring_spec.h"

namespace lapwing {
namespace {

struct DescribedRing {
  DescribedRing() {
    RingSpec spec = test_spec(directory.path());
    spec.owner = directory_identity(directory.path()).value();
    path = make_ring(spec).path();
    bus.session_id = spec.session_id;
    bus.ring_path = path;
  }
  // Replaces the ring with `user`'s copy of it.
  void replace_by_copy_of(uid_t user) const {
    std::filesystem::rename(path, path + ".ours");
    std::filesystem::copy_file(path + ".ours", path);
    REQUIRE(::lchown(path.c_str(), user, kTestGroup) == 0);
  }
  absl::Status open() const { return open_described_ring(directory.path(), bus).status(); }

  TestDirectory directory;
  std::string path;
  BusDescription bus;
};

}  // namespace

TEST_CASE("The ring that bus.json names is opened") {
  CHECK(DescribedRing().open().ok());
}

TEST_CASE("A ring of a user other than the directory's owner is ignored, except root's") {
  if (::geteuid() != 0) LAPWING_SKIP("needs root, to make files of other users");
  const DescribedRing described;
  REQUIRE(::chown(described.directory.path().c_str(), kOtherTestUser, kTestGroup) == 0);
  CHECK(described.open().ok());
  described.replace_by_copy_of(kTestUser);
  const absl::Status refused = described.open();
  CHECK(errc_of(refused) == Errc::kNotFound);
  CHECK(refused.message().find("belongs to user 61231, and ") != std::string::npos);
}

TEST_CASE("A file of another user in the ring's place is not a ring") {
  if (::geteuid() != 0) LAPWING_SKIP("needs root, to make files of other users");
  DescribedRing described;
  const std::string home = described.directory / "taken";
  REQUIRE(::mkfifo(home.c_str(), 0600) == 0);
  described.bus.ring_path = home + "/" + ring_file_name(described.bus.session_id);
  CHECK_FALSE(described.open().ok());
  REQUIRE(::lchown(home.c_str(), kTestUser, kTestGroup) == 0);
  CHECK(errc_of(described.open()) == Errc::kNotFound);
}

}  // namespace lapwing
