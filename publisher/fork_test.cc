// A child forked from a publisher's process keeps no part of the publisher alive.
#include <fcntl.h>

#include <atomic>
#include <optional>
#include <thread>

#include "proto/ring_words.h"
#include "publisher/closing_threads.h"
#include "testing/child_process.h"
#include "testing/closing_publisher.h"
#include "testing/process_descriptors.h"
#include "testing/publisher_fixture.h"

namespace lapwing {
namespace {

bool is_forked(const absl::Status& status) {
  return errc_of(status) == Errc::kForked &&
         status.message().find("open another one here") != absl::string_view::npos;
}

void publish_some(const ClosingPublisher& publisher, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const Sequence n = publisher->head() + 1;
    REQUIRE(*publisher->publish(record_of(n)) == n);
  }
}

// Returns the line of the first call that does not return kForked in a child, or 0 if all do.
int try_every_call(Publisher& publisher, Sequence head) {
  const std::vector<Record> two = records_from(1, 2);
  const auto bytes = bytes_of(two);
  if (!is_forked(publisher.status()) || !is_forked(publisher.last_error())) return __LINE__;
  if (publisher.publish(two[0]).ok()) return __LINE__;
  if (publisher.publish(bytes.first(3)).ok()) return __LINE__;
  if (publisher.publish_batch(bytes).ok()) return __LINE__;
  if (publisher.publish_batch(bytes.first(0)).ok()) return __LINE__;
  if (publisher.publish_batch(bytes.first(3)).ok()) return __LINE__;
  if (!is_forked(publisher.status()) || !is_forked(publisher.last_error())) return __LINE__;
  if (!is_forked(publisher.flush(Deadline::never()))) return __LINE__;
  if (!is_forked(publisher.close(Deadline::never()))) return __LINE__;
  publisher.interrupt();
  if (publisher.head() != head || publisher.durable() != 0) return __LINE__;
  if (publisher.journal().state != JournalState::kNone) return __LINE__;
  if (publisher.subscriber_count() != 0 || !publisher.subscribers().empty()) return __LINE__;
  if (publisher.record_bytes() != sizeof(Record) || publisher.first() != 1) return __LINE__;
  if (publisher.session_id() == Id128{} || publisher.counters().doorbells != 0) return __LINE__;
  return 0;
}

TEST_CASE("Every call of a publisher returns forked in a child, and the parent continues") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  SECTION("with a journal") {}
  SECTION("without a journal") {
    keep_no_journal(options);
  }
  ClosingPublisher publisher = open_publisher(options);
  publish_some(publisher, 10);
  ChildProcess child([&] {
    if (const int line = try_every_call(*publisher, 10); line != 0) return line;
    Publisher moved = std::move(*publisher);
    if (!is_forked(moved.status())) return __LINE__;
    *publisher = std::move(moved);
    publisher.reset();
    return 0;
  });
  CHECK(child.wait() == 0);
  publish_some(publisher, 2 * kCapacity);
  if (options.journal) CHECK(publisher->flush(std::chrono::seconds(60)).ok());
  const RingMap map = map_ring(options);
  CHECK(load_head(map.words()) == 10 + 2 * kCapacity);
  CHECK(load_ring_state(map.words()) == RingState::kRunning);
  CHECK(publisher->close().ok());
}

TEST_CASE("A child of a publisher's process has neither its descriptors nor its mappings") {
  const TemporaryDirectory directory;
  const std::set<int> before = descriptor_numbers();
  const ClosingPublisher publisher = open_publisher(options_for(directory));
  REQUIRE(descriptor_numbers().size() > before.size() + 5);
  REQUIRE(maps("/#"));  // a mapped file without a name
  ChildProcess child([&] {
    if (!is_subset(descriptor_numbers(), before)) return 1;
    if (maps("/#")) return 2;
    return maps("io_uring") ? 3 : 0;
  });
  CHECK(child.wait() == 0);
}

TEST_CASE("A program that a publisher's process executes has none of its descriptors") {
  const std::string before = descriptors_of_program();
  const TemporaryDirectory directory;
  const ClosingPublisher publisher = open_publisher(options_for(directory));
  CHECK(descriptors_of_program() == before);
}

