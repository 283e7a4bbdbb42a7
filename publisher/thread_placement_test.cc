// A publisher's threads, as the kernel sees them: all of them, including io_uring's, have a name
// and the requested placement. The program's own threads are unchanged.
#include <sched.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "os/uring_write_queue.h"
#include "testing/process_threads.h"
#include "testing/publisher_fixture.h"
#include "testing/skip.h"

namespace lapwing {
namespace {

using Catch::Contains;

constexpr int kNice = 19;

bool is_placed(const ProcessThread& thread, const std::vector<unsigned>& cpus) {
  return thread.cpus() == cpus && thread.nice() == kNice && thread.policy() == SCHED_BATCH;
}

// Uses the last of this thread's processors, so the placement differs if there are two.
ThreadPlacement placement() {
  return {.cpus = {this_thread().cpus().back()}, .nice = kNice, .policy = SchedulingPolicy::kBatch};
}

void publish_and_flush(Publisher& publisher, std::uint64_t count) {
  const auto records = records_from(publisher.head() + 1, count);
  REQUIRE(publisher.publish_batch(bytes_of(records)).ok());
  REQUIRE(publisher.flush(std::chrono::seconds(60)).ok());
}

TEST_CASE("A publisher's threads have names and are placed, and its caller's thread is not") {
  const TemporaryDirectory directory;
  const ProcessThread self = this_thread();
  const std::vector<unsigned> cpus_before = self.cpus();
  const int nice_before = self.nice();
  const int policy_before = self.policy();
  PublisherSetUp options = options_for(directory);
  options.threads = placement();
  const ClosingPublisher publisher = open_publisher(options);
  publish_and_flush(*publisher, 10);
  CHECK(is_placed(thread_named("lapwing-service"), options.threads.cpus));
  CHECK(is_placed(thread_named("lapwing-file"), options.threads.cpus));
  CHECK(self.cpus() == cpus_before);
  CHECK(self.nice() == nice_before);
  CHECK(self.policy() == policy_before);
}

TEST_CASE("The workers of io_uring are placed as well, and the caller's thread never has any") {
  if (!UringWriteQueue::create({}).ok()) LAPWING_SKIP("needs a kernel that allows io_uring");
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  std::vector<std::string> log;
  std::mutex log_mutex;
  options.log = [&](const std::string& line) {
    const std::lock_guard lock(log_mutex);
    log.push_back(line);
  };
  options.threads = placement();
  const std::size_t own_workers = uring_workers_of(gettid()).size();  // from earlier tests
  const ClosingPublisher publisher = open_publisher(options);
  publish_and_flush(*publisher, 4 * kCapacity);
  // Every sync runs on a worker, and an idle worker remains for a few seconds.
  const std::vector<ProcessThread> workers = uring_workers_of(thread_named("lapwing-file").id);
  REQUIRE_FALSE(workers.empty());
  for (const ProcessThread& worker : workers) CHECK(is_placed(worker, options.threads.cpus));
  CHECK(uring_workers_of(gettid()).size() <= own_workers);
  const std::string said = "workers on processors " + cpu_list_text(options.threads.cpus);
  const std::lock_guard lock(log_mutex);
  CHECK(std::ranges::any_of(
      log, [&](const std::string& line) { return line.find(said) != std::string::npos; }));
}

TEST_CASE("Without a placement the threads are as the caller's, which has no workers either") {
  const TemporaryDirectory directory;
  const std::size_t own_workers = uring_workers_of(gettid()).size();  // from earlier tests
  const ClosingPublisher publisher = open_publisher(options_for(directory));
  publish_and_flush(*publisher, 4 * kCapacity);
  for (const char* const name : {"lapwing-service", "lapwing-file"}) {
    const ProcessThread thread = thread_named(name);
    CHECK(thread.cpus() == this_thread().cpus());
    CHECK(thread.nice() == this_thread().nice());
    CHECK(thread.policy() == this_thread().policy());
  }
  CHECK(uring_workers_of(gettid()).size() <= own_workers);
}

TEST_CASE("Opening the journal and closing the publisher also run on placed threads") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  options.threads = placement();
  bool opened_there = false;
  bool closed_there = false;
  const auto is_here = [&](const char* name) {
    return this_thread().name == name && is_placed(this_thread(), options.threads.cpus);
  };
  options.make_queue = [&] {
    opened_there = is_here("lapwing-opening");
    return make_write_queue();
  };
  options.on_step = [&](const std::string& step) {
    if (step == "close-journal") closed_there = is_here("lapwing-closing");
  };
  const ClosingPublisher publisher = open_publisher(options);
  CHECK(opened_there);
  CHECK(publisher->close().ok());
  CHECK(closed_there);
}

TEST_CASE("A publisher whose threads cannot be placed is refused before it creates anything") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  SECTION("no such processor") {
    options.threads.cpus = {0, 8000};
  }
  SECTION("a contradiction") {
    options.threads.priority = 7;
  }
  const auto refused = closing(open_with_seams(options));
  CHECK(errc_of(refused.status()) == Errc::kInvalidArgument);
  CHECK_THAT(std::string(refused.status().message()), Contains("threads."));
  CHECK_FALSE(std::filesystem::exists(options.directory));
}

TEST_CASE("A publisher with placed threads does not use a queue whose workers cannot be placed") {
  class UnplacedTestQueue final : public SynchronousWriteQueue {
   public:
    UnplacedTestQueue() : SynchronousWriteQueue("unplaced", run_request) {}
    absl::Status place_workers(const std::vector<unsigned>& cpus) override {
      return cpus.empty() ? absl::OkStatus() : make_error(Errc::kUnsupported, "it cannot");
    }
  };
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  options.make_queue = [] { return std::make_unique<UnplacedTestQueue>(); };
  options.threads.cpus = this_thread().cpus();
  CHECK(errc_of(closing(open_with_seams(options)).status()) == Errc::kUnsupported);
  options.threads.cpus.clear();
  CHECK(open_publisher(options)->close().ok());
}

}  // namespace
}  // namespace lapwing
