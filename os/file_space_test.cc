// Tests space reservation by writing, as on a file system without fallocate.
#include "os/file_space.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <string>

#include "os/page.h"
#include "os/unique_fd.h"
#include "testing/skip.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kFileBytes = 300 * kPageBytes;  // more than one write

UniqueFd make_file(const TemporaryDirectory& directory, int flags = 0) {
  return UniqueFd::opened_by([&] {
    return ::open(directory.file("f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | flags, 0600);
  });
}

struct stat info_of(int fd) {
  struct stat info{};
  REQUIRE(::fstat(fd, &info) == 0);
  return info;
}

bool is_allocated(int fd, std::uint64_t bytes) {
  return static_cast<std::uint64_t>(info_of(fd).st_blocks) * 512 >= bytes;
}

// Returns the content, read without O_DIRECT.
std::string content(const TemporaryDirectory& directory) {
  const UniqueFd fd = make_file(directory);
  std::string text(static_cast<std::size_t>(info_of(fd.get()).st_size), '?');
  REQUIRE(::pread(fd.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  return text;
}

void write_text(const TemporaryDirectory& directory, const std::string& text, std::uint64_t at) {
  const UniqueFd fd = make_file(directory);
  REQUIRE(::pwrite(fd.get(), text.data(), text.size(), static_cast<off_t>(at)) ==
          static_cast<ssize_t>(text.size()));
  REQUIRE(::fsync(fd.get()) == 0);
}

}  // namespace

TEST_CASE("A descriptor with O_DIRECT gets zeros in whole pages, and what was there stays") {
  const TemporaryDirectory directory;
  const UniqueFd fd = make_file(directory, O_DIRECT);
  if (!fd.valid() && errno == EINVAL) LAPWING_SKIP("the temporary directory has no direct I/O");
  REQUIRE(fd.valid());
  std::string text;
  SECTION("of an empty file") {}
  SECTION("of one that ends inside a page") {
    text = std::string(kPageBytes + 100, 'x');
  }
  SECTION("of one that ends with a page") {
    text = std::string(2 * kPageBytes, 'x');
  }
  if (!text.empty()) write_text(directory, text, 0);
  REQUIRE(reserve_by_writing(fd.get(), kFileBytes) == 0);
  CHECK(info_of(fd.get()).st_size == kFileBytes);
  CHECK(is_allocated(fd.get(), kFileBytes));
  CHECK(content(directory) == text + std::string(kFileBytes - text.size(), '\0'));
}

TEST_CASE("A file without O_DIRECT may end anywhere") {
  const TemporaryDirectory directory;
  const UniqueFd fd = make_file(directory);
  const std::uint64_t before = GENERATE(0UL, 10UL, kPageBytes);
  const std::uint64_t after = GENERATE(100UL, kPageBytes + 1, 3 * kPageBytes + 7);
  write_text(directory, std::string(before, 'x'), 0);
  REQUIRE(reserve_by_writing(fd.get(), after) == 0);
  const std::uint64_t size = std::max(before, after);
  CHECK(content(directory) == std::string(before, 'x') + std::string(size - before, '\0'));
}

TEST_CASE("Holes are filled, and a longer file keeps its length") {
  const TemporaryDirectory directory;
  const UniqueFd fd = make_file(directory);
  const std::string text = "record";
  write_text(directory, text, 100 * kPageBytes);
  REQUIRE(::ftruncate(fd.get(), kFileBytes + 5) == 0);
  if (is_allocated(fd.get(), kFileBytes)) LAPWING_SKIP("the temporary directory has no holes");
  const std::string before = content(directory);
  REQUIRE(reserve_by_writing(fd.get(), kFileBytes) == 0);
  CHECK(is_allocated(fd.get(), kFileBytes));
  CHECK(content(directory) == before);
}

TEST_CASE("Without room the error is the disk's") {
  const UniqueFd full = UniqueFd::opened_by([] { return ::open("/dev/full", O_RDWR | O_CLOEXEC); });
  REQUIRE(full.valid());
  CHECK(reserve_by_writing(full.get(), kFileBytes) == ENOSPC);
}

}  // namespace lapwing
