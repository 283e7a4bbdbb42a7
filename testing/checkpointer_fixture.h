// For tests: a checkpointer on a bus that the test controls, and its checkpoints. Test code only;
// one thread.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "os/kernel.h"
#include "os/posix_io.h"
#include "snapshot/checkpoint/checkpoint_directory.h"
#include "snapshot/fold/entry_digest.h"
#include "subscribers/checkpointer/checkpointer_set_up.h"
#include "testing/bus_fixture.h"
#include "testing/tally_fold.h"

namespace lapwing {

inline constexpr std::uint64_t kMs = 1'000'000;
inline constexpr std::uint64_t kHangNs = 60'000 * kMs;

inline CheckpointerSetUp options_for(const TestBus& bus) {
  CheckpointerSetUp options;
  options.subscriber = bus.options();
  options.subscriber.reattach = std::chrono::nanoseconds(kHangNs);
  options.commit_interval = {};
  options.every = {};
  options.own_fold = std::make_shared<TallyFold>();
  return options;
}

inline Checkpointer open_checkpointer(const CheckpointerSetUp& options) {
  auto opened = start_checkpointer(options);
  INFO(opened.status().ToString());
  REQUIRE(opened.ok());
  return *std::move(opened);
}

// A checkpointer that follows a test's bus. Both run in turns.
struct Following {
  Following(TestBus& of, const CheckpointerSetUp& options)
      : bus(of), checkpointer(open_checkpointer(options)) {}

  template <typename Condition>
  bool until(const Condition& condition) {
    const std::uint64_t deadline_ns = monotonic_ns() + kHangNs;
    while (monotonic_ns() < deadline_ns) {
      if (condition()) return true;
      turn();
    }
    return false;
  }
  bool until_folded(Sequence n) {
    return until([&] { return checkpointer->folded_through() >= n; });
  }
  bool until_closed() {
    return until([&] { return checkpointer->is_closed(); });
  }
  // Runs long enough for all pending work.
  void until_quiet() {
    for (int i = 0; i < 50; ++i) turn();
  }
  void turn() {
    bus.turn();
    const absl::Status run = checkpointer->run(std::chrono::milliseconds(1));
    INFO(run.ToString());
    REQUIRE(run.ok());
  }
  std::uint64_t digest() const { return checkpointer->digest().value(); }

  TestBus& bus;
  std::optional<Checkpointer> checkpointer;
};

inline Reference reference_of(const TestBus& bus) {
  return Reference([&bus](Sequence n) { return bus.journal.record(n); });
}

inline std::string tally_directory(const TestBus& bus) {
  return checkpoint_directory(bus.directory(), "tally");
}

inline std::vector<CheckpointFile> files_of(const TestBus& bus) {
  PosixDisk disk;
  auto files = list_checkpoints(disk, tally_directory(bus));
  REQUIRE(files.ok());
  return *std::move(files);
}

inline std::vector<Sequence> checkpoints_of(const TestBus& bus) {
  std::vector<Sequence> sequences;
  for (const CheckpointFile& file : files_of(bus)) sequences.push_back(file.as_of);
  return sequences;
}

inline std::uint64_t digest_of(const CheckpointFile& file) {
  PosixDisk disk;
  const auto checkpoint = LoadedCheckpoint::load(disk, file.path);
  INFO(checkpoint.status().ToString());
  REQUIRE(checkpoint.ok());
  CHECK(checkpoint->header().sequence == file.as_of);
  return digest_entries(checkpoint->entries());
}

// A closed bus with the given number of records.
struct ClosedBus : TestBus {
  explicit ClosedBus(std::uint64_t records) {
    start();
    publish(records);
    close();
  }
};

}  // namespace lapwing
