#include "relay/out/ask_budget.h"

#include <catch2/catch.hpp>

namespace lapwing {

TEST_CASE("Answers over ten seconds stay within the rate and one burst") {
  constexpr std::uint64_t kRate = 4 << 20;
  constexpr std::uint64_t kMessage = 100'000;
  AskBudget budget(kRate);
  std::uint64_t now_ns = 1;
  std::uint64_t sent = 0;
  while (now_ns < 10'000'000'000) {
    const std::uint64_t wait_ns = budget.wait_ns(kMessage, now_ns);
    now_ns += wait_ns;
    if (wait_ns > 0) continue;
    budget.spend(kMessage, now_ns);
    sent += kMessage;
  }
  CHECK(sent <= 10 * kRate + kRate / 4 + kMessage);
  CHECK(sent >= 10 * kRate - kMessage);
}

TEST_CASE("A message larger than the burst is sent once the burst is full") {
  AskBudget budget(1000);
  CHECK(budget.wait_ns(kRelayMessageBytesMax, 1) == 0);
  budget.spend(kRelayMessageBytesMax, 1);
  const std::uint64_t wait_ns = budget.wait_ns(2 * kRelayMessageBytesMax, 1);
  CHECK(wait_ns > 0);
  CHECK(budget.wait_ns(2 * kRelayMessageBytesMax, 1 + wait_ns) == 0);
}

TEST_CASE("A rate of 0 does not limit") {
  AskBudget budget(0);
  for (int i = 0; i < 1000; ++i) {
    CHECK(budget.wait_ns(kRelayMessageBytesMax, 1) == 0);
    budget.spend(kRelayMessageBytesMax, 1);
  }
}

}  // namespace lapwing
