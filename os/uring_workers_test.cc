// Tests the workers of an io_uring: their number, their processors, and the reports if the kernel
// refuses to place or limit them. The linker wraps liburing's calls for this.
#include <fcntl.h>
#include <liburing.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lapwing/error.h"
#include "os/unique_fd.h"
#include "os/uring_write_queue.h"
#include "testing/process_threads.h"
#include "testing/skip.h"
#include "testing/temporary_directory.h"

namespace {
int refuse_with = 0;  // errno; 0: the kernel answers
}  // namespace

extern "C" {
int __real_io_uring_register_iowq_aff(io_uring* ring, std::size_t bytes, const cpu_set_t* mask);
int __wrap_io_uring_register_iowq_aff(io_uring* ring, std::size_t bytes, const cpu_set_t* mask) {
  return refuse_with != 0 ? -refuse_with : __real_io_uring_register_iowq_aff(ring, bytes, mask);
}
int __real_io_uring_register_iowq_max_workers(io_uring* ring, unsigned* values);
int __wrap_io_uring_register_iowq_max_workers(io_uring* ring, unsigned* values) {
  return refuse_with != 0 ? -refuse_with : __real_io_uring_register_iowq_max_workers(ring, values);
}
}

namespace lapwing {
namespace {

using Catch::Contains;

constexpr std::uint64_t kWaitNs = 5'000'000;

class Refusal {
 public:
  explicit Refusal(int sys_errno) { refuse_with = sys_errno; }
  ~Refusal() { refuse_with = 0; }
  Refusal(const Refusal&) = delete;
  Refusal& operator=(const Refusal&) = delete;
};

// Returns an io_uring queue, or null, because containers may refuse it.
std::unique_ptr<UringWriteQueue> uring_or_nothing() {
  auto queue = UringWriteQueue::create({});
  return queue.ok() ? *std::move(queue) : nullptr;
}

// Performs many syncs at once, each of which uses a worker. Returns false if one failed.
bool sync_many(UringWriteQueue& queue, int file) {
  for (std::uint64_t tag = 0; tag < 32; ++tag) {
    if (!queue.submit({WriteRequest::Kind::kSync, file, 0, {}, tag})) return false;
  }
  std::vector<WriteCompletion> done(32);
  while (queue.in_flight() > 0) {
    const std::size_t count = queue.reap(done, kWaitNs);
    for (std::size_t i = 0; i < count; ++i) {
      if (done[i].result != 0) return false;
    }
  }
  return true;
}

bool all_run_on(const std::vector<ProcessThread>& workers, const std::vector<unsigned>& cpus) {
  for (const ProcessThread& worker : workers) {
    if (worker.cpus() != cpus) return false;
  }
  return !workers.empty();
}

TEST_CASE("The kernel is told how many workers a thread that submits may have") {
  const auto queue = uring_or_nothing();
  if (queue == nullptr) LAPWING_SKIP("needs a kernel or container that allows io_uring");
  if (queue->workers_max() == 0) LAPWING_SKIP("needs Linux 5.15");
  CHECK(queue->workers_max() == kUringWorkersMax);
  CHECK(queue->description() == "io_uring");
}

TEST_CASE("Workers run on the processors that were asked for, whichever thread submits") {
  const auto queue = uring_or_nothing();
  if (queue == nullptr) LAPWING_SKIP("needs a kernel or container that allows io_uring");
  const TemporaryDirectory directory;
  const UniqueFd file(open(directory.file("f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(file.valid());
  const std::vector<unsigned> cpus{this_thread().cpus().back()};
  // This thread may already have workers from other tests, so two other threads submit.
  for (int i = 0; i < 2; ++i) {
    absl::Status placed;
    bool synced = false;
    bool on_cpus = false;
    std::thread([&] {
      if (i == 0) placed = queue->place_workers(cpus);
      synced = sync_many(*queue, file.get());
      on_cpus = all_run_on(uring_workers_of(gettid()), cpus);
    }).join();
    INFO("thread " << i);
    REQUIRE(placed.ok());
    CHECK(synced);
    CHECK(on_cpus);
  }
  CHECK_THAT(queue->description(), Contains("workers on processors " + cpu_list_text(cpus)));
  CHECK(sync_many(*queue, file.get()));  // back in the first thread
}

TEST_CASE("A kernel that cannot place workers is an error for who asks, and for nobody else") {
  const auto queue = uring_or_nothing();
  if (queue == nullptr) LAPWING_SKIP("needs a kernel or container that allows io_uring");
  const int sys_errno = GENERATE(EINVAL, EPERM, ENOSYS);
  const Refusal refusal(sys_errno);
  CHECK(queue->place_workers({}).ok());
  const absl::Status refused = queue->place_workers({0});
  CHECK(errc_of(refused) == Errc::kUnsupported);
  CHECK_THAT(std::string(refused.message()), Contains("--thread-cpus"));
  CHECK_THAT(queue->description(), !Contains("processors"));
  // Requests still work.
  const TemporaryDirectory directory;
  const UniqueFd file(open(directory.file("f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  CHECK(sync_many(*queue, file.get()));
}

TEST_CASE("A kernel that cannot limit the workers is used, and the description says so") {
  if (uring_or_nothing() == nullptr) LAPWING_SKIP("needs a kernel that allows io_uring");
  const Refusal refusal(EINVAL);
  const auto queue = uring_or_nothing();
  REQUIRE(queue != nullptr);
  CHECK_THAT(queue->description(), Contains("number of workers not limited"));
  CHECK(queue->workers_max() == 0);
}

}  // namespace
}  // namespace lapwing
