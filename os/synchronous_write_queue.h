// A WriteQueue that performs each request in one call that returns when the request is done.
//
// Thread safety: one thread; the requests run in order inside reap().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "os/io.h"

namespace lapwing {

inline constexpr std::size_t kSynchronousQueueDepth = 64;

class SynchronousWriteQueue : public WriteQueue {
 public:
  // Performs the request and returns the result for its completion: bytes written, 0, or -errno.
  using Run = std::function<std::int64_t(const WriteRequest& request)>;

  SynchronousWriteQueue(std::string description, Run run)
      : description_(std::move(description)), run_(std::move(run)) {}

  std::string description() const override { return description_; }
  void register_memory(std::span<const std::byte>) override {}
  bool submit(const WriteRequest& request) override;
  std::size_t reap(std::span<WriteCompletion> out, std::uint64_t wait_ns) override;
  std::size_t in_flight() const override { return count_; }

 private:
  std::string description_;
  Run run_;
  // A ring with the entries begin_ … begin_ + count_ - 1.
  std::array<WriteRequest, kSynchronousQueueDepth> requests_{};
  std::size_t begin_ = 0;
  std::size_t count_ = 0;
};

}  // namespace lapwing
