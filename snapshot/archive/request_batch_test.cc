#include "snapshot/archive/request_batch.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <vector>

#include "lapwing/error.h"

namespace lapwing {
namespace {

using Kind = WriteRequest::Kind;
using Outcome = OngoingRequest::Outcome;

// Accepts requests up to its depth and keeps them for the test.
class RecordingQueue final : public WriteQueue {
 public:
  explicit RecordingQueue(std::size_t depth) : depth_(depth) {}
  std::string description() const override { return "recording"; }
  void register_memory(std::span<const std::byte>) override {}
  bool submit(const WriteRequest& request) override {
    if (requests.size() == depth_) return false;
    requests.push_back(request);
    return true;
  }
  std::size_t reap(std::span<WriteCompletion>, std::uint64_t) override { return 0; }
  std::size_t in_flight() const override { return requests.size(); }

  std::vector<WriteRequest> requests;

 private:
  std::size_t depth_;
};

TEST_CASE("A short write is continued where it stopped, on a block boundary if it began on one") {
  const std::vector<std::byte> bytes(16384);
  OngoingRequest aligned({Kind::kWrite, 3, 8192, bytes, 0}, {});
  CHECK(aligned.take(5000) == Outcome::kAgain);
  CHECK(aligned.remaining().offset == 8192 + 4096);
  CHECK(aligned.remaining().bytes.data() == bytes.data() + 4096);
  CHECK(aligned.remaining().bytes.size() == 16384 - 4096);
  CHECK(aligned.take(16384 - 4096) == Outcome::kDone);

  OngoingRequest any({Kind::kWrite, 3, 100, std::span(bytes).first(50), 0}, {});
  CHECK(any.take(20) == Outcome::kAgain);
  CHECK(any.remaining().offset == 120);
  CHECK(any.take(30) == Outcome::kDone);
}

TEST_CASE("A request without progress a thousand times in a row has failed") {
  const std::vector<std::byte> bytes(8192);
  for (const std::int64_t result : {std::int64_t{-EAGAIN}, std::int64_t{-EINTR}, std::int64_t{0}}) {
    OngoingRequest request({Kind::kWrite, 3, 0, bytes, 0}, {});
    for (unsigned i = 1; i < kFruitlessAttemptsMax; ++i) {
      REQUIRE(request.take(result) == Outcome::kAgain);
    }
    CHECK(request.take(4096) == Outcome::kAgain);  // progress: the count restarts
    for (unsigned i = 1; i < kFruitlessAttemptsMax; ++i) {
      REQUIRE(request.take(result) == Outcome::kAgain);
    }
    CHECK(request.take(result) == Outcome::kFailed);
    CHECK(errno_of(request.failure("dir")) == (result == 0 ? EIO : -result));
  }
}

TEST_CASE("A failure names the file, the offset and the errno") {
  const std::vector<std::byte> bytes(512);
  OngoingRequest request({Kind::kWrite, 3, 4096, bytes, 0}, {7, "sum"});
  CHECK(request.take(-ENOSPC) == Outcome::kFailed);
  const absl::Status failure = request.failure("journal/x");
  CHECK(errc_of(failure) == Errc::kNoSpace);
  CHECK(std::string(failure.message()) ==
        "cannot write 512 bytes at offset 4096 of journal/x/00000000000000000007.sum: "
        "No space left on device");
}

TEST_CASE("A batch submits as the queue has room, and is done when all of it is") {
  RecordingQueue queue(2);
  RequestBatch batch;
  for (int i = 0; i < 3; ++i) batch.add({Kind::kSync, i, 0, {}, 0}, {});
  batch.submit(queue, 100);
  REQUIRE(queue.requests.size() == 2);
  CHECK(queue.requests[1].tag == 101);
  CHECK_FALSE(batch.done());
  queue.requests.clear();
  batch.complete(1, 0);
  batch.complete(0, -EAGAIN);
  batch.submit(queue, 100);
  REQUIRE(queue.requests.size() == 2);  // the repeated one, and the one that did not fit
  CHECK(queue.requests[0].tag == 100);
  CHECK(queue.requests[1].tag == 102);
  batch.complete(0, 0);
  CHECK_FALSE(batch.done());
  batch.complete(2, 0);
  CHECK(batch.done());
  CHECK_FALSE(batch.failed());
}

TEST_CASE("A failed batch submits nothing more, and has failed once nothing is in flight") {
  RecordingQueue queue(2);
  RequestBatch batch;
  for (int i = 0; i < 3; ++i) batch.add({Kind::kSync, i, 0, {}, 0}, {1, "jnl"});
  batch.submit(queue, 0);
  batch.complete(0, -EIO);
  queue.requests.clear();
  batch.submit(queue, 0);
  CHECK(queue.requests.empty());
  CHECK_FALSE(batch.failed());
  batch.complete(1, -ENOSPC);
  CHECK(batch.failed());
  CHECK_FALSE(batch.done());
  CHECK(errno_of(batch.failure("dir")) == EIO);  // the first
}

}  // namespace
}  // namespace lapwing
