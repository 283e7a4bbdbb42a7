#include "os/uring_write_queue.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lapwing/error.h"
#include "os/fork.h"
#include "os/posix_io.h"
#include "os/system_error.h"
#include "os/thread_placement.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kRegisteredBufferBytes = std::uint64_t{1}
                                                 << 30;  // the kernel's limit for one

// user_data of a request that no caller submitted.
constexpr std::uint64_t kNoPlace = kUringDepth;

// Indices into the limits of io_uring_register_iowq_max_workers().
constexpr std::size_t kBoundedWorkers = 0;  // for files
constexpr std::size_t kWorkerKinds = 2;     // the other kind, for sockets and pipes, is not needed

// A length in a file, with the type that this liburing takes: off_t in 2.3, __u64 in later
// versions.
struct FileBytes {
  template <typename Integer>
  operator Integer() const {
    return static_cast<Integer>(bytes);
  }
  std::uint64_t bytes;
};

absl::Status refused(int sys_errno) {
  if (sys_errno == ENOSYS) {
    return make_error(Errc::kUnsupported, "this kernel or container has no io_uring");
  }
  return make_system_error(sys_errno, "io_uring was refused");
}

}  // namespace

absl::StatusOr<std::unique_ptr<UringWriteQueue>> UringWriteQueue::create(
    std::span<const int> held) {
  std::unique_ptr<UringWriteQueue> queue(new UringWriteQueue);
  if (const int made = queue->init(); made < 0) return refused(-made);
  queue->unsubmitted_.reserve(kUringDepth);
  queue->requests_.resize(kUringDepth);
  for (std::uint64_t place = 0; place < kUringDepth; ++place) queue->free_places_.push_back(place);
  if (!held.empty()) {
    const int registered =
        io_uring_register_files(&queue->ring_, held.data(), static_cast<unsigned>(held.size()));
    if (registered < 0) return refused(-registered);
  }
  if (const int entered = queue->try_to_enter(); entered < 0) return refused(-entered);
  return queue;
}

// Like a descriptor, a mapping of the ring keeps the ring and its files alive, so forks must not
// copy it. Returns 0 or -errno.
int UringWriteQueue::init() {
  const ForkHold hold;
  const int made = io_uring_queue_init(kUringDepth, &ring_, 0);
  if (made < 0) {
    ring_.ring_fd = -1;
    return made;
  }
  enter_descriptor(ring_.ring_fd);
  std::array<unsigned, kWorkerKinds> limits{};  // 0: unchanged
  limits[kBoundedWorkers] = kUringWorkersMax;
  workers_bounded_ = io_uring_register_iowq_max_workers(&ring_, limits.data()) == 0;
  return io_uring_ring_dontfork(&ring_);
}

unsigned UringWriteQueue::workers_max() {
  std::array<unsigned, kWorkerKinds> limits{};  // zeros: only a query
  const bool is_known = io_uring_register_iowq_max_workers(&ring_, limits.data()) == 0;
  return is_known ? limits[kBoundedWorkers] : 0;
}

absl::Status UringWriteQueue::place_workers(const std::vector<unsigned>& cpus) {
  if (cpus.empty()) return absl::OkStatus();
  worker_cpus_ = cpus;
  const int placed = place_workers_of_this_thread();
  if (placed == 0) return absl::OkStatus();
  worker_cpus_.clear();
  const absl::Status why = make_system_error(-placed, "IORING_REGISTER_IOWQ_AFF");
  return make_error(
      Errc::kUnsupported,
      absl::StrCat("threads.cpus (--thread-cpus) cannot be applied to the workers of io_uring: ",
                   why.message(),
                   ". This needs Linux 5.14 or newer, and a container may refuse it: allow "
                   "io_uring_register there, or remove threads.cpus"));
}

