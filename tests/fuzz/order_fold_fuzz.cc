// Fuzz target: the input is a stream of market-by-order records and losses. After each, the state
// of the fold `orders` is compared with the model.
//
//   tests/fuzz/run.sh order_fold_fuzz SECONDS
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "testing/order_model_check.h"

namespace lapwing {
namespace {

// Numbers from the input, then zeros once it is used up.
class Input {
 public:
  explicit Input(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool is_used_up() const { return bytes_.empty(); }
  std::uint32_t operator()(std::uint32_t bound) {
    if (bytes_.empty()) return 0;
    const std::uint32_t number = bytes_.front() % bound;
    bytes_ = bytes_.subspan(1);
    return number;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

void run(Input input) {
  const OrderFold fold;
  MemoryState state(fold.shape());
  OrderModel model;
  Sequence sequence = 0;
  while (!input.is_used_up()) {
    if (input(32) == 1) {
      const Gap gap{.first = sequence + 1, .last = sequence + input(4)};  // may be empty
      fold.lose(gap, state);
      if (gap.count() > 0) model.lose(gap.first, gap.last);
      sequence = gap.last;
    } else {
      const dbn::MboMsg msg = draw_record(input);
      fold.apply(++sequence, std::as_bytes(std::span(&msg, 1)), state);
      model.apply(sequence, msg);
    }
    const std::string wrong = OrderModelCheck::compare(model, state);
    if (wrong.empty()) continue;
    std::fprintf(stderr, "after record %llu: %s\n", static_cast<unsigned long long>(sequence),
                 wrong.c_str());
    std::abort();
  }
}

}  // namespace
}  // namespace lapwing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  lapwing::run(lapwing::Input({bytes, size}));
  return 0;
}
