// The same archiver with both write queues, on a real disk.
#include <fcntl.h>
#include <sys/file.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "os/posix_io.h"
#include "os/uring_write_queue.h"
#include "snapshot/journal/journal_reader.h"
#include "testing/archive_fixture.h"
#include "testing/skip.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kWaitNs = 5'000'000;

// Returns an io_uring queue, or nullptr if io_uring is refused, as in some containers.
std::unique_ptr<UringWriteQueue> uring_or_nothing(std::span<const int> held = {}) {
  auto queue = UringWriteQueue::create(held);
  if (queue.ok()) return *std::move(queue);
  WARN(queue.status().message());
  return nullptr;
}

std::string file_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Publishes in uneven batches with flushes in between, closes, and returns all of the journal's
// files. `.idx` is excluded, because it contains the sync times, which differ.
std::map<std::string, std::string> archive_with(WriteQueue& queue, bool register_memory) {
  const TemporaryDirectory directory;
  PosixDisk disk;
  ArchiveFixture publisher(disk, queue, {.root = directory.path()});
  if (register_memory) queue.register_memory(publisher.ring_memory());
  REQUIRE(publisher.begin(1, 1).ok());
  for (std::uint64_t batch = 1; publisher.head() < 5000; batch = batch * 7 % 613) {
    publisher.publish_all(batch, kWaitNs);
    publisher.step(kWaitNs);
    if (batch % 3 == 0) publisher.archiver().request_flush(publisher.head());
  }
  const Sequence head = publisher.head();
  REQUIRE(publisher.close().ok());
  CHECK(publisher.archiver().durable() == head);
  publisher.drop_archiver();

  auto reader = JournalReader::open(disk, directory.path(), ArchiveFixture::journal_id());
  REQUIRE(reader.ok());
  std::vector<std::byte> record(publisher.geometry().record_bytes);
  std::vector<std::byte> slot(publisher.geometry().slot_bytes);
  for (Sequence n = 1; n <= head; ++n) {
    const auto run = (*reader)->read(n, {head, head, 1}, record);
    REQUIRE(run.ok());
    REQUIRE(run->count == 1);
    fill_slot(slot.data(), n, 1, publisher.geometry());
    REQUIRE(std::memcmp(record.data(), slot.data() + kStampBytes, record.size()) == 0);
  }
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(publisher.directory())) {
    if (entry.path().extension() == ".idx") continue;
    files[entry.path().filename()] = file_bytes(entry.path());
  }
  return files;
}

TEST_CASE("POSIX and io_uring, direct and registered, write the same journal") {
  PosixWriteQueue posix;
  auto expected = archive_with(posix, false);
  REQUIRE(expected.size() == 13);  // six segments of 1,024 records, .jnl and .sum; `retention`
  for (const bool register_memory : {false, true}) {
    const auto queue = uring_or_nothing();
    if (queue == nullptr) LAPWING_SKIP("needs a kernel or container that allows io_uring");
    auto files = archive_with(*queue, register_memory);
    REQUIRE(files.size() == expected.size());
    for (auto& [name, bytes] : files) {
      INFO(name);
      // Headers contain the start time of their session.
      const std::size_t from = name.ends_with(".jnl") ? kSegmentHeaderBytes : 0;
      CHECK(bytes.substr(from) == expected.at(name).substr(from));
    }
  }
}

TEST_CASE("An io_uring request that fails returns its errno") {
  const auto queue = uring_or_nothing();
  if (queue == nullptr) LAPWING_SKIP("needs a kernel or container that allows io_uring");
  Page page{};
  REQUIRE(queue->submit({WriteRequest::Kind::kWrite, 999'999, 0, page.bytes, 42}));
  CHECK(queue->in_flight() == 1);
  WriteCompletion done;
  while (queue->reap(std::span(&done, 1), kWaitNs) == 0) {
  }
  CHECK(done.tag == 42);
  CHECK(done.result == -EBADF);
  CHECK(queue->in_flight() == 0);
  CHECK(queue->reap(std::span(&done, 1), kWaitNs) == 0);
}

TEST_CASE("An io_uring queue accepts no more than its depth, and accepts more after a reap") {
  const auto queue = uring_or_nothing();
  if (queue == nullptr) LAPWING_SKIP("needs a kernel or container that allows io_uring");
  const WriteRequest request{WriteRequest::Kind::kSync, 999'999, 0, {}, 0};
  for (unsigned i = 0; i < kUringDepth; ++i) REQUIRE(queue->submit(request));
  CHECK_FALSE(queue->submit(request));
  std::vector<WriteCompletion> done(kUringDepth);
  std::size_t count = 0;
  while (count < kUringDepth) count += queue->reap(done, kWaitNs);
  CHECK(count == kUringDepth);
  CHECK(queue->submit(request));
}

TEST_CASE("The lock's descriptor stays open as long as the io_uring exists") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("lock");
  const int lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(::flock(lock, LOCK_EX | LOCK_NB) == 0);
  auto queue = uring_or_nothing(std::span(&lock, 1));
  ::close(lock);
  if (queue == nullptr) LAPWING_SKIP("needs a kernel or container that allows io_uring");
  const int other = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  CHECK(::flock(other, LOCK_EX | LOCK_NB) != 0);
  queue.reset();
  // The kernel destroys an io_uring in the background. Wait for the lock as long as that takes.
  CHECK(::flock(other, LOCK_EX) == 0);
  ::close(other);
}

TEST_CASE("If io_uring is refused, the POSIX queue's description contains the reason") {
  const auto queue = make_write_queue();
  const auto uring = UringWriteQueue::create({});
  CHECK(queue->description().starts_with(uring.ok() ? "io_uring" : "posix ("));
}

}  // namespace
}  // namespace lapwing
