#include "bench/slow_disk.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "os/kernel.h"
#include "os/uring_write_queue.h"

namespace lapwing::bench {
namespace {

constexpr std::size_t kCompletionsAtOnce = 32;

bool is_sync(WriteRequest::Kind kind) {
  return kind == WriteRequest::Kind::kSync || kind == WriteRequest::Kind::kSyncDirectory;
}

}  // namespace

DiskClock DiskClock::real() {
  return {monotonic_ns, [](std::uint64_t ns) { wait_readable(-1, ns); }};
}

SlowWriteQueue::SlowWriteQueue(std::unique_ptr<WriteQueue> queue, const DiskSpeed& speed,
                               DiskClock clock)
    : queue_(std::move(queue)), speed_(speed), clock_(std::move(clock)) {
  requests_.reserve(kSlowQueueDepth);
}

std::string SlowWriteQueue::description() const {
  return absl::StrCat(queue_->description(), ", slowed down");
}

void SlowWriteQueue::register_memory(std::span<const std::byte> memory) {
  queue_->register_memory(memory);
}

bool SlowWriteQueue::submit(const WriteRequest& request) {
  if (requests_.size() == kSlowQueueDepth || !queue_->submit(request)) return false;
  const std::uint64_t begins_ns = std::max(idle_from_ns_, clock_.now_ns());
  idle_from_ns_ = begins_ns + speed_.write_ns(request.bytes.size());
  requests_.push_back({{request.tag, 0}, is_sync(request.kind), false, idle_from_ns_});
  return true;
}

std::size_t SlowWriteQueue::reap(std::span<WriteCompletion> out, std::uint64_t wait_ns) {
  const std::uint64_t began = clock_.now_ns();
  for (;;) {
    take_done(0);
    const std::size_t given = give_ready(out);
    const std::uint64_t waited = clock_.now_ns() - began;
    if (given > 0 || requests_.empty() || waited >= wait_ns) return given;
    const std::uint64_t now = began + waited;
    const std::uint64_t next = std::max(next_ready_ns(), now);
    const std::uint64_t pause = std::min(wait_ns - waited, next - now);
    if (queue_->in_flight() > 0) {
      take_done(pause);
    } else {
      clock_.sleep_ns(pause);
    }
  }
}

// Records the completions of the real disk, waiting for the first one.
void SlowWriteQueue::take_done(std::uint64_t wait_ns) {
  std::array<WriteCompletion, kCompletionsAtOnce> done{};
  const std::size_t count = queue_->reap(done, wait_ns);
  const std::uint64_t now = clock_.now_ns();
  for (const WriteCompletion& completion : std::span(done).first(count)) {
    const auto request = std::find_if(requests_.begin(), requests_.end(), [&](const Request& r) {
      return !r.done && r.completion.tag == completion.tag;
    });
    request->completion = completion;
    request->done = true;
    if (request->sync) request->ready_ns = std::max(request->ready_ns, now) + speed_.sync_ns;
  }
}

std::size_t SlowWriteQueue::give_ready(std::span<WriteCompletion> out) {
  const std::uint64_t now = clock_.now_ns();
  std::size_t count = 0;
  std::erase_if(requests_, [&](const Request& request) {
    if (!request.done || request.ready_ns > now || count == out.size()) return false;
    out[count++] = request.completion;
    return true;
  });
  return count;
}

// The earliest time at which a request that only waits for the slow disk is ready.
std::uint64_t SlowWriteQueue::next_ready_ns() const {
  std::uint64_t next = ~std::uint64_t{0};
  for (const Request& request : requests_) {
    if (request.done) next = std::min(next, request.ready_ns);
  }
  return next;
}

absl::Status SlowDisk::write_at(FileHandle file, std::uint64_t offset,
                                std::span<const std::byte> bytes) {
  clock_.sleep_ns(speed_.write_ns(bytes.size()));
  return PosixDisk::write_at(file, offset, bytes);
}

absl::Status SlowDisk::sync(FileHandle file) {
  clock_.sleep_ns(speed_.sync_ns);
  return PosixDisk::sync(file);
}

absl::Status SlowDisk::sync_directory(const std::string& path) {
  clock_.sleep_ns(speed_.sync_ns);
  return PosixDisk::sync_directory(path);
}

void put_journal_on_slow_disk(PublisherSetUp& options) {
  options.make_disk = [] { return std::make_unique<SlowDisk>(DiskSpeed{}, DiskClock::real()); };
  // Omits the publisher's lock, which protects against killed publishers.
  options.make_queue = [] {
    return std::make_unique<SlowWriteQueue>(make_write_queue(), DiskSpeed{}, DiskClock::real());
  };
}

}  // namespace lapwing::bench
