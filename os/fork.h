// Prevents a child made by fork() from using or keeping its parent's resources.
//
// The child has copies of the parent's objects, but not their threads. A resource that the child
// held would outlive the parent: a lock, a socket, or an io_uring that keeps a lock. So before
// fork() returns in the child
//   1. every library descriptor is closed in the child (enter_descriptor; os/unique_fd.h),
//   2. in_child() of every earlier ForkMark returns true,
//   3. on_child of every ForkWatch has been called.
// Mappings are MADV_DONTFORK (os/mapping.h), so the child does not have them. The only effect on
// the parent is that fork() waits for code that a ForkHold protects. vfork, posix_spawn and clone
// do not call fork handlers. For them, every descriptor is close-on-exec.
//
// Invariants
//  1. A descriptor is in the table from its system call to its close: both happen under a ForkHold.
//  2. on_child changes only single words, because another thread of the parent may have been
//     anywhere in the object when this thread called fork().
//
// Thread safety: any thread, but fork() must not be called in a signal handler.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace lapwing {

namespace detail {
// The number of forks from the first process to this one. Changes only in a new child, while it has
// one thread.
extern std::uint32_t fork_generation;
}  // namespace detail

// Marks the process in which it was made.
class ForkMark {
 public:
  // True in a child that was forked since then, and in that child's children.
  bool in_child() const { return generation_ != detail::fork_generation; }

 private:
  std::uint32_t generation_ = detail::fork_generation;
};

// Makes the error kForked. `what` is the kind of object, such as "publisher".
absl::Status forked_error(const std::string& what);

// A member of an object that must be unusable in a forked child. Declare it last, so that it is
// made after the rest of the object.
class ForkWatch {
 public:
  // Calls object.on_child(), which is noexcept, in each forked child. `what` as in forked_error.
  template <typename Object>
  ForkWatch(Object& object, const std::string& what)
      : ForkWatch(what, &object,
                  [](void* watched) noexcept { static_cast<Object*>(watched)->on_child(); }) {}
  // For an object whose calls check in_child() themselves.
  explicit ForkWatch(const std::string& what) : ForkWatch(what, nullptr, nullptr) {}
  ForkWatch(const ForkWatch&) = delete;
  ForkWatch& operator=(const ForkWatch&) = delete;
  ~ForkWatch();

  bool in_child() const { return mark_.in_child(); }
  // The error of the object's calls in a child. Made with the watch, so that a child can always
  // read it.
  const absl::Status& error() const { return error_; }

 private:
  friend struct ForkRegistry;
  ForkWatch(const std::string& what, void* object, void (*on_child)(void*) noexcept);

  const ForkMark mark_;
  const absl::Status error_;
  void* const object_;
  void (*const on_child_)(void*) noexcept;
  ForkWatch* previous_ = nullptr;
  ForkWatch* next_ = nullptr;
};

// Keeps an object of the parent that a child cannot destroy, because it has threads to join or
// mappings that the child does not have. It is never freed, and stays reachable for leak checkers.
void leave_to_parent(void* object);

// Deletes `object`, or leaves it if this process is a child of the process that made it.
template <typename Object, typename Mark>
void delete_unless_forked(Object* object, const Mark& made) {
  if (made.in_child()) {
    leave_to_parent(object);
  } else {
    delete object;
  }
}

// While a ForkHold exists, fork() in other threads waits. Use it around system calls that create or
// close a descriptor, never around code that may call fork(). Preserves errno.
class ForkHold {
 public:
  ForkHold();
  ForkHold(const ForkHold&) = delete;
  ForkHold& operator=(const ForkHold&) = delete;
  ~ForkHold();
};

// The table of descriptors to close in a forked child. Negative numbers are ignored.
void enter_descriptor(int fd);
void forget_descriptor(int fd);  // it stays open, even in a child
void close_descriptor(int fd);   // and removes it from the table

}  // namespace lapwing
