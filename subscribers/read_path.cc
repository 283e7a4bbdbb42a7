#include "lapwing/detail/read_path.h"

#include "proto/hot_sizes.h"
#include "proto/slot_form.h"

namespace lapwing::detail {

namespace {

template <typename Size>
[[gnu::always_inline]] inline bool look_for(const std::byte* from, Sequence n, std::byte* out,
                                            Size bytes, std::uint32_t more_looks) {
  return ReadPath::look_until(more_looks, [=]() __attribute__((always_inline)) {
    return SlotForm::load_known(from, n, out, bytes).outcome;
  });
}

// Not inlined, so that the code for the hot sizes saves none of the caller's registers.
[[gnu::noinline]] bool look_for_any(const std::byte* from, Sequence n, std::byte* out,
                                    std::size_t bytes, std::uint32_t more_looks) {
  return look_for(from, n, out, bytes, more_looks);
}

}  // namespace

bool ReadPath::take_bytes(std::byte* out, std::uint32_t more_looks) {
  const Sequence n = next;
  if (n >= limit) [[unlikely]] {
    return false;
  }
  const std::byte* const from = slot(n, slot_shift);
  const bool taken = with_hot_size(
      record_bytes,
      [=](auto bytes)
          __attribute__((always_inline)) { return look_for(from, n, out, bytes, more_looks); },
      [=, this] { return look_for_any(from, n, out, record_bytes, more_looks); });
  next = n + (taken ? 1 : 0);
  return taken;
}

}  // namespace lapwing::detail
