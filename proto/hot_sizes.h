// The record sizes for which the compiler makes code of its own: it sees the size, and moves of
// words, and loops around them, become straight-line code (docs/adr/0005-slot-moves.md).
//
// One list, so that a size is as fast in a publish as in a read and in a run of reads. Every other
// size takes the same steps in loops.
#pragma once

#include <cstddef>
#include <type_traits>

#include "lapwing/dbn.h"

namespace lapwing {

template <std::size_t kBytes>
using KnownSize = std::integral_constant<std::size_t, kBytes>;

// Calls hot(KnownSize<record_bytes>{}) if the size is a hot one, else other().
template <typename Hot, typename Other>
[[gnu::always_inline]] inline auto with_hot_size(std::size_t record_bytes, Hot hot, Other other) {
  if (record_bytes == sizeof(dbn::MboMsg)) return hot(KnownSize<sizeof(dbn::MboMsg)>{});
  if (record_bytes == sizeof(dbn::Mbp1Msg)) return hot(KnownSize<sizeof(dbn::Mbp1Msg)>{});
  return other();
}

}  // namespace lapwing
