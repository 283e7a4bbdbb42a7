// The torn-read oracle: one writer and several readers on a small ring that is lapped continuously.
// Every word of a record is a function of its sequence. Therefore a copy that mixes two records, or
// belongs to another lap, is detected word by word.
//
// It uses the slot protocol itself and its arithmetic, so that a wrong protocol can replace it: an
// oracle that has never caught anything proves nothing.
//
// Thread safety: write_records on one thread, read_records on any number of threads in any process.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <sched.h>
#include <atomic>
#include <bit>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "lapwing/detail/atomic_word.h"
#include "lapwing/detail/slot_words.h"
#include "proto/ring_layout.h"
#include "proto/ring_words.h"
#include "proto/slot_stamp.h"

namespace lapwing::torture {

struct Geometry {
  std::uint64_t capacity;
  std::uint32_t record_bytes;

  std::uint32_t slot_bytes() const { return slot_bytes_for(record_bytes); }
  std::size_t bytes() const { return kPageBytes + capacity * slot_bytes(); }
};

// Page 1 of a ring file, and the slots, in memory that can be mapped a second time.
class RingMemory {
 public:
  static RingMemory create(Geometry geometry) {
    const int fd = memfd_create("torn-read", MFD_CLOEXEC);
    REQUIRE(fd >= 0);
    REQUIRE(ftruncate(fd, static_cast<off_t>(geometry.bytes())) == 0);
    return RingMemory(geometry, fd, PROT_READ | PROT_WRITE);
  }
  // The same memory at another address, read-only.
  RingMemory map_again() const { return RingMemory(geometry_, dup(fd_), PROT_READ); }

  RingMemory(const RingMemory&) = delete;
  RingMemory& operator=(const RingMemory&) = delete;
  ~RingMemory() {
    munmap(base_, geometry_.bytes());
    close(fd_);
  }

  const Geometry& geometry() const { return geometry_; }
  RingWords& words() const { return *reinterpret_cast<RingWords*>(base_); }
  std::byte* slot(Sequence n) const {
    return base_ + kPageBytes + ((n - 1) % geometry_.capacity) * geometry_.slot_bytes();
  }

 private:
  RingMemory(Geometry geometry, int fd, int protection) : geometry_(geometry), fd_(fd) {
    void* const base = mmap(nullptr, geometry.bytes(), protection, MAP_SHARED, fd, 0);
    REQUIRE(base != MAP_FAILED);
    base_ = static_cast<std::byte*>(base);
  }

  Geometry geometry_;
  int fd_;
  std::byte* base_ = nullptr;
};

// The results of one reader, in shared memory, because the writer continues until it has seen
// enough.
struct Tally {
  std::atomic<std::uint64_t> records{0};
  std::atomic<std::uint64_t> laps{0};
  std::atomic<std::uint64_t> discarded{0};  // laps that occurred while it was copying
  std::atomic<std::uint64_t> torn{0};
  std::atomic<std::uint64_t> backwards{0};
  std::atomic<std::uint64_t> corrupt{0};
};

// A small random number generator, so that a run depends only on its seed (xorshift64).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint64_t roll(std::uint64_t sides) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return (state_ >> 11) % sides;
  }

 private:
  std::uint64_t state_;
};

inline void pause_for(std::uint64_t turns) {
  for (std::uint64_t i = 0; i < turns; ++i) spin_pause();
}

// Sometimes yields to the other side: on a busy machine, this is the only way to be lapped.
inline void linger() {
  static thread_local unsigned calls = 0;
  if (++calls % 8 == 0) {
    sched_yield();
  } else {
    pause_for(100);
  }
}

// Moves that linger in the middle of a record, where a lap is most harmful.
struct LingeringMoves {
  static std::size_t half(std::size_t bytes) { return bytes / 2 / 16 * 16; }

