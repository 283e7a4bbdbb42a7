// Building blocks of all shared-memory protocols: atomic access to a word, a loop over words, and
// pauses for a thread that polls.
//
// These files contain the protocols, each with its proof: slot_words.h, attention_word.h and
// channel_words.h in this folder, proto/ring_words.h and os/thread_words.h. Other files must not
// use atomics; tests/house_rules checks this. tests/model runs all protocols, and broken variants
// of them, under a C11 memory-model checker.
//
// Thread safety: only the thread that owns a word may call the store_ functions in those files.
// The load_ functions may run in any thread of any process that maps the word, even read-only.
#pragma once

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lapwing {

using Word = std::uint64_t;

namespace detail {
inline Word load(const Word& word, std::memory_order order) {
  // C++26 adds atomic_ref of a const object. A lock-free load never writes.
  return std::atomic_ref<Word>(const_cast<Word&>(word)).load(order);
}
inline void store(Word& word, Word value, std::memory_order order) {
  std::atomic_ref<Word>(word).store(value, order);
}
static_assert(std::atomic_ref<Word>::is_always_lock_free);

}  // namespace detail

// Calls move(0) … move(count - 1), without a loop if the compiler knows the count.
template <typename Move>
[[gnu::always_inline]] inline void for_each_word(std::size_t count, const Move& move) {
  if (__builtin_constant_p(count)) {
#pragma GCC unroll 16
    for (std::size_t i = 0; i < count; ++i) move(i);
  } else {
    for (std::size_t i = 0; i < count; ++i) move(i);
  }
}

inline constexpr std::size_t kWordPairBytes = 2 * sizeof(Word);
// Copies two words that no other thread reads yet. `to` is aligned to kWordPairBytes. The words are
// loaded one by one, because a load of both would wait for recent stores of single words. Both are
// stored in one instruction if possible, because a store to a line that another core holds must
// wait (bench/LOG.md).
[[gnu::always_inline]] inline void copy_word_pair(std::byte* to, const std::byte* from) {
#if defined(__x86_64__)
  // Loads bytes, because the user may have stored values of any type, and the compiler may move
  // such a store after a load of a Word.
  using WordBytes = const std::byte[sizeof(Word)];
  __m128i pair;
  asm("{movq %1, %0|movq %0, %1}" : "=x"(pair) : "m"(*reinterpret_cast<WordBytes*>(from)));
  asm("{movhps %1, %0|movhps %0, %1}"
      : "+x"(pair)
      : "m"(*reinterpret_cast<WordBytes*>(from + sizeof(Word))));
  _mm_store_si128(reinterpret_cast<__m128i*>(to), pair);
#else
  for (std::size_t i = 0; i < kWordPairBytes; i += sizeof(Word)) {
    const Word word =
        detail::load(reinterpret_cast<const Word&>(from[i]), std::memory_order_relaxed);
    detail::store(reinterpret_cast<Word&>(to[i]), word, std::memory_order_relaxed);
  }
#endif
}

// Prefetches a line that will be written.
inline void prefetch_to_write(const void* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" ::"m"(*static_cast<const char*>(line)));  // gcc makes it a read
#else
  __builtin_prefetch(line, 1);
#endif
}

// Call this on every iteration of a spin. Without it, the polled cache line arrives more slowly.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// Pauses for about a microsecond or more, so that a busy writer gets ahead. A reader calls it after
// a run of records: reading each line while it is written slows down both sides.
inline constexpr std::uint64_t kPausesMin = 32;
inline void fall_behind(std::uint64_t pauses = kPausesMin) {
  for (std::uint64_t i = 0; i < pauses; ++i) spin_pause();
}
// The number of consecutive records or messages that count as a run.
inline constexpr std::uint64_t kRunMin = 16;

}  // namespace lapwing
