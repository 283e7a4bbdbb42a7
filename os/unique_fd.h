// Owns one file descriptor and closes it. Movable, not copyable. Not thread-safe.
//
// In a child made by fork(), the descriptor is closed before fork() returns, and get() is -1
// (os/fork.h).
#pragma once

#include <utility>

#include "os/fork.h"

namespace lapwing {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) { enter_descriptor(fd); }
  // Owns the result of `open`, a system call. No fork can happen before it is
  // owned.
  template <typename Open>
  static UniqueFd opened_by(const Open& open) {
    const ForkHold hold;
    return UniqueFd(open());
  }
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)), made_(other.made_) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this == &other) return *this;
    reset();
    fd_ = std::exchange(other.fd_, -1);
    made_ = other.made_;
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const { return made_.in_child() ? -1 : fd_; }
  bool valid() const { return get() >= 0; }
  // Passes the descriptor to the caller. A forked child then also has it.
  int release() {
    const int fd = get();
    forget_descriptor(fd);
    fd_ = -1;
    return fd;
  }
  void reset() {
    if (fd_ >= 0 && !made_.in_child()) close_descriptor(fd_);
    fd_ = -1;
  }
  void reset(int fd) { *this = UniqueFd(fd); }

 private:
  int fd_ = -1;
  ForkMark made_;
};

}  // namespace lapwing