// A thread has workers only once it has submitted a request. Returns 0 or -errno.
int UringWriteQueue::place_workers_of_this_thread() {
  io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
  if (entry == nullptr) return -EAGAIN;
  io_uring_prep_nop(entry);
  io_uring_sqe_set_data64(entry, kNoPlace);
  const int submitted = io_uring_submit(&ring_);
  if (submitted < 0) return submitted;
  const CpuMask mask(worker_cpus_);
  const int placed = io_uring_register_iowq_aff(&ring_, CpuMask::size_bytes(), mask.get());
  if (placed == 0) placed_for_ = ::gettid();
  return placed;
}

// A container may allow the set-up but refuse requests, which would otherwise be the journal's
// first failed write. Returns 0 or -errno.
int UringWriteQueue::try_to_enter() {
  io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
  if (entry == nullptr) return -EAGAIN;
  io_uring_prep_nop(entry);
  int entered = -EINTR;
  while (entered == -EINTR) entered = io_uring_submit_and_wait(&ring_, 1);
  io_uring_cqe* completion = nullptr;
  if (entered >= 0) entered = io_uring_peek_cqe(&ring_, &completion);
  if (entered >= 0) io_uring_cqe_seen(&ring_, completion);
  return entered;
}

UringWriteQueue::~UringWriteQueue() {
  if (ring_.ring_fd < 0 || made_.in_child()) return;
  const ForkHold hold;
  forget_descriptor(ring_.ring_fd);
  io_uring_queue_exit(&ring_);
}

std::string UringWriteQueue::description() const {
  std::vector<std::string> remarks;
  if (!workers_bounded_) remarks.push_back("number of workers not limited");
  if (!worker_cpus_.empty()) {
    remarks.push_back(absl::StrCat("workers on processors ", cpu_list_text(worker_cpus_)));
  }
  return remarks.empty() ? "io_uring"
                         : absl::StrCat("io_uring (", absl::StrJoin(remarks, ", "), ")");
}

void UringWriteQueue::register_memory(std::span<const std::byte> memory) {
  std::vector<iovec> buffers;
  for (std::size_t offset = 0; offset < memory.size(); offset += kRegisteredBufferBytes) {
    const std::size_t bytes = std::min<std::size_t>(memory.size() - offset, kRegisteredBufferBytes);
    // The kernel only reads this memory, because the buffers are used for writes.
    buffers.push_back({const_cast<std::byte*>(memory.data() + offset), bytes});
  }
  const int registered =
      io_uring_register_buffers(&ring_, buffers.data(), static_cast<unsigned>(buffers.size()));
  if (registered == 0) registered_ = memory;
}

bool UringWriteQueue::submit(const WriteRequest& request) {
  if (in_flight_ == kUringDepth) return false;
  // Do this only while no request is waiting to be submitted. enter() counts the remaining entries
  // of unsubmitted_ from the end of the queue, and this request is not among them. If it fails, the
  // next submit() retries it.
  const bool other_thread = !worker_cpus_.empty() && placed_for_ != ::gettid();
  if (other_thread && unsubmitted_.empty()) place_workers_of_this_thread();
  io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
  if (entry == nullptr) return false;
  switch (request.kind) {
    case WriteRequest::Kind::kWrite:
      prepare_write(entry, request);
      break;
    case WriteRequest::Kind::kSync:
      io_uring_prep_fsync(entry, request.file, IORING_FSYNC_DATASYNC);
      break;
    case WriteRequest::Kind::kSyncDirectory:
      io_uring_prep_fsync(entry, request.file, 0);
      break;
    case WriteRequest::Kind::kAllocate:
      io_uring_prep_fallocate(entry, request.file, 0, 0, FileBytes{request.offset});
      break;
  }
  const std::uint64_t place = free_places_.back();
  free_places_.pop_back();
  requests_[place] = request;
  io_uring_sqe_set_data64(entry, place);
  unsubmitted_.push_back(place);
  ++in_flight_;
  return true;
}

