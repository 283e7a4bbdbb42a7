// The record sizes for which the compiler generates separate code. It then knows the size, so word
// moves and the loops around them become straight-line code
// (docs/explanation/adr/0005-slot-moves.md).
//
// Publishing, reading and reading runs all use this list, so a size is fast in all of them. For
// other sizes, the same steps are executed in loops.
#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>

namespace lapwing {

// The sizes of DBN's MboMsg and Mbp1Msg, as asserted in snapshot/dbn/dbn_reader.cc.
inline constexpr std::size_t kHotSizes[] = {56, 80};

template <std::size_t kBytes>
using KnownSize = std::integral_constant<std::size_t, kBytes>;

// Calls hot(KnownSize<record_bytes>{}) if the size is in kHotSizes, else other().
template <typename Hot, typename Other>
[[gnu::always_inline]] inline auto with_hot_size(std::size_t record_bytes, Hot hot, Other other) {
  static_assert(std::size(kHotSizes) == 2, "compare with every size");
  if (record_bytes == kHotSizes[0]) return hot(KnownSize<kHotSizes[0]>{});
  if (record_bytes == kHotSizes[1]) return hot(KnownSize<kHotSizes[1]>{});
  return other();
}

}  // namespace lapwing
