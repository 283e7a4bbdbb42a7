// Combines several descriptors into one, which is readable when any is ready, or at a set time.
// Listeners and servers pass it to an event loop.
//
// Thread safety: one thread; others may poll fd().
// Ownership: owns its descriptors. The caller owns the watched ones, and removes each one before
// closing it, because a copy in another process would keep it watched.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/unique_fd.h"

namespace lapwing {

class Watch {
 public:
  // `purpose` is the end of the message if no descriptor is left: "for a wait set".
  // Errors: kLimit (no descriptor is left), kSystem.
  static absl::StatusOr<Watch> make(const std::string& purpose);
  // With a timer, for wake_at().
  static absl::StatusOr<Watch> make_with_timer(const std::string& purpose);

  int fd() const { return set_.get(); }
  // `events` as for epoll_ctl(2), level-triggered. ready() returns `tag`. Returns 0, or the errno
  // with which the kernel refused; `fd` is then not watched.
  int add(int fd, std::uint32_t events, std::uint64_t tag);
  void remove(int fd);
  // Returns the descriptors that are ready now, by their tags, as many as fit into `room`. The tag
  // of the timer is 0. Never waits.
  std::span<const epoll_event> ready(std::span<epoll_event> room) const;
  // Makes fd() readable from `at_ns` (CLOCK_MONOTONIC) until another time is set; 0: never.
  void wake_at(std::uint64_t at_ns);

 private:
  explicit Watch(UniqueFd set) : set_(std::move(set)) {}

  UniqueFd set_;
  UniqueFd timer_;
  std::uint64_t wakes_at_ns_ = 0;
};

// Returns kLimit: the kernel does not allow another watch.
absl::Status no_room_to_watch(const std::string& what);

}  // namespace lapwing
