// A request to a thread, which may be waiting, to end. Once set, it stays set.
//
// Thread safety: any thread.
#pragma once

#include <poll.h>

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "os/kernel.h"
#include "os/unique_fd.h"

namespace lapwing {

class StopEvent {
 public:
  // Errors: kLimit, kSystem.
  static absl::StatusOr<StopEvent> make() {
    absl::StatusOr<UniqueFd> fd = make_eventfd();
    if (!fd.ok()) return fd.status();
    return StopEvent(*std::move(fd));
  }

  void set() const { signal_eventfd(fd_.get()); }
  bool is_set() const {
    pollfd polled = entry();
    return poll(&polled, 1, 0) > 0;
  }
  // For a wait on several descriptors: readable once it is set.
  pollfd entry() const { return {fd_.get(), POLLIN, 0}; }
  // Waits until it is set, at most `ns`.
  void wait(std::uint64_t ns) const { wait_readable(fd_.get(), ns); }

 private:
  explicit StopEvent(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace lapwing
