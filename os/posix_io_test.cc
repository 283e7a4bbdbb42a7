#include "os/posix_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "lapwing/error.h"
#include "testing/skip.h"

namespace lapwing {
namespace {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = std::filesystem::temp_directory_path() / "lapwing-posix-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

void create_durably(PosixDisk& disk, const std::string& path) {
  const auto opened = disk.open(path, {.mode = OpenMode::kCreate, .permissions = 0600});
  REQUIRE(opened.ok());
  disk.close(*opened);
}

TEST_CASE("What is written at an offset is read there, and a read ends at the end of the file") {
  const TemporaryDirectory directory;
  PosixDisk disk;
  const auto opened = disk.open(directory / "f", {.mode = OpenMode::kCreate});
  REQUIRE(opened.ok());
  const OpenFile file(disk, *opened);
  REQUIRE(disk.allocate(file.get(), 100).ok());
  CHECK(*disk.size(file.get()) == 100);
  REQUIRE(disk.write_at(file.get(), 10, bytes_of("hello")).ok());
  REQUIRE(disk.truncate(file.get(), 14).ok());
  std::string out(10, '?');
  const auto got = disk.read_at(file.get(), 10, std::as_writable_bytes(std::span(out)));
  REQUIRE(got.ok());
  CHECK(out.substr(0, *got) == "hell");
  CHECK(disk.sync(file.get()).ok());
  CHECK(disk.sync_directory(directory.path()).ok());
}

TEST_CASE("A hole gives its space back, reads as zeros and keeps the file's size") {
  constexpr std::uint64_t kFileBytes = 1024 * 1024;
  const TemporaryDirectory directory;
  PosixDisk disk;
  const auto file = open_file(disk, directory / "f", {.mode = OpenMode::kCreate});
  REQUIRE(file.ok());
  std::string bytes(kFileBytes, 'x');
  REQUIRE(disk.write_at(file->get(), 0, bytes_of(bytes)).ok());
  REQUIRE(disk.sync(file->get()).ok());
  CHECK(*disk.allocated_bytes(file->get()) >= kFileBytes);
  const absl::Status punched = disk.punch_hole(file->get(), 4096, kFileBytes - 4096);
  if (errno_of(punched) == EOPNOTSUPP) LAPWING_SKIP("needs a file system that can punch holes");
  REQUIRE(punched.ok());
  CHECK(*disk.allocated_bytes(file->get()) <= kFileBytes / 2);
  CHECK(*disk.size(file->get()) == kFileBytes);
  REQUIRE(*disk.read_at(file->get(), 0, std::as_writable_bytes(std::span(bytes))) == kFileBytes);
  CHECK(bytes == std::string(4096, 'x') + std::string(kFileBytes - 4096, '\0'));
}

TEST_CASE("Only a regular file is opened, and links are not followed") {
  const TemporaryDirectory directory;
  PosixDisk disk;
  create_durably(disk, directory / "f");
  REQUIRE(::symlink("f", (directory / "link").c_str()) == 0);
  REQUIRE(::mkfifo((directory / "fifo").c_str(), 0600) == 0);
  REQUIRE(disk.make_directory(directory / "sub", 0700).ok());
  for (const char* const name : {"link", "fifo", "sub"}) {
    INFO(name);
    CHECK(errc_of(disk.open(directory / name, {}).status()) == Errc::kNotALapwingFile);
  }
  CHECK(errc_of(disk.open(directory / "none", {}).status()) == Errc::kNotFound);
  CHECK(errno_of(disk.open(directory / "none", {}).status()) == ENOENT);
  CHECK_FALSE(disk.open(directory / "f", {.mode = OpenMode::kCreate}).ok());
  CHECK(disk.make_directory(directory / "sub", 0700).ok());
  CHECK(errc_of(disk.make_directory(directory / "f", 0700)) == Errc::kNotALapwingFile);
}

TEST_CASE("A created file has the asked permissions whatever the umask") {
  const TemporaryDirectory directory;
  const mode_t before = ::umask(0077);
  PosixDisk disk(::getgid());
  create_durably(disk, directory / "f");
  REQUIRE(disk.make_directory(directory / "d", 0700).ok());
  ::umask(before);
  struct stat status;
  REQUIRE(::stat((directory / "f").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0640);
  REQUIRE(::stat((directory / "d").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0750);
}

TEST_CASE("Names are listed, renamed and removed") {
  const TemporaryDirectory directory;
  PosixDisk disk;
  create_durably(disk, directory / "a");
  REQUIRE(disk.rename(directory / "a", directory / "b").ok());
  CHECK(*disk.list(directory.path()) == std::vector<std::string>{"b"});
  CHECK(*disk.exists(directory / "b"));
  CHECK_FALSE(*disk.exists(directory / "a"));
  REQUIRE(disk.remove(directory / "b").ok());
  CHECK(errc_of(disk.remove(directory / "b")) == Errc::kNotFound);
  CHECK(*disk.free_bytes(directory.path()) > 0);
}

TEST_CASE("The POSIX queue runs requests in order and gives errors back as completions") {
  const TemporaryDirectory directory;
  PosixDisk disk;
  const OpenFile file(disk, *disk.open(directory / "f", {.mode = OpenMode::kCreate}));
  const OpenFile folder(disk, *disk.open(directory.path(), {.mode = OpenMode::kDirectory}));
  const std::string old_text = "old old", new_text = "new";
  PosixWriteQueue queue("asked for");
  CHECK(queue.description() == "posix (asked for)");

  using Kind = WriteRequest::Kind;
  REQUIRE(queue.submit({Kind::kAllocate, file.get(), 4096, {}, 1}));
  REQUIRE(queue.submit({Kind::kWrite, file.get(), 0, bytes_of(old_text), 2}));
  REQUIRE(queue.submit({Kind::kWrite, file.get(), 0, bytes_of(new_text), 3}));
  REQUIRE(queue.submit({Kind::kSync, file.get(), 0, {}, 4}));
  REQUIRE(queue.submit({Kind::kSyncDirectory, folder.get(), 0, {}, 5}));
  REQUIRE(queue.submit({Kind::kWrite, folder.get(), 0, bytes_of(new_text), 6}));
  CHECK(queue.in_flight() == 6);
  std::vector<WriteCompletion> done(4);
  REQUIRE(queue.reap(done, 0) == 4);
  CHECK(std::ranges::all_of(done, [](const WriteCompletion& c) { return c.result >= 0; }));
  CHECK(done[1].result == 7);
  REQUIRE(queue.reap(done, 0) == 2);
  CHECK(done[0].result == 0);
  CHECK(done[1].tag == 6);
  CHECK(done[1].result == -EBADF);
  std::string out(8, '?');
  CHECK(*disk.read_at(file.get(), 0, std::as_writable_bytes(std::span(out).first(7))) == 7);
  CHECK(out == "new old?");
  CHECK(*disk.size(file.get()) == 4096);
}

TEST_CASE("A full POSIX queue takes no request until it is reaped") {
  PosixWriteQueue queue;
  for (std::size_t i = 0; i < kSynchronousQueueDepth; ++i) REQUIRE(queue.submit(WriteRequest{}));
  CHECK_FALSE(queue.submit(WriteRequest{}));
  std::vector<WriteCompletion> done(1);
  REQUIRE(queue.reap(done, 0) == 1);
  CHECK(queue.submit(WriteRequest{}));
}

}  // namespace
}  // namespace lapwing
