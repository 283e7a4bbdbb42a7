// Counts the program's allocations with new. Include it in one source file of a test program.
//
// Not thread-safe: no other thread may allocate at the same time.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

namespace lapwing {

inline std::uint64_t allocations = 0;

inline void* count_and_allocate(std::size_t bytes) {
  ++allocations;
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace lapwing

void* operator new(std::size_t bytes) {
  return lapwing::count_and_allocate(bytes);
}
void* operator new[](std::size_t bytes) {
  return lapwing::count_and_allocate(bytes);
}
// Replaced as well. Otherwise memory from another allocator would be freed here, which a sanitizer
// refuses.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return lapwing::count_and_allocate(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return lapwing::count_and_allocate(bytes);
}
// Not inlined: gcc would warn of memory that new has made and free() releases.
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
