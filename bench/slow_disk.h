// A disk for a journal that is slower than the real one: it has a limited rate in bytes per second
// and additional time per sync. Data is written to the real disk.
//
// The archiver's writes run one after another, as on one device. A sync waits for the writes
// requested before it, and does not delay later ones. The journal's other operations (names,
// reservations) take equally long, but do not use that queue.
//
// Thread safety: as required by WriteQueue and Disk. The clock is called from the same thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "os/io.h"
#include "os/posix_io.h"
#include "publisher/publisher_set_up.h"

namespace lapwing::bench {

struct DiskSpeed {
  double bytes_per_second = 100e6;
  std::uint64_t sync_ns = 50'000'000;  // in addition to the real disk

  std::uint64_t write_ns(std::size_t bytes) const {
    return static_cast<std::uint64_t>(static_cast<double>(bytes) * 1e9 / bytes_per_second);
  }
};

// The disk's clock, which a test can replace.
struct DiskClock {
  std::function<std::uint64_t()> now_ns;
  std::function<void(std::uint64_t)> sleep_ns;

  static DiskClock real();
};

inline constexpr std::size_t kSlowQueueDepth = 128;  // requests in flight

class SlowWriteQueue final : public WriteQueue {
 public:
  SlowWriteQueue(std::unique_ptr<WriteQueue> queue, const DiskSpeed& speed, DiskClock clock);

  std::string description() const override;
  void register_memory(std::span<const std::byte> memory) override;
  bool submit(const WriteRequest& request) override;
  std::size_t reap(std::span<WriteCompletion> out, std::uint64_t wait_ns) override;
  std::size_t in_flight() const override { return requests_.size(); }

 private:
  struct Request {
    WriteCompletion completion;
    bool sync = false;
    bool done = false;           // by the real disk
    std::uint64_t ready_ns = 0;  // end on the slow disk, after the real one
  };

  void take_done(std::uint64_t wait_ns);
  std::size_t give_ready(std::span<WriteCompletion> out);
  std::uint64_t next_ready_ns() const;

  std::unique_ptr<WriteQueue> queue_;
  DiskSpeed speed_;
  DiskClock clock_;
  std::vector<Request> requests_;   // in order of arrival; at most the depth
  std::uint64_t idle_from_ns_ = 0;  // end of all requested writes
};

class SlowDisk final : public PosixDisk {
 public:
  SlowDisk(const DiskSpeed& speed, DiskClock clock) : speed_(speed), clock_(std::move(clock)) {}

  absl::Status write_at(FileHandle file, std::uint64_t offset,
                        std::span<const std::byte> bytes) override;
  absl::Status sync(FileHandle file) override;
  absl::Status sync_directory(const std::string& path) override;

 private:
  DiskSpeed speed_;
  DiskClock clock_;
};

// Makes a publisher use such a disk for its journal. Call it before opening the publisher.
void put_journal_on_slow_disk(PublisherSetUp& options);

}  // namespace lapwing::bench
