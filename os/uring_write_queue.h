// The WriteQueue of a publisher: io_uring, with the ring file's memory registered where that is
// allowed.
//
// The kernel may finish a killed publisher's requests after the process is gone. So the descriptors
// of the publisher's locks are registered with the io_uring: the locks are held until the last
// request ended. A forked child has neither the descriptor nor the mappings.
//
// Workers: a request that would wait, as every sync does, the kernel gives to a thread of its own,
// an io_uring worker (iou-wrk-N). Each thread that submits (thread N) has workers of its own, which
// inherit its nice value and its policy, but not its processors: place_workers says those. Where no
// worker can be started (a limit on processes) the kernel cancels the request, and it is made here,
// by a plain system call.
//
// Thread safety: one thread at a time, any thread.
// Errors: a request's errno comes back in its completion. If the kernel refuses to take requests at
// all, every request that it has not taken completes with that errno.
#pragma once

#include <liburing.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "os/fork.h"
#include "os/io.h"

namespace lapwing {

inline constexpr unsigned kUringDepth = 128;  // requests in flight
// Of a thread that submits, on each NUMA node: for four segments that are prepared at a time, and
// two requests of a sync. The kernel's own limit is four for each processor, 128 at most. Since
// Linux 5.15.
inline constexpr unsigned kUringWorkersMax = 6;

class UringWriteQueue final : public WriteQueue {
 public:
  // `held` are kept open until the last request has ended, even beyond the process.
  // Errors: kUnsupported (ENOSYS), kNotPermitted (a container forbids it, or what follows the
  // set-up), kSystem (ENOMEM: the limit on locked memory).
  static absl::StatusOr<std::unique_ptr<UringWriteQueue>> create(std::span<const int> held);
  ~UringWriteQueue() override;
  UringWriteQueue(const UringWriteQueue&) = delete;
  UringWriteQueue& operator=(const UringWriteQueue&) = delete;

  std::string description() const override;
  void register_memory(std::span<const std::byte> memory) override;
  absl::Status place_workers(const std::vector<unsigned>& cpus) override;
  bool submit(const WriteRequest& request) override;
  std::size_t reap(std::span<WriteCompletion> out, std::uint64_t wait_ns) override;
  std::size_t in_flight() const override { return in_flight_; }
  // How many workers the kernel allows a thread that submits; 0: it does not say.
  unsigned workers_max();

 private:
  UringWriteQueue() = default;
  int init();
  int place_workers_of_this_thread();
  int try_to_enter();
  void prepare_write(io_uring_sqe* entry, const WriteRequest& request);
  int enter(std::uint64_t wait_ns);
  std::size_t take_completions(std::span<WriteCompletion> out);
  std::size_t refuse_unsubmitted(std::span<WriteCompletion> out);

  io_uring ring_{};
  ForkMark made_;
  std::size_t in_flight_ = 0;
  std::span<const std::byte> registered_;
  // Of a request that is under way the kernel knows the place alone.
  std::vector<WriteRequest> requests_;
  std::vector<std::uint64_t> free_places_;
  std::vector<std::uint64_t> unsubmitted_;  // places of what the kernel has not taken yet
  int refused_errno_ = 0;                   // the kernel takes no more requests
  bool workers_bounded_ = false;
  std::vector<unsigned> worker_cpus_;  // empty: not placed
  // The kernel's number of the thread whose workers are placed. A std::thread::id may be that of a
  // thread that has ended.
  pid_t placed_for_ = 0;
};

// io_uring, or POSIX with the reason in its description where io_uring is refused.
std::unique_ptr<WriteQueue> make_write_queue(std::span<const int> held = {});

}  // namespace lapwing
