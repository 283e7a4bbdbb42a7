// Tests the owner of a ring file, whether its publisher is alive, and files that are not opened.
#include "bus/open_ring.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <optional>

#include "lapwing/error.h"
#include "testing/ring_spec.h"

namespace lapwing {
namespace {

RingSpec owned_spec(const TestDirectory& directory) {
  RingSpec spec = test_spec(directory.path());
  spec.owner = directory_identity(directory.path()).value();
  return spec;
}

OpenRing open_ring(const std::string& path) {
  absl::StatusOr<OpenRing> ring = OpenRing::open(path);
  INFO(ring.status());
  REQUIRE(ring.ok());
  return *std::move(ring);
}

}  // namespace

TEST_CASE("A ring belongs to its directory under any name, but not to a copy of it") {
  const TestDirectory directory;
  std::filesystem::create_directory(directory / "bus");
  RingSpec spec = test_spec(directory.path());
  spec.owner = directory_identity(directory / "bus").value();
  const RingFile file = make_ring(spec);
  const OpenRing ring = open_ring(file.path());
  std::filesystem::rename(directory / "bus", directory / "moved");
  std::filesystem::copy(directory / "moved", directory / "bus");
  CHECK(ring.belongs_to(directory_identity(directory / "moved").value()));
  CHECK_FALSE(ring.belongs_to(directory_identity(directory / "bus").value()));
  CHECK_FALSE(ring.belongs_to(DirectoryIdentity{}));
}

TEST_CASE("A ring is held only as long as its publisher has it") {
  const TestDirectory directory;
  std::optional<RingFile> file = make_ring(owned_spec(directory));
  const std::string path = file->path();
  CHECK(open_ring(path).is_held().value());
  SECTION("the publisher lets go and goes on") {
    file->let_go();
  }
  SECTION("the publisher's object is gone") {
    file.reset();
  }
  CHECK_FALSE(open_ring(path).is_held().value());
}

TEST_CASE("A ring is held by a process until it is killed") {
  const TestDirectory directory;
  const RingSpec spec = owned_spec(directory);
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const absl::StatusOr<RingFile> file = RingFile::create(spec);
    const char answer = file.ok() ? 'y' : 'n';
    if (write(ready[1], &answer, 1) != 1) _exit(1);
    for (;;) pause();
  }
  char answer = 0;
  REQUIRE(read(ready[0], &answer, 1) == 1);
  REQUIRE(answer == 'y');
  const std::string path = directory / ring_file_name(spec.session_id);
  CHECK(open_ring(path).is_held().value());
  REQUIRE(kill(child, SIGKILL) == 0);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  CHECK_FALSE(open_ring(path).is_held().value());
  close(ready[0]);
  close(ready[1]);
}

TEST_CASE("A reader's lock does not make a dead publisher's ring appear held") {
  const TestDirectory directory;
  std::optional<RingFile> file = make_ring(owned_spec(directory));
  const std::string path = file->path();
  file.reset();
  const OpenRing reader = open_ring(path);
  struct flock whole{};
  whole.l_type = F_RDLCK;
  whole.l_whence = SEEK_SET;
  REQUIRE(fcntl(reader.fd(), F_OFD_SETLK, &whole) == 0);
  CHECK_FALSE(open_ring(path).is_held().value());
  whole.l_type = F_WRLCK;
  CHECK(fcntl(reader.fd(), F_OFD_SETLK, &whole) != 0);
}

TEST_CASE("A ring's path is absolute and normalized, and contains its session") {
  const Id128 session = random_id().value();
  const std::string name = ring_file_name(session);
  CHECK(is_ring_path("/dev/shm/" + name, session));
  CHECK_FALSE(is_ring_path(name, session));
  CHECK_FALSE(is_ring_path("/dev/shm/../" + name, session));
  CHECK_FALSE(is_ring_path("/dev//shm/" + name, session));
  CHECK_FALSE(is_ring_path("/dev/shm/" + name, random_id().value()));
  CHECK_FALSE(is_ring_path("/etc/passwd", session));
  CHECK_FALSE(is_ring_path("", session));
}

TEST_CASE("A file that is not a regular file is refused before it is opened") {
  const TestDirectory directory;
  const RingFile file = make_ring(owned_spec(directory));
  const std::string path = directory / "stranger";
  SECTION("a link to a ring") {
    std::filesystem::create_symlink(file.path(), path);
  }
  SECTION("a FIFO") {
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  }
  SECTION("a directory") {
    std::filesystem::create_directory(path);
  }
  CHECK(errc_of(OpenRing::open(path).status()) == Errc::kNotALapwingFile);
}

TEST_CASE("Removing a ring removes no other file that took its name") {
  const TestDirectory directory;
  const RingFile file = make_ring(owned_spec(directory));
  const OpenRing ring = open_ring(file.path());
  std::filesystem::rename(file.path(), directory / "kept");
  std::filesystem::copy_file(directory / "kept", file.path());
  REQUIRE(ring.remove().ok());
  CHECK(std::filesystem::exists(file.path()));
  std::filesystem::remove(file.path());
  std::filesystem::rename(directory / "kept", file.path());
  REQUIRE(ring.remove().ok());
  CHECK_FALSE(std::filesystem::exists(file.path()));
  CHECK(ring.remove().ok());
}

}  // namespace lapwing
