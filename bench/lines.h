// Bare cache lines between two processes. The floors use them without any Lapwing code.
//
// Thread safety: one writer and one reader in separate processes; the words are atomic. Invariant:
// users of a Headway neither lose a line nor read one that is being written.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "bench/two_processes.h"
#include "proto/ring_layout.h"

namespace lapwing::bench {

inline constexpr std::size_t kLineBytes = 64;

struct alignas(kLineBytes) Line {
  static constexpr int kWords = 8;
  std::atomic<std::uint64_t> words[kWords];
};
static_assert(sizeof(Line) == kLineBytes);

// A ring of lines in memory shared with a child. Line n is where record n of a bus would be.
class Lines {
 public:
  explicit Lines(std::uint64_t count) : mask_(count - 1), memory_(count * kLineBytes) {}
  Line& operator[](std::uint64_t n) const {
    return reinterpret_cast<Line*>(memory_.data())[(n - 1) & mask_];
  }
  std::uint64_t count() const { return mask_ + 1; }

 private:
  std::uint64_t mask_;
  SharedMemory memory_;
};

struct alignas(kWordStride) SharedWord {
  std::atomic<std::uint64_t> value{0};
};

// Word 0 is the line's stamp. The release store pairs with the acquire load below: a reader that
// sees n also sees everything written to the line before.
inline void send(Line& line, std::uint64_t n) {
  line.words[0].store(n, std::memory_order_release);
}
inline bool is_sent(const Line& line, std::uint64_t n) {
  return line.words[0].load(std::memory_order_acquire) == n;
}

// Prevents the writer from overrunning the reader, with one check per eighth of a lap: the reader
// is at most five eighths behind. `lines` is a power of two, because otherwise the floor would
// measure a division per line.
class Headway {
 public:
  explicit Headway(std::uint64_t lines)
      : lead_(lines / 2), await_mask_(lines / 8 - 1), took_mask_(lines / 16 - 1) {}

  // Call it before line n is written.
  void await(std::uint64_t n) const {
    if ((n & await_mask_) != 0) return;
    spin_until([&] { return taken_->value.load(std::memory_order_acquire) + lead_ >= n; });
  }
  // Call it after line n has been read.
  void took(std::uint64_t n) const {
    if ((n & took_mask_) == 0) taken_->value.store(n, std::memory_order_release);
  }
  // Call it after the last `lines` lines up to line n have been read.
  void took(std::uint64_t n, std::uint64_t lines) const {
    const std::uint64_t passed = n & ~took_mask_;
    if (passed > n - lines) taken_->value.store(passed, std::memory_order_release);
  }

 private:
  std::uint64_t lead_;
  std::uint64_t await_mask_;
  std::uint64_t took_mask_;
  Shared<SharedWord> taken_;
};

}  // namespace lapwing::bench
