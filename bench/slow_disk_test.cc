// The slow disk with a clock that only advances in sleeps. The real disk takes no time.
#include "bench/slow_disk.h"

#include <fcntl.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <fstream>

#include "proto/journal_format.h"
#include "testing/closing_publisher.h"
#include "testing/temporary_directory.h"

namespace lapwing::bench {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::size_t kMegabyte = 1'000'000;  // 10 ms on a disk with 100 MB per second
constexpr std::uint64_t kForEver = ~std::uint64_t{0};

class SlowDiskTest {
 public:
  SlowDiskTest() : file_(::open(path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    REQUIRE(file_ >= 0);
  }
  ~SlowDiskTest() { ::close(file_); }

 protected:
  std::string path() const { return directory_.file("journal"); }
  DiskClock clock() {
    return {[this] { return now_ns_; }, [this](std::uint64_t ns) { now_ns_ += ns; }};
  }
  std::uint64_t now_ms() const { return now_ns_ / kMs; }

  WriteRequest write(std::uint64_t tag, std::size_t bytes = kMegabyte) {
    return {WriteRequest::Kind::kWrite, file_, 0, std::span(bytes_).first(bytes), tag};
  }
  WriteRequest sync(std::uint64_t tag) { return {WriteRequest::Kind::kSync, file_, 0, {}, tag}; }

  // The tags of requests completed within `wait_ns`.
  std::vector<std::uint64_t> reap(std::uint64_t wait_ns) {
    std::array<WriteCompletion, 8> done;
    const std::size_t count = queue_.reap(done, wait_ns);
    std::vector<std::uint64_t> tags;
    for (const WriteCompletion& one : std::span(done).first(count)) {
      CHECK(one.result >= 0);
      tags.push_back(one.tag);
    }
    return tags;
  }

  using Tags = std::vector<std::uint64_t>;
  TemporaryDirectory directory_;
  std::uint64_t now_ns_ = 5'000 * kMs;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kMegabyte, std::byte{7});
  int file_;
  SlowWriteQueue queue_{std::make_unique<PosixWriteQueue>(), DiskSpeed{}, clock()};
};

TEST_CASE_METHOD(SlowDiskTest, "Writes are done one after another, at the disk's speed") {
  REQUIRE(queue_.submit(write(1)));
  REQUIRE(queue_.submit(write(2, kMegabyte / 2)));
  CHECK(reap(0) == Tags{});
  CHECK(reap(4 * kMs) == Tags{});
  CHECK(now_ms() == 5'004);
  CHECK(queue_.in_flight() == 2);
  CHECK(reap(kForEver) == Tags{1});
  CHECK(now_ms() == 5'010);
  CHECK(reap(kForEver) == Tags{2});
  CHECK(now_ms() == 5'015);
  CHECK(queue_.in_flight() == 0);
  CHECK(reap(kForEver) == Tags{});
}

TEST_CASE_METHOD(SlowDiskTest, "A disk that was idle does not catch up") {
  now_ns_ += 1'000 * kMs;
  REQUIRE(queue_.submit(write(1)));
  CHECK(reap(kForEver) == Tags{1});
  CHECK(now_ms() == 6'010);
}

TEST_CASE_METHOD(SlowDiskTest, "A sync waits for the writes before it and not for those after it") {
  REQUIRE(queue_.submit(write(1)));
  REQUIRE(queue_.submit(sync(2)));
  REQUIRE(queue_.submit(write(3)));
  CHECK(reap(kForEver) == Tags{1});
  CHECK(now_ms() == 5'010);
  CHECK(reap(kForEver) == Tags{3});
  CHECK(now_ms() == 5'020);
  CHECK(reap(kForEver) == Tags{2});
  CHECK(now_ms() == 5'060);
}

TEST_CASE_METHOD(SlowDiskTest, "Written bytes are in the file, and a failure is returned") {
  REQUIRE(queue_.submit(write(1)));
  REQUIRE(reap(kForEver) == Tags{1});
  CHECK(std::filesystem::file_size(path()) == kMegabyte);
  WriteRequest nowhere = write(9);
  nowhere.file = 999'999;
  REQUIRE(queue_.submit(nowhere));
  WriteCompletion done;
  REQUIRE(queue_.reap(std::span(&done, 1), kForEver) == 1);
  CHECK(done.tag == 9);
  CHECK(done.result == -EBADF);
}

TEST_CASE_METHOD(SlowDiskTest, "A full queue accepts nothing until a request completes") {
  std::size_t taken = 0;
  while (taken < 2 * kSlowQueueDepth && queue_.submit(write(taken + 1, 8))) {
    ++taken;
    std::array<WriteCompletion, 0> none;
    queue_.reap(none, 0);  // the real disk completes immediately, and has room
  }
  CHECK(taken == kSlowQueueDepth);
  CHECK(queue_.in_flight() == kSlowQueueDepth);
  REQUIRE_FALSE(reap(kForEver).empty());
  CHECK(queue_.submit(write(999, 8)));
}

TEST_CASE_METHOD(SlowDiskTest, "Names, headers and their syncs are slow as well") {
  SlowDisk disk(DiskSpeed{}, clock());
  REQUIRE(disk.write_at(file_, 0, bytes_).ok());
  CHECK(now_ms() == 5'010);
  REQUIRE(disk.sync(file_).ok());
  CHECK(now_ms() == 5'060);
  REQUIRE(disk.sync_directory(directory_.path()).ok());
  CHECK(now_ms() == 5'110);
}

TEST_CASE("A journal on a slow disk is complete") {
  const TemporaryDirectory directory;
  PublisherSetUp options;
  options.directory = directory.file("bus");
  options.capacity = 1024;
  options.segment_bytes = kSegmentSlotBytesMin;
  options.sync_interval = std::chrono::milliseconds(1);
  std::string said;
  options.log = [&](const std::string& line) { said += line; };
  put_journal_on_slow_disk(options);
  auto publisher = closing(open_with_seams(options));
  REQUIRE(publisher.ok());
  CHECK(said.find("slowed down") != std::string::npos);
  const std::vector<std::byte> record((*publisher)->record_bytes());
  for (int i = 0; i < 10'000; ++i) REQUIRE((*publisher)->publish(record).ok());
  REQUIRE((*publisher)->close().ok());
  CHECK((*publisher)->durable() == 10'000);
}

}  // namespace
}  // namespace lapwing::bench
