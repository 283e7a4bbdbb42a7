// The two-process harness: memory that both sides share, a child process on a core of its own, and
// waiting for the other side without waiting for ever.
//
// Thread safety: one thread makes children; a Shared object holds atomics and plain data whose use
// its owner states.
// Ownership: a Child that is still running when its object goes is killed and reaped; a child whose
// parent dies is killed by the kernel. No process outlives the harness.
//
// Make children before opening anything with threads: the child is a fork, and has one thread.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>

#include "bench/machine.h"

namespace lapwing::bench {

// Zeroed memory that this process and the children made after it share; populated in full.
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

// A forked process that runs `body` on `core` and exits with 0 when it returns.
class Child {
 public:
  Child(int core, const std::function<void()>& body);
  ~Child();  // kills it if join() was not called
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void join();  // fails the benchmark if the child did not exit with 0
  void kill();  // SIGKILL, and reaps it

 private:
  pid_t pid_;
};

// One pause of a spin that ends the benchmark when the other side has been silent for
// kSilenceNsMax: a crash there must not leave a process spinning here.
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
