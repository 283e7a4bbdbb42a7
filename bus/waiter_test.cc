#include "bus/waiter.h"

#include <catch2/catch.hpp>
#include <thread>

#include "bus/kernel.h"
#include "proto/shared_words.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kNever = UINT64_MAX;

TEST_CASE("A parked waiter returns when head moves and the bell rings") {
  RingWords words{};
  store_ring_state(words, RingState::kRunning);
  std::thread publisher([&] {
    store_head(words, 1);
    bump_bell(doorbell_address(words));
    futex_wake_all(doorbell_address(words));
  });
  Waiter waiter(WaitStrategy::kPark);
  while (load_head(words) == 0) waiter.turn(words, 0, kNever);
  publisher.join();
  CHECK(load_head(words) == 1);
}

}  // namespace
}  // namespace lapwing
