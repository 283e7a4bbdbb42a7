// The record sizes for which the compiler generates separate code. It knows the size there, so
// moves of words and loops around them become straight-line code (docs/explanation/adr/0005-slot-moves.md).
//
// There is one list, so a size is as fast in a publish as in a read and in a run of reads. Every
// other size takes the same steps in loops.
#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>

namespace lapwing {

// Bytes of DBN's MboMsg and Mbp1Msg; snapshot/dbn/dbn_reader.cc asserts that.
inline constexpr std::size_t kHotSizes[] = {56, 80};

template <std::size_t kBytes>
using KnownSize = std::integral_constant<std::size_t, kBytes>;

// Calls hot(KnownSize<record_bytes>{}) if the size is a hot one, else other().
template <typename Hot, typename Other>
[[gnu::always_inline]] inline auto with_hot_size(std::size_t record_bytes, Hot hot, Other other) {
  static_assert(std::size(kHotSizes) == 2, "compare with every size");
  if (record_bytes == kHotSizes[0]) return hot(KnownSize<kHotSizes[0]>{});
  if (record_bytes == kHotSizes[1]) return hot(KnownSize<kHotSizes[1]>{});
  return other();
}

}  // namespace lapwing
