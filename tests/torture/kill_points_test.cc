// A publisher is killed at every possible point: at each step of a start and of an end, at each
// write, sync, allocation and rename in its journal, and between two stores of a publish.
//
// A child publishes records whose content is their sequence, and records in shared memory what it
// has published. It kills itself with SIGKILL at the chosen point. Then an undisturbed publisher
// starts on the remaining files, and a subscriber reads everything: sequences from 1 on without
// gaps, each with its own content, including all records that the child had published.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lapwing/detail/atomic_word.h"
#include "lapwing/subscriber.h"
#include "os/posix_io.h"
#include "os/uring_write_queue.h"
#include "proto/journal_format.h"
#include "proto/ring_layout.h"
#include "proto/slot_stamp.h"
#include "publisher/publisher_set_up.h"
#include "snapshot/bus_directory.h"
#include "testing/came.h"
#include "testing/closing_publisher.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

using Record = std::array<std::uint64_t, 7>;

constexpr std::uint64_t kCapacity = 1024;
constexpr std::uint64_t kSegmentBytes = kSegmentSlotBytesMin;  // 1,024 slots: many changes
constexpr Sequence kRecords = 6000;
constexpr Sequence kRecordsAfter = 300;
constexpr std::size_t kBatch = 37;  // divides neither the block nor the ring
constexpr std::chrono::seconds kHang{60};

Record record_of(Sequence n) {
  Record record{};
  for (std::size_t i = 0; i < record.size(); ++i) record[i] = n * 1000 + i;
  return record;
}

// The point where the child kills itself.
struct KillPoint {
  std::string step;             // before this step of a start or an end
  std::uint64_t operation = 0;  // or at the n-th operation on the disk
  bool after = false;           // after the operation has been performed
  int writes_done = -1;         // or after this many block writes have reached the disk; -1: all
  Sequence publish = 0;         // or while publishing this sequence …
  int stores = 0;               // … after this many of its stores
};

struct Notes {
  std::uint64_t published;   // by the child
  std::uint64_t operations;  // counted operations on the disk
};

[[noreturn]] void end_here() {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

// Counts operations of disk and queue, and ends the process at the chosen one.
class Countdown {
 public:
  Countdown(const KillPoint& point, Notes& notes) : point_(point), notes_(notes) {}

  template <typename Operation>
  auto run(Operation operation) {
    const bool here = ++notes_.operations == point_.operation;
    if (here && !point_.after) end_here();
    auto result = operation();
    if (here) end_here();
    return result;
  }

 private:
  const KillPoint& point_;
  Notes& notes_;
};

class KillingDisk final : public PosixDisk {
 public:
  explicit KillingDisk(std::shared_ptr<Countdown> countdown) : countdown_(std::move(countdown)) {}

  absl::StatusOr<FileHandle> open(const std::string& path, const OpenOptions& options) override {
    if (options.mode != OpenMode::kCreate) return PosixDisk::open(path, options);
    return countdown_->run([&] { return PosixDisk::open(path, options); });
  }
  absl::Status write_at(FileHandle file, std::uint64_t offset,
                        std::span<const std::byte> bytes) override {
    return countdown_->run([&] { return PosixDisk::write_at(file, offset, bytes); });
  }
  absl::Status allocate(FileHandle file, std::uint64_t bytes) override {
    return countdown_->run([&] { return PosixDisk::allocate(file, bytes); });
  }
  absl::Status sync(FileHandle file) override {
    return countdown_->run([&] { return PosixDisk::sync(file); });
  }
  absl::Status rename(const std::string& from, const std::string& to) override {
    return countdown_->run([&] { return PosixDisk::rename(from, to); });
  }
  absl::Status remove(const std::string& path) override {
    return countdown_->run([&] { return PosixDisk::remove(path); });
  }
  absl::Status sync_directory(const std::string& path) override {
    return countdown_->run([&] { return PosixDisk::sync_directory(path); });
  }

 private:
  std::shared_ptr<Countdown> countdown_;
};

// The real queue, counting each request. After the chosen number of writes it accepts more but
// never performs them.
class KillingQueue final : public WriteQueue {
 public:
  KillingQueue(std::shared_ptr<Countdown> countdown, int writes_done)
      : countdown_(std::move(countdown)), writes_left_(writes_done), real_(make_write_queue()) {}

  std::string description() const override { return real_->description(); }
  void register_memory(std::span<const std::byte> memory) override {
    real_->register_memory(memory);
  }
  bool submit(const WriteRequest& request) override {
    return countdown_->run([&] {
      // The write of a segment's header, at offset 0, is part of its preparation, for which a start
      // waits.
      const bool block =
          request.kind == WriteRequest::Kind::kWrite && request.offset >= kSegmentHeaderBytes;
      if (block && writes_left_ == 0) {
        ++held_back_;
        return true;
      }
      const bool taken = real_->submit(request);
      if (taken && block && writes_left_ > 0) --writes_left_;
      return taken;
    });
  }
  std::size_t reap(std::span<WriteCompletion> out, std::uint64_t wait_ns) override {
    return real_->reap(out, wait_ns);
  }
  std::size_t in_flight() const override { return real_->in_flight() + held_back_; }

 private:
  std::shared_ptr<Countdown> countdown_;
  int writes_left_;
  std::size_t held_back_ = 0;
  std::unique_ptr<WriteQueue> real_;
};

PublisherSetUp options_for(const std::string& directory) {
  PublisherSetUp options;
  options.directory = directory;
  options.record_bytes = sizeof(Record);
  options.capacity = kCapacity;
  options.segment_bytes = kSegmentBytes;
  options.sync_interval = std::chrono::milliseconds(1);
  return options;
}

// The stores for record n by a killed publisher: 1 the writing stamp, 2 also half of the words, 3
// all words, 4 also the ready stamp, but not head.
void leave_half_written(const std::string& ring_path, Sequence n, int stores) {
  // Only root could open it for writing without this.
  if (chmod(ring_path.c_str(), 0600) != 0) _exit(3);
  const int fd = open(ring_path.c_str(), O_RDWR | O_CLOEXEC);
  if (chmod(ring_path.c_str(), 0400) != 0) _exit(3);
  const std::size_t bytes = kRingHeaderBytes + kCapacity * slot_bytes_for(sizeof(Record));
  void* const map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd < 0 || map == MAP_FAILED) _exit(3);
  auto* const slot = static_cast<std::byte*>(map) + kRingHeaderBytes +
                     ((n - 1) & (kCapacity - 1)) * slot_bytes_for(sizeof(Record));
  const Record record = record_of(n);
  const Word writing = writing_stamp(n);
  const Word ready = ready_stamp(n);
  std::memcpy(slot, &writing, sizeof writing);
  if (stores >= 2) std::memcpy(slot + kStampBytes, record.data(), sizeof record / 2);
  if (stores >= 3) std::memcpy(slot + kStampBytes, record.data(), sizeof record);
  if (stores >= 4) std::memcpy(slot, &ready, sizeof ready);
}

