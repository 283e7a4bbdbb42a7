// What the end-to-end tests share: a stream whose records say their own sequence, a publisher in a
// process of its own that can be killed, and a reader that proves what it was given. Not
// thread-safe.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lapwing/publisher.h"
#include "lapwing/subscriber.h"
#include "os/kernel.h"

namespace lapwing {

inline constexpr std::uint64_t kRingSlots = 1024;  // the smallest for these records

// Ends a hang; nothing is measured by it.
inline std::uint64_t far_deadline() {
  return monotonic_ns() + 120'000 * kNsPerMs;
}

// Record n: each of its words depends on n and on its place.
using StreamRecord = std::array<std::uint64_t, 7>;
inline StreamRecord stream_record(Sequence n) {
  StreamRecord record;
  for (std::size_t i = 0; i < record.size(); ++i) record[i] = n * 0x9e3779b97f4a7c15 + i;
  return record;
}

inline PublisherOptions stream_options(const std::string& directory) {
  PublisherOptions options;
  options.directory = directory;
  options.record_bytes = sizeof(StreamRecord);
  options.capacity = kRingSlots;
  options.segment_bytes = 256 * 1024;  // 4,096 records: segments change while subscribers read
  return options;
}

inline std::unique_ptr<Publisher> open_publisher(PublisherOptions options) {
  auto publisher = Publisher::open(std::move(options));
  if (!publisher.ok()) UNSCOPED_INFO(publisher.status());
  REQUIRE(publisher.ok());
  return *std::move(publisher);
}

inline void publish_stream(Publisher& publisher, std::uint64_t count) {
  for (; count > 0; --count) {
    const StreamRecord record = stream_record(publisher.head() + 1);
    if (publisher.publish(std::as_bytes(std::span(record))) == kNoSequence) std::abort();
  }
}

// A publisher in a child process, which ends only by a signal. Fork it before any thread is
// started.
class PublisherProcess {
 public:
  // `run` publishes and calls ready() once the parent may go on; it need not return.
  using Run = std::function<void(const std::function<void()>& ready)>;
  explicit PublisherProcess(const Run& run) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
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

// Takes everything a subscriber gives and proves that the records and the ranges it reports as lost
// or skipped are 1, 2, 3 … without a hole and without a repetition. Fails in the calling thread's
// stead by a sentence in `defect`, because assertions belong to the test's own thread.
class Proof {
 public:
  explicit Proof(SubscriberOptions options) : subscriber(std::move(options)) {}

  // Waits for the next record or event until deadline_ns and checks it; kNothing at the deadline.
  Item next(std::uint64_t deadline_ns) {
    const Item item = subscriber.wait(deadline_ns);
    check(item);
    return item;
  }
  // Takes a batch of up to `count_max` records, if any are there.
  std::size_t next_batch(std::size_t count_max) {
    batch_.resize(count_max);
    const std::size_t count = subscriber.poll_batch(std::as_writable_bytes(std::span(batch_)));
    for (std::size_t i = 0; i < count; ++i) check_record(last + 1, batch_[i]);
    if (count > 0 && subscriber.counters().last != last) fail("a batch ends elsewhere", last);
    return count;
  }
  // Waits for an item of this kind; false if the subscriber ended before, or the deadline passed.
  bool until(ItemKind kind, std::uint64_t deadline_ns = far_deadline()) {
    for (;;) {
      const Item item = next(deadline_ns);
      if (item.kind == kind) return true;
      if (item.kind == ItemKind::kEnded || item.kind == ItemKind::kNothing) return false;
      if (!defect.empty()) return false;
    }
  }
  bool until_sequence(Sequence n) {
    while (last < n && defect.empty()) {
      const Item item = next(far_deadline());
      if (item.kind == ItemKind::kEnded || item.kind == ItemKind::kNothing) return false;
    }
    return last >= n;
  }

  Subscriber subscriber;
  Sequence last = 0;  // everything up to here was delivered, or reported as skipped or lost
  std::uint64_t records = 0;
  std::uint64_t skipped = 0;  // records of reported gaps (policy skip) and losses
  std::uint64_t gone = 0;     // publisher-gone events
  std::uint64_t sessions = 0;
  bool skips_gaps = false;  // policy skip: a gap is skipped when it is reported
  std::string defect;

 private:
  void check(const Item& item) {
    switch (item.kind) {
      case ItemKind::kRecord: {
        StreamRecord record;
        std::memcpy(record.data(), subscriber.record().data(), sizeof record);
        return check_record(item.sequence, record);
      }
      case ItemKind::kGap:
        if (item.gap.first != last + 1 || item.gap.last < item.gap.first) {
          fail("a gap does not begin where it should", item.gap.first);
        }
        if (skips_gaps) skip(item.gap);
        return;
      case ItemKind::kLost:
        return skip(item.gap);
      case ItemKind::kPublisherGone:
        ++gone;
        return;
      case ItemKind::kSession:
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

  std::vector<StreamRecord> batch_;
};

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

// How often a test repeats what it does at random: LAPWING_JOINS, or this many times.
inline std::uint64_t joins(std::uint64_t otherwise) {
  const char* const wanted = std::getenv("LAPWING_JOINS");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : otherwise;
}

}  // namespace lapwing