  static void store_words(Word* words, const std::byte* record, std::size_t bytes) {
    const std::size_t first = half(bytes);
    if (first != 0) WordMoves::store_words(words, record, first);
    linger();
    WordMoves::store_words(words + first / 8, record + first, bytes - first);
  }
  static void load_words(const Word* words, std::byte* record, std::size_t bytes) {
    const std::size_t first = half(bytes);
    if (first != 0) WordMoves::load_words(words, record, first);
    linger();
    WordMoves::load_words(words + first / 8, record + first, bytes - first);
  }
};

inline constexpr Word kUntouched = 0x5555555555555555;  // word_of never returns this in these runs

inline Word word_of(Sequence n, std::size_t index) {
  return n * 0x9e3779b97f4a7c15 + index * 0xbf58476d1ce4e5b9;
}

inline bool is_record(Sequence n, const std::vector<Word>& copy) {
  for (std::size_t i = 0; i < copy.size(); ++i) {
    if (copy[i] != word_of(n, i)) return false;
  }
  return true;
}

inline std::byte* bytes_of(std::vector<Word>& words) {
  return reinterpret_cast<std::byte*>(words.data());
}

// Publishes until enough() returns true, then closes the ring. Calls enough() once per hundred
// batches.
template <template <typename> class Protocol>
void write_records(const RingMemory& ring, std::uint64_t seed,
                   const std::function<bool()>& enough) {
  const Geometry& geometry = ring.geometry();
  std::vector<Word> record(geometry.record_bytes / 8);
  Dice dice(seed);
  Sequence n = 0;
  do {
    for (int batch = 0; batch < 100; ++batch) {
      const Sequence last = n + 1 + dice.roll(geometry.capacity);  // one batch moves head once
      while (n < last) {
        ++n;
        for (std::size_t i = 0; i < record.size(); ++i) record[i] = word_of(n, i);
        const auto store = dice.roll(64) == 0 ? Protocol<LingeringMoves>::store_slot
                                              : Protocol<WordMoves>::store_slot;
        store(ring.slot(n), n, bytes_of(record), geometry.record_bytes);
      }
      store_head(ring.words(), n);
      if (dice.roll(4) == 0) pause_for(dice.roll(2000));  // lets readers catch up
      if (dice.roll(64) == 0) sched_yield();
    }
  } while (!enough());
  store_ring_state(ring.words(), RingState::kClosed);
}

// Reads until the ring is closed and empty, with random stalls.
template <template <typename> class Protocol>
void read_records(const RingMemory& ring, std::uint64_t seed, Tally& tally) {
  const Geometry& geometry = ring.geometry();
  std::vector<Word> copy(geometry.record_bytes / 8);
  Dice dice(seed);
  Sequence n = 1;
  Sequence newest = 0;
  for (;;) {
    const bool closed = load_ring_state(ring.words()) == RingState::kClosed;
    const auto load =
        dice.roll(16) == 0 ? Protocol<LingeringMoves>::load_slot : Protocol<WordMoves>::load_slot;
    copy[0] = kUntouched;
    const SlotReadResult read = load(ring.slot(n), n, bytes_of(copy), geometry.record_bytes);
    const Sequence head = load_head(ring.words());  // after the stamp
    if (read.outcome != SlotRead::kRecord &&
        stamp_is_corrupt(read.stamp, n, head, geometry.capacity)) {
      ++tally.corrupt;
    }
    if (read.outcome == SlotRead::kRecord) {
      ++tally.records;
      if (!is_record(n, copy)) ++tally.torn;
      if (n <= newest) ++tally.backwards;
      newest = n++;
    } else if (read.outcome == SlotRead::kNewer) {
      ++tally.laps;
      if (copy[0] != kUntouched) ++tally.discarded;
      n = resume_after_lap(n, read.stamp, head, geometry.capacity);
    } else if (closed) {
      return;
    } else {
      spin_pause();
    }
    if (dice.roll(1000) == 0) pause_for(dice.roll(5000));
    if (dice.roll(20'000) == 0) sched_yield();
  }
}

}  // namespace lapwing::torture