[[noreturn]] void live_as_child(const std::string& directory, const KillPoint& point,
                                Notes& notes) {
  auto countdown = std::make_shared<Countdown>(point, notes);
  PublisherSetUp options = options_for(directory);
  options.make_disk = [&] { return std::make_unique<KillingDisk>(countdown); };
  options.make_queue = [&] { return std::make_unique<KillingQueue>(countdown, point.writes_done); };
  options.on_step = [&](const char* step) {
    if (point.step == step) end_here();
  };
  auto publisher = closing(open_with_seams(options));
  if (!publisher.ok()) _exit(2);
  std::vector<Record> batch(kBatch);
  while ((*publisher)->head() < kRecords) {
    const Sequence next = (*publisher)->head() + 1;
    if (point.publish != 0 && next >= point.publish) {
      const auto bus = read_bus_description(directory);
      if (!bus.ok()) _exit(4);
      leave_half_written(bus->ring_path, next, point.stores);
      if (point.stores == 4) notes.published = next;  // its stamp allows a reader to take it
      end_here();
    }
    for (std::size_t i = 0; i < kBatch; ++i) batch[i] = record_of(next + i);
    if (!(*publisher)->publish_batch(std::as_bytes(std::span(batch))).ok()) _exit(5);
    notes.published = (*publisher)->head();
  }
  if (!(*publisher)->close().ok()) _exit(6);
  _exit(0);
}

// The end of a child with a kill point, and its notes.
struct Life {
  bool killed = false;
  int exit_code = 0;
  Notes notes{};
};

