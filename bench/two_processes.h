// The two-process harness: memory shared by both sides, a child process on its own core, and
// bounded waits for the other side.
//
// Thread safety: one thread creates children. A Shared object contains atomics, and plain data
// whose use is documented by its owner. Ownership: a Child that is still running when its object is
// destroyed is killed and reaped. The kernel kills a child whose parent dies. No process outlives
// the harness.
//
// Create children before opening objects that have threads: a child is a fork, with one thread.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>

#include "bench/machine.h"

namespace lapwing::bench {

// Zeroed memory shared by this process and later children. All pages are populated.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

// One T in shared memory.
template <typename T>
class Shared {
 public:
  Shared() : memory_(sizeof(T)), object_(new(memory_.data()) T()) {}
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }

 private:
  SharedMemory memory_;
  T* object_;
};

// A forked process that runs `body` on `core` and then exits with 0.
class Child {
 public:
  Child(int core, const std::function<void()>& body);
  ~Child();  // kills it unless join() was called
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void join();  // fails the benchmark if the child did not exit with 0
  void kill();  // sends SIGKILL and reaps it

 private:
  pid_t pid_;
};

// One pause in a spin loop. Ends the benchmark when the other side has been silent for
// kSilenceNsMax, so that a crash there does not leave this process spinning.
inline constexpr std::uint64_t kSilenceNsMax = 300'000'000'000;
class Patience {
 public:
  void pause();

 private:
  std::uint64_t pauses_ = 0;
  std::uint64_t deadline_ns_ = 0;
};

template <typename Condition>
void spin_until(Condition&& condition) {
  Patience patience;
  while (!condition()) patience.pause();
}

}  // namespace lapwing::bench
