#include "snapshot/checkpoint/checkpoint_ownership.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "lapwing/error.h"
#include "os/posix_io.h"
#include "testing/checkpoint_fixture.h"
#include "testing/skip.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

constexpr uid_t kStranger = 61231;  // the system has no such user
const FixtureFold kOwnershipFold(16);

// A bus directory with one checkpoint of the fold.
struct Bus {
  Bus() {
    PosixDisk disk;
    const auto made = make_checkpoint_directory(disk, root.path(), "fixture");
    REQUIRE(made.ok());
    directory = *made;
    REQUIRE(write_checkpoint(disk, directory, kOwnershipFold, fixture_identity(1),
                             kOwnershipFold.entries(0, 9))
                .ok());
  }
  absl::Status trust() const { return check_checkpoint_directory(directory); }

  TemporaryDirectory root;
  std::string directory;
};

TEST_CASE("A finished checkpoint is read-only, and its directories are private") {
  const Bus bus;
  struct stat info{};
  REQUIRE(::stat(checkpoint_path(bus.directory, 1).c_str(), &info) == 0);
  REQUIRE((info.st_mode & 07777) == 0400);
  for (const std::string& directory : {bus.directory, bus.root.file("checkpoint")}) {
    REQUIRE(::stat(directory.c_str(), &info) == 0);
    REQUIRE((info.st_mode & 07777) == 0700);
  }
  REQUIRE(bus.trust().ok());
}

TEST_CASE("Checkpoints in a directory that other users may write to are not trusted") {
  const Bus bus;
  const bool of_fold = GENERATE(true, false);
  const std::string directory = of_fold ? bus.directory : bus.root.file("checkpoint");
  const mode_t mode = GENERATE(0720u, 0702u, 0777u);
  REQUIRE(::chmod(directory.c_str(), mode) == 0);
  REQUIRE(errc_of(bus.trust()) == Errc::kNotPermitted);
  REQUIRE_THAT(std::string(bus.trust().message()), Catch::Contains("chmod go-w " + directory));
  REQUIRE(::chmod(directory.c_str(), 0750) == 0);
  REQUIRE(bus.trust().ok());
}

TEST_CASE("A link in the place of a directory of checkpoints is not followed") {
  const Bus bus;
  std::filesystem::rename(bus.directory, bus.root.file("elsewhere"));
  std::filesystem::create_symlink(bus.root.file("elsewhere"), bus.directory);
  REQUIRE(errc_of(bus.trust()) == Errc::kNotALapwingFile);
}

TEST_CASE("Without a directory there is no owner to distrust") {
  const TemporaryDirectory root;
  REQUIRE(check_checkpoint_directory(checkpoint_directory(root.path(), "latest")).ok());
}

TEST_CASE("Checkpoints of a user who is not the owner of the bus are not trusted") {
  if (::geteuid() != 0) LAPWING_SKIP("giving a directory to another user needs root");
  const Bus bus;
  REQUIRE(::chown(bus.directory.c_str(), kStranger, 0) == 0);
  REQUIRE(errc_of(bus.trust()) == Errc::kNotPermitted);
  REQUIRE_THAT(std::string(bus.trust().message()), Catch::Contains("not the owner"));
  // The files are accepted if the whole bus belongs to another user.
  REQUIRE(::chown(bus.root.path().c_str(), kStranger, 0) == 0);
  REQUIRE(bus.trust().ok());
}

TEST_CASE("A file is mapped only if no user except this one and root can change it") {
  const Bus bus;
  PosixDisk disk;
  const std::string path = checkpoint_path(bus.directory, 1);
  const auto is_mapped = [&] {
    const auto file = disk.open(path, {OpenMode::kRead});
    REQUIRE(file.ok());
    const OpenFile owned(disk, *file);
    const auto pages = disk.map_finished(*file);
    if (pages) REQUIRE(pages->bytes().size() == std::filesystem::file_size(path));
    REQUIRE(LoadedCheckpoint::load(disk, path).ok());
    return pages.has_value();
  };
  REQUIRE(is_mapped());
  REQUIRE(::chmod(path.c_str(), 0460) == 0);
  REQUIRE_FALSE(is_mapped());
  REQUIRE(::chmod(path.c_str(), 0402) == 0);
  REQUIRE_FALSE(is_mapped());
  REQUIRE(::chmod(path.c_str(), 0440) == 0);
  REQUIRE(is_mapped());
  if (::geteuid() != 0) LAPWING_SKIP("giving a file to another user needs root");
  REQUIRE(::chown(path.c_str(), kStranger, 0) == 0);
  REQUIRE_FALSE(is_mapped());
}

TEST_CASE("A loaded checkpoint stays as it is when its file is removed") {
  const Bus bus;
  PosixDisk disk;
  const auto checkpoint = LoadedCheckpoint::load(disk, checkpoint_path(bus.directory, 1));
  REQUIRE(checkpoint.ok());
  std::filesystem::remove(checkpoint_path(bus.directory, 1));
  REQUIRE(to_vector(checkpoint->entries()) == kOwnershipFold.entries(0, 9));
}

}  // namespace
}  // namespace lapwing
