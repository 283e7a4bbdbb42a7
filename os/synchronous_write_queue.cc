#include "os/synchronous_write_queue.h"

namespace lapwing {

bool SynchronousWriteQueue::submit(const WriteRequest& request) {
  if (count_ == requests_.size()) return false;
  requests_[(begin_ + count_) % requests_.size()] = request;
  ++count_;
  return true;
}

std::size_t SynchronousWriteQueue::reap(std::span<WriteCompletion> out, std::uint64_t) {
  std::size_t stored = 0;
  while (stored < out.size() && count_ > 0) {
    const WriteRequest& request = requests_[begin_];
    out[stored++] = {request.tag, run_(request)};
    begin_ = (begin_ + 1) % requests_.size();
    --count_;
  }
  return stored;
}

}  // namespace lapwing