TEST_CASE("After a close, another publisher can start although a child lives") {
  const TemporaryDirectory directory;
  ClosingPublisher publisher = open_publisher(options_for(directory));
  publish_some(publisher, 10);
  const ChildProcess child([] {
    for (;;) pause();
    return 0;
  });
  CHECK(publisher->close().ok());
  publisher.reset();
  CHECK(open_publisher(options_for(directory))->first() == 11);
  CHECK(kill(child.pid(), 0) == 0);
}

TEST_CASE("After a kill, another publisher can start although a child lives") {
  const TemporaryDirectory directory;
  const Shared<std::atomic<pid_t>> worker;
  int ready[2];
  REQUIRE(pipe2(ready, O_CLOEXEC) == 0);
  ChildProcess killed([&] {
    auto publisher = open_with_seams(options_for(directory));
    if (!publisher.ok() || *publisher->publish(record_of(1)) != 1) return 1;
    const pid_t forked = fork();
    if (forked < 0) return 2;
    while (forked == 0) pause();
    worker->store(forked);
    if (write(ready[1], "x", 1) != 1) return 3;
    for (;;) pause();
  });
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  killed.send(SIGKILL);
  CHECK(killed.wait() == -SIGKILL);
  CHECK(open_publisher(options_for(directory))->first() == 2);
  CHECK(kill(worker->load(), 0) == 0);
  kill(worker->load(), SIGKILL);
  close(ready[0]);
  close(ready[1]);
}

TEST_CASE("Children forked while another thread publishes get forked, and the thread continues") {
  const TemporaryDirectory directory;
  const ClosingPublisher publisher = open_publisher(options_for(directory));
  std::atomic<bool> stop = false;
  std::atomic<Sequence> published = 0;
  std::atomic<bool> in_order = true;
  std::thread publishing([&] {
    while (!stop) {
      if (*publisher->publish(record_of(published + 1)) != published + 1) in_order = false;
      ++published;
    }
  });
  for (int forks = 0; forks < 30; ++forks) {
    const Sequence seen = published;
    while (published == seen) std::this_thread::yield();
    ChildProcess child([&] {
      if (publisher->publish(record_of(1)).ok()) return 1;
      return is_forked(publisher->last_error()) && is_forked(publisher->close()) ? 0 : 2;
    });
    CHECK(child.wait() == 0);
  }
  stop = true;
  publishing.join();
  CHECK(in_order);
  CHECK(publisher->flush(std::chrono::seconds(60)).ok());
  CHECK(publisher->head() == published);
}

TEST_CASE("An exiting child does not wait for a session that its parent closes") {
  while (sessions_closing() != 0) wait_readable(-1, 1'000'000);  // from other tests
  std::atomic<bool> stay = true;
  run_closing([&] {
    while (stay) wait_readable(-1, 1'000'000);
  });
  CHECK(sessions_closing() == 1);
  ChildProcess child([] { return static_cast<int>(sessions_closing()); });
  CHECK(child.wait() == 0);
  stay = false;
  while (sessions_closing() != 0) wait_readable(-1, 1'000'000);
}

#ifndef __SANITIZE_THREAD__  // it would end a child that has threads
TEST_CASE("A child can publish on a bus that it opens, even in place of its parent's publisher") {
  const TemporaryDirectory parents;
  const TemporaryDirectory childs;
  ClosingPublisher publisher = open_publisher(options_for(parents));
  publish_some(publisher, 10);
  ChildProcess child([&] {
    if (errc_of(open_with_seams([&] {
                  PublisherSetUp taken = options_for(parents);
                  taken.take_over_ns = 0;
                  return taken;
                }())
                    .status()) != Errc::kInUse) {
      return 1;
    }
    auto own = open_with_seams(options_for(childs));
    if (!own.ok()) return 2;
    *publisher = *std::move(own);
    if (*publisher->publish(record_of(1)) != 1) return 3;
    if (!publisher->flush(std::chrono::seconds(60)).ok()) return 4;
    return publisher->close().ok() ? 0 : 5;
  });
  CHECK(child.wait() == 0);
  publish_some(publisher, 10);
  CHECK(publisher->close().ok());
}
#endif

}  // namespace
}  // namespace lapwing
