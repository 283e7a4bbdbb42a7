// The range of one guarded mapping (os/mapping_guard.h), read by a signal handler.
//
// A slot is free while `begin` is 0. One thread writes at a time, under a mutex. Slots may be
// reused while a handler runs in another thread.
//
// Thread safety: as above; range() may be called in any thread and in a signal handler.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lapwing {

struct GuardedBytes {
  std::uintptr_t begin;
  std::size_t bytes;
};

// Word is SingleWriterWord: stores release, loads acquire.
template <typename Word>
struct GuardedSlot {
  Word use;  // counts the ranges that the slot has held
  Word begin;
  Word bytes;

  void hold(std::uintptr_t range_begin, std::size_t range_bytes) {
    use.store(use.load() + 1);
    bytes.store(range_bytes);
    begin.store(range_begin);
  }
  void free() { begin.store(0); }
  bool is_free() const { return begin.load() == 0; }

  // Returns a range that the slot held at one moment, or one that begins at 0. Let use k be loaded
  // first. Then the end of range k - 1 is visible, so `begin` is 0, that of range k, or a later
  // one. `begin` or `bytes` of a later range make its use visible, and the second load of `use`
  // differs. `begin` of range k makes its `bytes` visible. So if `use` is still k, both words are
  // of range k, or `begin` is 0. A range that contains the address of a fault is the mapping that
  // the faulting thread reads: mappings do not overlap, and a range ends before its mapping does.
  GuardedBytes range() const {
    while (true) {
      const std::uint64_t before = use.load();
      const GuardedBytes found{static_cast<std::uintptr_t>(begin.load()),
                               static_cast<std::size_t>(bytes.load())};
      if (use.load() == before) return found;
    }
  }
};

}  // namespace lapwing
