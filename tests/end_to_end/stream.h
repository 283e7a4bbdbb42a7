// Shared by the end-to-end tests: a stream whose records contain their own sequence, a publisher in
// its own process that can be killed, and a reader that verifies what it receives. Not thread-safe.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lapwing/subscriber.h"
#include "publisher/publisher_set_up.h"
#include "testing/came.h"
#include "testing/closing_publisher.h"

namespace lapwing {

inline constexpr std::uint64_t kRingSlots = 1024;  // the minimum for these records

// Only ends a hang.
inline Deadline far_deadline() {
  return std::chrono::minutes(2);
}

// Record n: each word depends on n and on its index.
using StreamRecord = std::array<std::uint64_t, 7>;
inline StreamRecord stream_record(Sequence n) {
  StreamRecord record;
  for (std::size_t i = 0; i < record.size(); ++i) record[i] = n * 0x9e3779b97f4a7c15 + i;
  return record;
}

inline PublisherSetUp stream_options(const std::string& directory) {
  PublisherSetUp options;
  options.directory = directory;
  options.record_bytes = sizeof(StreamRecord);
  options.capacity = kRingSlots;
  options.segment_bytes = 256 * 1024;  // 4,096 records: segments change during reads
  return options;
}

inline ClosingPublisher open_publisher(PublisherSetUp options) {
  auto publisher = closing(open_with_seams(std::move(options)));
  if (!publisher.ok()) UNSCOPED_INFO(publisher.status());
  REQUIRE(publisher.ok());
  return *std::move(publisher);
}

inline void publish_stream(Publisher& publisher, std::uint64_t count) {
  for (; count > 0; --count) {
    const StreamRecord record = stream_record(publisher.head() + 1);
    if (!publisher.publish(std::as_bytes(std::span(record))).ok()) std::abort();
  }
}

// True if this process has library threads. A sanitizer has threads of its own.
inline bool has_threads_of_the_library() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name.starts_with("lapwing-")) return true;
  }
  return false;
}

// A publisher in a child process, which ends only by a signal. Fork it before starting threads.
// Threads of a publisher that was just closed may still be ending.
class PublisherProcess {
 public:
  // `run` publishes and calls ready() when the parent may continue. It need not return.
  using Run = std::function<void(const std::function<void()>& ready)>;
  explicit PublisherProcess(const Run& run) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const Deadline deadline = far_deadline();
    while (has_threads_of_the_library()) {
      REQUIRE_FALSE(deadline.has_passed());
      std::this_thread::yield();
    }
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      ::close(ends[0]);
      run([&] {
        const char byte = 1;
        if (::write(ends[1], &byte, 1) != 1) _exit(1);
      });
      for (;;) pause();
    }
    ::close(ends[1]);
    char byte = 0;
    REQUIRE(::read(ends[0], &byte, 1) == 1);
    ::close(ends[0]);
  }
  PublisherProcess(const PublisherProcess&) = delete;
  PublisherProcess& operator=(const PublisherProcess&) = delete;
  ~PublisherProcess() { kill(); }

  void signal(int number) const { REQUIRE(::kill(pid_, number) == 0); }
  void kill() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
};

// Reads everything from a subscriber and verifies that its records, plus the ranges that it reports
// as lost or skipped, are 1, 2, 3 … without gaps or duplicates. Reports errors in `defect` instead
// of asserting, because assertions are only allowed in the test's own thread.
class Proof {
 public:
  explicit Proof(SubscriberOptions options)
      : subscriber(Subscriber::open(std::move(options)).value()) {}

  // Waits until the deadline for the next record or event, and checks it.
  Came next(Deadline deadline) {
    const Result<Item> item = subscriber.next(deadline);
    if (came(item) == ItemKind::kRecord) {
      StreamRecord record;
      std::memcpy(record.data(), item->record.data(), sizeof record);
      check_record(item->sequence, record);
    }
    if (item->event != nullptr) check(*item->event);
    return came(item);
  }
  // The same for one record, in separate memory. An event stays due until next().
  Came take_next(Deadline deadline) {
    StreamRecord record;
    const Result<Sequence> sequence = subscriber.read_one(record, deadline);
    if (!sequence.ok()) return next(Deadline::now());
    check_record(*sequence, record);
    return ItemKind::kRecord;
  }
  // The same for up to `count_max` available records, or an event. Does not wait.
  Came next_batch(std::size_t count_max) {
    rows_.resize(count_max);
    const Result<Batch> batch =
        subscriber.read(std::as_writable_bytes(std::span(rows_)), Deadline::now());
    if (batch->event) check(*batch->event);
    if (came(batch) != ItemKind::kRecord) return came(batch);
    for (std::size_t i = 0; i < batch->count; ++i) check_record(batch->first + i, rows_[i]);
    if (subscriber.counters().last != last) fail("a batch ends elsewhere", last);
    return ItemKind::kRecord;
  }
  // Waits for an item of this kind. Returns false if the subscriber ended first, or the deadline
  // passed.
  bool until(Came kind, Deadline deadline = far_deadline()) {
    for (;;) {
      const Came item = next(deadline);
      if (item == kind) return true;
      if (item == Came::kEnd || item == Came::kNothing) return false;
      if (!defect.empty()) return false;
    }
  }
  bool until_sequence(Sequence n) {
    while (last < n && defect.empty()) {
      const Came item = next(far_deadline());
      if (item == Came::kEnd || item == Came::kNothing) return false;
    }
    return last >= n;
  }

  Subscriber subscriber;
  Sequence last = 0;  // all records up to here were delivered, or reported as skipped or lost
  std::uint64_t records = 0;
  std::uint64_t skipped = 0;   // records of reported gaps (policy skip) and losses
  std::uint64_t gone = 0;      // publisher-gone events
  std::uint64_t sessions = 0;  // including the first
  bool skips_gaps = false;     // policy skip: a gap is skipped when it is reported
  std::string defect;
  std::string text;  // of the last event

 private:
  void check(const Event& event) {
    text = event.text;
    switch (event.kind) {
      case EventKind::kGap:
        if (event.gap.first != last + 1 || event.gap.last < event.gap.first) {
          fail("a gap does not begin where it should", event.gap.first);
        }
        if (skips_gaps) skip(event.gap);
        return;
      case EventKind::kLost:
        return skip(event.gap);
      case EventKind::kPublisherGone:
        ++gone;
        return;
      case EventKind::kSession:
        if (event.is_first_session != (sessions == 0)) {
          fail("a session is not told to be the first, or another one is", event.sequence);
        }
        if (event.record_bytes != sizeof(StreamRecord)) fail("another size", event.sequence);
        ++sessions;
        return;
      default:
        return;
    }
  }
  void check_record(Sequence n, const StreamRecord& record) {
    if (n != last + 1) fail("a record is out of its place", n);
    if (record != stream_record(n)) fail("a record is not what was published", n);
    last = n;
    ++records;
  }
  void skip(const Gap& gap) {
    if (gap.first != last + 1) fail("a range is out of its place", gap.first);
    skipped += gap.count();
    last = gap.last;
  }
  void fail(const std::string& what, Sequence n) {
    if (defect.empty()) defect = what + ": sequence " + std::to_string(n);
  }

  std::vector<StreamRecord> rows_;
};

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

// The number of random repetitions: LAPWING_JOINS, or `otherwise`.
inline std::uint64_t joins(std::uint64_t otherwise) {
  const char* const wanted = std::getenv("LAPWING_JOINS");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : otherwise;
}

}  // namespace lapwing