Life run_child(const std::string& directory, const KillPoint& point) {
  auto* const notes = static_cast<Notes*>(
      mmap(nullptr, sizeof(Notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  REQUIRE(notes != MAP_FAILED);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) live_as_child(directory, point, *notes);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  const Life life{WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
                  WIFEXITED(status) ? WEXITSTATUS(status) : -1, *notes};
  munmap(notes, sizeof(Notes));
  return life;
}

// Continues after the child, and closes. Returns the last sequence.
Sequence publish_after(const std::string& directory) {
  auto publisher = closing(open_with_seams(options_for(directory)));
  INFO(publisher.status().ToString());
  REQUIRE(publisher.ok());
  CHECK_FALSE((*publisher)->last_session().void_first != kNoSequence);
  for (Sequence i = 0; i < kRecordsAfter; ++i) {
    const Record record = record_of((*publisher)->head() + 1);
    REQUIRE((*publisher)->publish(std::as_bytes(std::span(record))).ok());
  }
  REQUIRE((*publisher)->close().ok());
  return (*publisher)->head();
}

// Reads everything and compares it with the content of each sequence. Returns the last sequence.
Sequence read_everything(const std::string& directory) {
  SubscriberOptions options;
  options.directory = directory;
  options.start = Start::oldest();
  options.reattach = std::chrono::nanoseconds(0);
  auto subscriber = Subscriber::open(std::move(options));
  REQUIRE(subscriber.ok());
  Sequence expected = 1;
  const Deadline deadline = kHang;
  for (;;) {
    const Result<Item> item = subscriber->next(deadline);
    if (came(item) == ItemKind::kRecord) {
      REQUIRE(item->sequence == expected);
      const Record record = record_of(expected);
      REQUIRE(std::memcmp(item->record.data(), record.data(), sizeof record) == 0);
      ++expected;
    } else if (came(item) == EventKind::kClosed) {
      CHECK(subscriber->counters().lost == 0);
      return expected - 1;
    } else {
      INFO(came(item) << ": " << subscriber->status());
      REQUIRE((came(item) == EventKind::kSession || came(item) == EventKind::kCaughtUp));
    }
  }
}

// One life, one death, one continuation. Returns true if the child was killed before it was done.
bool survives(const KillPoint& point) {
  const TemporaryDirectory directory;
  const std::string bus = directory.file("bus");
  const Life life = run_child(bus, point);
  INFO("exit code " << life.exit_code << ", published " << life.notes.published);
  REQUIRE((life.killed || life.exit_code == 0));
  const Sequence last = publish_after(bus);
  CHECK(last >= life.notes.published + kRecordsAfter);
  CHECK(read_everything(bus) == last);
  return life.killed;
}

std::uint64_t operations_of_a_whole_life() {
  const TemporaryDirectory directory;
  const Life life = run_child(directory.file("bus"), KillPoint{});
  REQUIRE(life.exit_code == 0);
  return life.notes.operations;
}

}  // namespace

TEST_CASE("A publisher killed before any step of a start or an end loses nothing") {
  for (const char* step : {"prepare-directory", "take-lock", "settle", "make-ring", "begin-session",
                           "start-archiver", "announce", "remove-old-rings", "open-socket",
                           "close-journal", "close-ring", "close-socket", "unlink-ring"}) {
    INFO("before " << step);
    KillPoint point;
    point.step = step;
    CHECK(survives(point));
  }
}

TEST_CASE("A publisher killed at any operation on its journal loses nothing") {
  const std::uint64_t operations = operations_of_a_whole_life();
  REQUIRE(operations > 100);
  // Every operation of the start, then a sample of archiving, syncing and segment changes.
  std::set<std::uint64_t> chosen;
  for (std::uint64_t i = 1; i <= 40; ++i) chosen.insert(i);
  for (std::uint64_t i = 1; i <= 40; ++i) chosen.insert(operations * i / 41);
  std::size_t killed = 0;
  for (const std::uint64_t operation : chosen) {
    INFO("operation " << operation << " of about " << operations);
    KillPoint point;
    point.operation = operation;
    point.after = operation % 2 == 0;
    killed += survives(point) ? 1U : 0U;
  }
  CHECK(killed > chosen.size() / 2);
}

TEST_CASE("A publisher killed while its disk holds writes back loses nothing") {
  // Within one ring of `archived`, because beyond that the publisher waits for its disk.
  for (const int writes_done : {0, 1, 3, 10}) {
    for (const Sequence n :
         {Sequence{1}, Sequence{64}, Sequence{65}, Sequence{400}, Sequence{900}}) {
      INFO("killed at about record " << n << ", held back after " << writes_done << " writes");
      KillPoint point;
      point.writes_done = writes_done;
      point.publish = n;
      point.stores = 2;
      CHECK(survives(point));
    }
  }
}

TEST_CASE("A record that is half written when its publisher is killed is never delivered") {
  for (int stores = 1; stores <= 4; ++stores) {
    for (const Sequence n : {Sequence{1}, Sequence{500}, kCapacity + 5, 3 * kCapacity}) {
      INFO(stores << " stores of about record " << n);
      KillPoint point;
      point.publish = n;
      point.stores = stores;
      CHECK(survives(point));
    }
  }
}

TEST_CASE("A start that is killed again and again at its own steps still goes on") {
  const TemporaryDirectory directory;
  const std::string bus = directory.file("bus");
  KillPoint busy;
  busy.publish = 2000;
  busy.stores = 2;
  REQUIRE(run_child(bus, busy).killed);
  Sequence published = 2000 / kBatch * kBatch;
  for (std::uint64_t operation = 1; operation <= 30; ++operation) {
    KillPoint point;
    point.operation = operation;
    const Life life = run_child(bus, point);
    REQUIRE(life.killed);
    published = std::max(published, life.notes.published);
  }
  const Sequence last = publish_after(bus);
  CHECK(last >= published + kRecordsAfter);
  CHECK(read_everything(bus) == last);
}

}  // namespace lapwing