void UringWriteQueue::prepare_write(io_uring_sqe* entry, const WriteRequest& request) {
  const std::byte* const begin = request.bytes.data();
  const auto size = static_cast<unsigned>(request.bytes.size());
  const std::less_equal<const std::byte*> not_after;
  const bool inside = !registered_.empty() && not_after(registered_.data(), begin) &&
                      not_after(begin + size, registered_.data() + registered_.size());
  if (inside) {
    const auto offset = static_cast<std::size_t>(begin - registered_.data());
    const std::size_t buffer = offset / kRegisteredBufferBytes;
    if (buffer == (offset + size - 1) / kRegisteredBufferBytes) {
      io_uring_prep_write_fixed(entry, request.file, begin, size, request.offset,
                                static_cast<int>(buffer));
      return;
    }
  }
  io_uring_prep_write(entry, request.file, begin, size, request.offset);
}

std::size_t UringWriteQueue::reap(std::span<WriteCompletion> out, std::uint64_t wait_ns) {
  if (in_flight_ == 0) return 0;
  if (refused_errno_ == 0) {
    const bool must_wait = wait_ns > 0 && io_uring_cq_ready(&ring_) == 0;
    const int result = enter(must_wait ? wait_ns : 0);
    const bool passing = result == -EINTR || result == -EAGAIN || result == -EBUSY ||
                         result == -ETIME || result >= 0;
    if (!passing) refused_errno_ = -result;
  }
  const std::size_t count = take_completions(out);
  return refused_errno_ == 0 ? count : count + refuse_unsubmitted(out.subspan(count));
}

// Submits prepared requests. If wait_ns is not 0, waits that long for a completion.
int UringWriteQueue::enter(std::uint64_t wait_ns) {
  int result = 0;
  if (wait_ns == 0) {
    result = unsubmitted_.empty() ? 0 : io_uring_submit(&ring_);
  } else {
    __kernel_timespec timeout{};
    timeout.tv_sec = static_cast<long long>(wait_ns / 1'000'000'000);
    timeout.tv_nsec = static_cast<long long>(wait_ns % 1'000'000'000);
    io_uring_cqe* completion = nullptr;
    result = io_uring_submit_and_wait_timeout(&ring_, &completion, 1, &timeout, nullptr);
  }
  const auto left = std::min<std::size_t>(io_uring_sq_ready(&ring_), unsubmitted_.size());
  unsubmitted_.erase(unsubmitted_.begin(), unsubmitted_.end() - static_cast<std::ptrdiff_t>(left));
  return result;
}

std::size_t UringWriteQueue::take_completions(std::span<WriteCompletion> out) {
  std::size_t count = 0;
  io_uring_cqe* completion = nullptr;
  while (count < out.size() && io_uring_peek_cqe(&ring_, &completion) == 0) {
    const std::uint64_t place = io_uring_cqe_get_data64(completion);
    const int result = completion->res;
    io_uring_cqe_seen(&ring_, completion);
    if (place == LIBURING_UDATA_TIMEOUT)
      continue;  // the timeout of a wait, which older kernels treat as a request
    if (place == kNoPlace) continue;
    const bool is_cancelled = result == -ECANCELED;  // by the kernel, which has no worker
    out[count++] = {requests_[place].tag, is_cancelled ? run_request(requests_[place]) : result};
    free_places_.push_back(place);
    --in_flight_;
  }
  return count;
}

std::size_t UringWriteQueue::refuse_unsubmitted(std::span<WriteCompletion> out) {
  const std::size_t count = std::min(out.size(), unsubmitted_.size());
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = {requests_[unsubmitted_[i]].tag, -refused_errno_};
    free_places_.push_back(unsubmitted_[i]);
  }
  unsubmitted_.erase(unsubmitted_.begin(),
                     unsubmitted_.begin() + static_cast<std::ptrdiff_t>(count));
  in_flight_ -= count;
  return count;
}

std::unique_ptr<WriteQueue> make_write_queue(std::span<const int> held) {
  absl::StatusOr<std::unique_ptr<UringWriteQueue>> queue = UringWriteQueue::create(held);
  if (queue.ok()) return *std::move(queue);
  return std::make_unique<PosixWriteQueue>(std::string(queue.status().message()));
}

}  // namespace lapwing
