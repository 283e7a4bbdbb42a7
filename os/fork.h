// What a child made by fork() may not do with what its parent opened, and how it is kept from it.
//
// The child has copies of the parent's objects and none of their threads. What it held of them
// would outlive the parent: a lock, a socket, an io_uring that keeps a lock. So before fork()
// returns in the child
//   1. every descriptor of the library is closed there (enter_descriptor; os/unique_fd.h),
//   2. every ForkMark that was made before says in_child(),
//   3. the on_child of every ForkWatch has been called.
// Mappings are MADV_DONTFORK (os/mapping.h), so the child has none of them. The parent notices
// nothing but that fork() waits for what a ForkHold protects. vfork, posix_spawn and clone call no
// such handler: every descriptor is close-on-exec.
//
// Invariants
//  1. A descriptor is in the table from its system call to its close: both happen under a ForkHold.
//  2. What on_child changes is single words: another thread of the parent may have been anywhere in
//     the object when this one called fork().
//
// Thread safety: any thread; fork() itself not from a signal handler.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace lapwing {

namespace detail {
// Forks between the first process and this one. Changes only in a child that has one thread yet.
extern std::uint32_t fork_generation;
}  // namespace detail

// The process in which it was made.
class ForkMark {
 public:
  // True in a child that this process forked since, and in the child's children.
  bool in_child() const { return generation_ != detail::fork_generation; }

 private:
  std::uint32_t generation_ = detail::fork_generation;
};

// kForked in words; `what` is "publisher" or its like.
absl::Status forked_error(const std::string& what);

// A member of an object that a forked child must find ended. Declared last: it begins when the rest
// of the object is there.
class ForkWatch {
 public:
  // Calls object.on_child(), which is noexcept, in each forked child. `what` as of forked_error.
  template <typename Object>
  ForkWatch(Object& object, const std::string& what)
      : ForkWatch(what, &object,
                  [](void* watched) noexcept { static_cast<Object*>(watched)->on_child(); }) {}
  // Of an object whose calls look at in_child() themselves.
  explicit ForkWatch(const std::string& what) : ForkWatch(what, nullptr, nullptr) {}
  ForkWatch(const ForkWatch&) = delete;
  ForkWatch& operator=(const ForkWatch&) = delete;
  ~ForkWatch();

  bool in_child() const { return mark_.in_child(); }
  // What the object answers in a child. Made with the watch, so a child can always read it.
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

// Keeps what the parent made, and a child cannot destroy: threads to join, mappings that are not
// there. It stays for good, where a leak checker finds it.
void leave_to_parent(void* object);

// Deletes `object`, or leaves it where this process is a child of the one that made it.
template <typename Object, typename Mark>
void delete_unless_forked(Object* object, const Mark& made) {
  if (made.in_child()) {
    leave_to_parent(object);
  } else {
    delete object;
  }
}

// While one lives, fork() waits in every other thread. For system calls that make or close a
// descriptor, and for nothing that may call fork(). Keeps errno.
class ForkHold {
 public:
  ForkHold();
  ForkHold(const ForkHold&) = delete;
  ForkHold& operator=(const ForkHold&) = delete;
  ~ForkHold();
};

// The table of the descriptors that a forked child closes. Negative numbers are none.
void enter_descriptor(int fd);
void forget_descriptor(int fd);  // it stays open, also in a child
void close_descriptor(int fd);   // and forgets it

}  // namespace lapwing
