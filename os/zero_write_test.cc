// Tests a file system whose writes return 0. The linker wraps the calls.
#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>

#include "lapwing/error.h"
#include "os/file_space.h"
#include "os/posix_io.h"
#include "os/unique_fd.h"
#include "testing/temporary_directory.h"

namespace {
bool writes_nothing = false;
}  // namespace

extern "C" {
ssize_t __real_pwrite(int fd, const void* bytes, std::size_t size, off_t offset);
ssize_t __wrap_pwrite(int fd, const void* bytes, std::size_t size, off_t offset) {
  return writes_nothing ? 0 : __real_pwrite(fd, bytes, size, offset);
}
ssize_t __real_pwrite64(int fd, const void* bytes, std::size_t size, off_t offset);
ssize_t __wrap_pwrite64(int fd, const void* bytes, std::size_t size, off_t offset) {
  return writes_nothing ? 0 : __real_pwrite64(fd, bytes, size, offset);
}
}

namespace lapwing {
namespace {

struct WritingNothing {
  WritingNothing() { writes_nothing = true; }
  ~WritingNothing() { writes_nothing = false; }
};

TEST_CASE("A write of no bytes is an error") {
  const TemporaryDirectory directory;
  PosixDisk disk;
  const auto opened = disk.open(directory.file("file"), {.mode = OpenMode::kCreate});
  REQUIRE(opened.ok());
  const OpenFile file(disk, *opened);
  absl::Status status;
  {
    const WritingNothing nothing;
    status = disk.write_at(file.get(), 0, std::as_bytes(std::span("bytes")));
  }
  INFO(status);
  CHECK(errc_of(status) == Errc::kSystem);
  CHECK(status.message().find("Input/output error") != std::string::npos);
}

TEST_CASE("Zeros that are not written reserve no space") {
  const TemporaryDirectory directory;
  const UniqueFd fd(open(directory.file("file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(fd.valid());
  const WritingNothing nothing;
  CHECK(reserve_by_writing(fd.get(), 1 << 20) == EIO);
}

}  // namespace
}  // namespace lapwing
