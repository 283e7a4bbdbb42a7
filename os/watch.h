// Several descriptors behind one, which is readable when any of them is ready, or when a moment has
// come. Listeners and servers give it to an event loop.
//
// Thread safety: one thread; others may poll fd().
// Ownership: its own descriptors. The watched ones are the caller's, who removes each before it is
// closed: a copy of it in another process would keep it watched.
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
  // `purpose` ends the message when no descriptor is left: "for a wait set".
  // Errors: kLimit (no descriptor is left), kSystem.
  static absl::StatusOr<Watch> make(const std::string& purpose);
  // With a timer, for wake_at().
  static absl::StatusOr<Watch> make_with_timer(const std::string& purpose);

  int fd() const { return set_.get(); }
  // `events` as for epoll_ctl(2), level-triggered; `tag` comes back from ready(). Returns 0, or the
  // errno with which the kernel refused; then `fd` is not watched.
  int add(int fd, std::uint32_t events, std::uint64_t tag);
  void remove(int fd);
  // The descriptors that are ready now, by their tags, as many as there is room for. The tag of the
  // moment is 0. Never waits.
  std::span<const epoll_event> ready(std::span<epoll_event> room) const;
  // Readable from `at_ns` (CLOCK_MONOTONIC) on, until another moment is set; 0: never.
  void wake_at(std::uint64_t at_ns);

 private:
  explicit Watch(UniqueFd set) : set_(std::move(set)) {}

  UniqueFd set_;
  UniqueFd timer_;
  std::uint64_t wakes_at_ns_ = 0;
};

// kLimit: the kernel has no memory for one more watch.
absl::Status no_room_to_watch(const std::string& what);

}  // namespace lapwing
