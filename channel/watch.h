// One descriptor that is readable when any of several is, or when a moment has come: what a
// listener, or a server of many clients, gives to an event loop.
//
// Thread safety: one thread. Owns its own two descriptors; those that it watches are the caller's,
// who takes each out again before it is closed: a copy of it in another process keeps it watched.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "os/unique_fd.h"

namespace lapwing {

class Watch {
 public:
  // Errors: kLimit (no descriptor is left), kSystem.
  static absl::StatusOr<Watch> make();

  int fd() const { return set_.get(); }
  // `tag` comes back from ready(). False: the kernel refuses (its limit of watches, or no memory),
  // and `fd` is not watched.
  bool add(int fd, std::uint64_t tag = 0);
  void remove(int fd);
  // Those that are readable now, or hung up, by their tags, at most as many as there is room for; 0
  // among them is the moment. Never waits.
  std::span<const epoll_event> ready(std::span<epoll_event> room) const;
  // Readable from `at_ns` (CLOCK_MONOTONIC) on, until another moment is set; 0: never.
  void wake_at(std::uint64_t at_ns);

 private:
  Watch(UniqueFd set, UniqueFd timer) : set_(std::move(set)), timer_(std::move(timer)) {}

  UniqueFd set_;
  UniqueFd timer_;
  std::uint64_t wakes_at_ns_ = 0;
};

}  // namespace lapwing
