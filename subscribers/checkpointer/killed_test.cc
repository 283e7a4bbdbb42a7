// A checkpointer that is killed: before, within and after each of its steps, at each operation on
// its checkpoints' disk, and at any moment. A child follows a bus that was closed, and the next
// child continues where it was killed. Each compares its state with the one that the fold computes
// in memory from the same records. If a record is folded twice or left out, the state differs.
#include <catch2/catch.hpp>
#include <filesystem>
#include <random>

#include "lapwing/error.h"
#include "os/posix_io.h"
#include "snapshot/checkpoint/checkpoint_directory.h"
#include "snapshot/fold/entry_digest.h"
#include "subscribers/checkpointer/checkpointer_set_up.h"
#include "testing/bus_fixture.h"
#include "testing/child_process.h"
#include "testing/environment.h"
#include "testing/tally_fold.h"

namespace lapwing {
namespace {

constexpr Sequence kRecords = 20'000;
constexpr std::uint64_t kHangNs = 60'000'000'000;

struct KillPoint {
  std::string step;       // a named step, or an operation on the disk …
  std::uint64_t nth = 0;  // … when it is reached for the n-th time; 0: none
  bool after = false;     // after the operation
};

[[noreturn]] void end_here() {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

class Countdown {
 public:
  explicit Countdown(KillPoint point) : point_(std::move(point)) {}
  bool is_here(const char* name) {
    return point_.nth != 0 && point_.step == name && ++passed_ == point_.nth;
  }
  template <typename Operation>
  auto run(const char* name, Operation operation) {
    const bool here = is_here(name);
    if (here && !point_.after) end_here();
    auto result = operation();
    if (here) end_here();
    return result;
  }

 private:
  const KillPoint point_;
  std::uint64_t passed_ = 0;
};

class KillingDisk final : public PosixDisk {
 public:
  explicit KillingDisk(Countdown& countdown) : countdown_(countdown) {}
  absl::StatusOr<FileHandle> open(const std::string& path, const OpenOptions& options) override {
    if (options.mode != OpenMode::kCreate) return PosixDisk::open(path, options);
    return countdown_.run("create", [&] { return PosixDisk::open(path, options); });
  }
  absl::Status write_at(FileHandle file, std::uint64_t offset,
                        std::span<const std::byte> bytes) override {
    return countdown_.run("write", [&] { return PosixDisk::write_at(file, offset, bytes); });
  }
  absl::Status sync(FileHandle file) override {
    return countdown_.run("sync", [&] { return PosixDisk::sync(file); });
  }
  absl::Status rename(const std::string& from, const std::string& to) override {
    return countdown_.run("rename", [&] { return PosixDisk::rename(from, to); });
  }
  absl::Status remove(const std::string& path) override {
    return countdown_.run("remove", [&] { return PosixDisk::remove(path); });
  }
  absl::Status sync_directory(const std::string& path) override {
    return countdown_.run("sync-directory", [&] { return PosixDisk::sync_directory(path); });
  }

 private:
  Countdown& countdown_;
};

// A bus that was closed, and the state as of each record that settles.
class History {
 public:
  History() {
    bus.start();
    bus.publish(kRecords);
    bus.close();
    Reference reference([this](Sequence n) { return bus.journal.record(n); });
    for (Sequence n = 1; n <= kRecords; ++n) {
      reference.fold_through(n);
      digests_.push_back(reference.settled() == n ? reference.settled_digest() : 0);
    }
    last_ = reference.settled();
  }
  bool is_right(Sequence n, std::uint64_t digest) const {
    return n >= 1 && n <= kRecords && digests_[n - 1] != 0 && digests_[n - 1] == digest;
  }
  Sequence last() const { return last_; }

  TestBus bus;

 private:
  std::vector<std::uint64_t> digests_;
  Sequence last_ = 0;
};

// One run of a checkpointer; returns its exit code.
int live(const History& history, const KillPoint& point, Complaint& complaint) {
  Countdown countdown(point);
  CheckpointerSetUp options;
  options.subscriber = history.bus.options();
  options.own_fold = std::make_shared<TallyFold>();
  options.commit_interval = {};
  options.every = {};
  options.every_records = 400;
  options.keep = 2;
  options.pending_bytes_max = 100 * 56;
  options.make_disk = [&] { return std::make_unique<KillingDisk>(countdown); };
  options.on_step = [&](const char* step) {
    if (countdown.is_here(step)) end_here();
  };
  auto opened = start_checkpointer(options);
  if (!opened.ok()) return complaint.say(opened.status().ToString());
  Checkpointer checkpointer = *std::move(opened);
  if (const auto at = checkpointer.committed()) {
    if (!history.is_right(at->sequence, checkpointer.digest().value())) {
      return complaint.say(absl::StrCat("the store is wrong as of ", at->sequence));
    }
  }
  const Deadline deadline = std::chrono::nanoseconds(kHangNs);
  while (!checkpointer.is_closed()) {
    const absl::Status run = checkpointer.run(deadline);
    if (!run.ok()) return complaint.say(run.ToString());
  }
  const absl::Status finished = checkpointer.finish();
  if (!finished.ok()) return complaint.say(finished.ToString());
  const Sequence end = checkpointer.committed()->sequence;
  if (end != history.last() || !history.is_right(end, checkpointer.digest().value())) {
    return complaint.say(absl::StrCat("the store is wrong at its end, as of ", end));
  }
  return 0;
}

// Checks that every file that is named like a checkpoint is a correct checkpoint.
void check_checkpoints(const History& history) {
  PosixDisk disk;
  const auto files = list_checkpoints(disk, checkpoint_directory(history.bus.directory(), "tally"));
  REQUIRE(files.ok());
  for (const CheckpointFile& file : *files) {
    const auto checkpoint = LoadedCheckpoint::load(disk, file.path);
    INFO(file.path << ": " << checkpoint.status().ToString());
    REQUIRE(checkpoint.ok());
    CHECK(checkpoint->header().sequence == file.as_of);
    CHECK(history.is_right(file.as_of, digest_entries(checkpoint->entries())));
  }
}

// Returns true if it was killed, false if it finished first.
bool one_life(const History& history, const KillPoint& point, int kill_after_us = -1) {
  const Shared<Complaint> complaint;
  ChildProcess child([&] { return live(history, point, *complaint); });
  if (kill_after_us >= 0) {
    wait_readable(-1, static_cast<std::uint64_t>(kill_after_us) * 1000);
    child.send(SIGKILL);
  }
  const int end = child.wait();
  INFO(complaint->text);
  REQUIRE((end == 0 || end == -SIGKILL));
  check_checkpoints(history);
  return end != 0;
}

void begin_again(const History& history) {
  std::filesystem::remove_all(history.bus.directory() + "/checkpoint");
}

}  // namespace

TEST_CASE(
    "A checkpointer killed at any of its steps goes on exactly, and leaves only checkpoints") {
  const History history;
  for (const char* step : {"before-batch", "after-batch", "before-checkpoint", "create", "write",
                           "sync", "rename", "remove", "sync-directory"}) {
    int killed = 0;
    for (const std::uint64_t nth : {1U, 2U, 3U, 7U, 20U}) {
      for (const bool after : {false, true}) {
        INFO(step << " for the " << nth << "th time, after: " << after);
        killed += one_life(history, {step, nth, after}) ? 1 : 0;
        killed += one_life(history, {step, nth, after}) ? 1 : 0;
        CHECK_FALSE(one_life(history, {}));
        begin_again(history);
      }
    }
    INFO(step);
    CHECK(killed >= 6);
  }
}

TEST_CASE("A checkpointer killed at any moment goes on exactly, and leaves only checkpoints") {
  const History history;
  const std::uint64_t kills = count_from("LAPWING_KILLS", 25);
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  std::uint64_t killed = 0;
  std::uint64_t ended = 0;
  while (killed < kills) {
    if (one_life(history, {}, static_cast<int>(random() % 60'000))) {
      ++killed;
    } else {
      ++ended;
      begin_again(history);
    }
    REQUIRE(ended < 50 * kills);
  }
  CHECK_FALSE(one_life(history, {}));
}

}  // namespace lapwing
