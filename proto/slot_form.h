// The slot protocol for records whose size is known only at run time. For hot sizes it is
// straight-line code (proto/hot_sizes.h).
//
// Thread safety: that of the protocol in lapwing/detail/slot_words.h, which explains W1 to W3 and
// R1 to R3.
#pragma once

#include <cstddef>

#include "lapwing/detail/slot_words.h"
#include "lapwing/sequence.h"
#include "proto/hot_sizes.h"

namespace lapwing {

struct SlotForm {
  static void store_slot(std::byte* slot, Sequence n, const std::byte* record,
                         std::size_t record_bytes) {
    if (!store_inline(slot, n, record, record_bytes)) store_any(slot, n, record, record_bytes);
  }
  // Stores records of hot sizes without a call, so that the caller need not save registers. Returns
  // false for other sizes and stores nothing.
  [[gnu::always_inline]] static bool store_inline(std::byte* slot, Sequence n,
                                                  const std::byte* record,
                                                  std::size_t record_bytes) {
    forget_size(record);
    return with_hot_size(
        record_bytes,
        [=](auto bytes) __attribute__((always_inline)) {
          WordProtocol::store(slot, n, record, bytes);
          return true;
        },
        [] { return false; });
  }

  // For a caller that has already determined the size. `record_bytes` is a KnownSize or a number.
  template <typename Size>
  [[gnu::always_inline]] static SlotReadResult load_known(const std::byte* slot, Sequence n,
                                                          std::byte* record, Size record_bytes) {
    return WordProtocol::load(slot, n, record, record_bytes);
  }

  [[gnu::always_inline]] static SlotReadResult load_slot(const std::byte* slot, Sequence n,
                                                         std::byte* record,
                                                         std::size_t record_bytes) {
    forget_size(record);
    return with_hot_size(
        record_bytes,
        [=](auto bytes)
            __attribute__((always_inline)) { return WordProtocol::load(slot, n, record, bytes); },
        [=] { return load_any(slot, n, record, record_bytes); });
  }

 private:
  // If the compiler knew the caller's buffer, it would warn about overruns for larger records.
  template <typename Byte>
  [[gnu::always_inline]] static void forget_size(Byte*& record) {
    asm("" : "+r"(record));
  }

  [[gnu::noinline]] static void store_any(std::byte* slot, Sequence n, const std::byte* record,
                                          std::size_t record_bytes) {
    WordProtocol::store(slot, n, record, record_bytes);
  }
  [[gnu::noinline]] static SlotReadResult load_any(const std::byte* slot, Sequence n,
                                                   std::byte* record, std::size_t record_bytes) {
    return WordProtocol::load(slot, n, record, record_bytes);
  }
};

}  // namespace lapwing
