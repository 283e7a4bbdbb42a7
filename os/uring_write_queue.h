// The WriteQueue of a publisher: io_uring, with the ring file's memory registered if that is
// allowed.
//
// The kernel may finish a killed publisher's requests after the process has ended. So the
// descriptors of the publisher's locks are registered with the io_uring, which holds the locks
// until the last request has ended. A forked child has neither the descriptor nor the mappings.
//
// Workers: the kernel passes a request that would wait, such as every sync, to a kernel thread, an
// io_uring worker (iou-wrk-N). Each submitting thread (thread N) has its own workers. They inherit
// its nice value and policy, but not its processors, which place_workers sets. If no worker can be
// started (a limit on processes), the kernel cancels the request, and it is performed here by a
// plain system call.
//
// Thread safety: one thread at a time, any thread.
// Errors: the completion of a request contains its errno. If the kernel refuses all requests, every
// request that it has not accepted completes with that errno.
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
// The limit for each submitting thread and NUMA node: enough to prepare four segments at a time and
// handle the two requests of a sync. The kernel's default is four per processor, at most 128. Needs
// Linux 5.15.
inline constexpr unsigned kUringWorkersMax = 6;

class UringWriteQueue final : public WriteQueue {
 public:
  // The descriptors `held` are kept open until the last request has ended, even if the process
  // ends. Errors: kUnsupported (ENOSYS), kNotPermitted (a container forbids the set-up or
  // requests), kSystem (ENOMEM: the limit on locked memory).
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
  // The number of workers that the kernel allows for a submitting thread; 0: unknown.
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
  // Requests under way. The kernel stores only their index here.
  std::vector<WriteRequest> requests_;
  std::vector<std::uint64_t> free_places_;
  std::vector<std::uint64_t> unsubmitted_;  // indices of requests not submitted to the kernel
  int refused_errno_ = 0;                   // not 0: the kernel accepts no more requests
  bool workers_bounded_ = false;
  std::vector<unsigned> worker_cpus_;  // empty: not placed
  // The kernel's id of the thread whose workers are placed. Unlike it, a std::thread::id may belong
  // to a thread that has ended.
  pid_t placed_for_ = 0;
};

// Returns an io_uring queue, or if io_uring is refused, a POSIX queue with the reason in its
// description.
std::unique_ptr<WriteQueue> make_write_queue(std::span<const int> held = {});

}  // namespace lapwing
