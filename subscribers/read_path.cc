#include "lapwing/detail/read_path.h"

#include "proto/hot_sizes.h"
#include "proto/slot_form.h"

namespace lapwing::detail {

bool ReadPath::take_bytes(std::byte* out, std::uint32_t more_looks) {
  if (next >= limit) [[unlikely]] {
    return false;
  }
  const Sequence n = next;
  const std::byte* const from = slot(n);
  const auto load = [=](auto bytes) __attribute__((always_inline)) {
    return look_until(more_looks,
                      [=] { return SlotForm::load_known(from, n, out, bytes).outcome; });
  };
  const std::size_t bytes = record_bytes;
  if (!with_hot_size(bytes, load, [=] { return load(bytes); })) return false;
  next = n + 1;
  return true;
}

}  // namespace lapwing::detail
