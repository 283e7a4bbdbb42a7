// The form of the slot protocol that a build uses: moves of words, or vector moves on x86-64; and
// the sizes for which it is straight-line code.
//
// Thread safety: as the protocol in lapwing/detail/slot_words.h, which explains W1 to W3 and R1 to
// R3.
//
// Vector moves are outside the C++ memory model, and so outside the proof. They rest on x86-64
// keeping stores in order among themselves and loads among themselves at any width, and on asm
// volatile with a memory clobber keeping the compiler from moving them past a stamp. A move that
// the processor splits is two moves in no particular order, both still between the stamps. The
// torn-read oracle (tests/torture) runs on both forms; docs/adr/0005-slot-moves.md has the
// measurements.
#pragma once

#include <cstddef>
#include <cstring>

#include "lapwing/detail/slot_words.h"
#include "proto/hot_sizes.h"

// ThreadSanitizer does not see into asm. gcc says it by a macro, clang by a feature.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define LAPWING_HAS_VECTOR_FORM 1
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#undef LAPWING_HAS_VECTOR_FORM
#endif
#endif
#endif

#if defined(LAPWING_HAS_VECTOR_FORM)
#include <emmintrin.h>
#endif

namespace lapwing {

#if defined(LAPWING_HAS_VECTOR_FORM)
// The first word by itself, after which everything lies at a multiple of 16 bytes in the slot, so
// that no move crosses a cache line; then 16 bytes at a time; then what is left by words.
struct VectorMoves {
  [[gnu::always_inline]] static void store_words(Word* words, const std::byte* record,
                                                 std::size_t bytes) {
    WordMoves::store_words(words, record, 8);
    std::byte* const out = reinterpret_cast<std::byte*>(words);
    std::size_t done = 8;
    for (; done + 16 <= bytes; done += 16) {
      const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(record + done));
      asm volatile("movaps %1, %0"  // W2
                   : "=m"(*reinterpret_cast<__m128i*>(out + done))
                   : "x"(value)
                   : "memory");
    }
    WordMoves::store_words(words + done / 8, record + done, bytes - done);
  }

  [[gnu::always_inline]] static void load_words(const Word* words, std::byte* record,
                                                std::size_t bytes) {
    WordMoves::load_words(words, record, 8);
    const std::byte* const in = reinterpret_cast<const std::byte*>(words);
    std::size_t done = 8;
    for (; done + 16 <= bytes; done += 16) {
      __m128i value;
      asm volatile("movaps %1, %0"  // R2
                   : "=x"(value)
                   : "m"(*reinterpret_cast<const __m128i*>(in + done))
                   : "memory");
      _mm_storeu_si128(reinterpret_cast<__m128i*>(record + done), value);
    }
    WordMoves::load_words(words + done / 8, record + done, bytes - done);
  }
};
#endif

// The protocol for a size that is known at run time only; of hot sizes it is straight-line code.
template <typename Moves>
struct SizedProtocol {
  static void store_slot(std::byte* slot, Sequence n, const std::byte* record,
                         std::size_t record_bytes) {
    if (!store_inline(slot, n, record, record_bytes)) store_any(slot, n, record, record_bytes);
  }
  // The same where no call is needed, so that the caller keeps no registers; else returns false.
  [[gnu::always_inline]] static bool store_inline(std::byte* slot, Sequence n,
                                                  const std::byte* record,
                                                  std::size_t record_bytes) {
    forget_size(record);
    return with_hot_size(
        record_bytes,
        [=](auto bytes) __attribute__((always_inline)) {
          Protocol::store(slot, n, record, bytes);
          return true;
        },
        [] { return false; });
  }

  // Where the caller has looked the size up: a KnownSize, or the number.
  template <typename Size>
  [[gnu::always_inline]] static SlotReadResult load_known(const std::byte* slot, Sequence n,
                                                          std::byte* record, Size record_bytes) {
    return Protocol::load(slot, n, record, record_bytes);
  }

  [[gnu::always_inline]] static SlotReadResult load_slot(const std::byte* slot, Sequence n,
                                                         std::byte* record,
                                                         std::size_t record_bytes) {
    forget_size(record);
    return with_hot_size(
        record_bytes,
        [=](auto bytes)
            __attribute__((always_inline)) { return Protocol::load(slot, n, record, bytes); },
        [=] { return load_any(slot, n, record, record_bytes); });
  }

 private:
  using Protocol = SlotProtocol<Moves>;

  // A compiler that knows the caller's buffer would warn of overruns where records are larger.
  template <typename Byte>
  [[gnu::always_inline]] static void forget_size(Byte*& record) {
    asm("" : "+r"(record));
  }

  [[gnu::noinline]] static void store_any(std::byte* slot, Sequence n, const std::byte* record,
                                          std::size_t record_bytes) {
    Protocol::store(slot, n, record, record_bytes);
  }
  [[gnu::noinline]] static SlotReadResult load_any(const std::byte* slot, Sequence n,
                                                   std::byte* record, std::size_t record_bytes) {
    return Protocol::load(slot, n, record, record_bytes);
  }
};

using WordForm = SizedProtocol<WordMoves>;
#if defined(LAPWING_HAS_VECTOR_FORM)
using VectorForm = SizedProtocol<VectorMoves>;
#endif

#if defined(LAPWING_VECTOR_SLOTS) && defined(LAPWING_HAS_VECTOR_FORM)
using SlotForm = VectorForm;
#else
using SlotForm = WordForm;
#endif

}  // namespace lapwing
