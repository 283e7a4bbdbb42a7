// Counts the whole program's allocations, so no other test may run at the same time.
#include <cstring>

#include "lapwing/conflation.h"
#include "testing/bus_fixture.h"
#include "testing/counted_allocations.h"

namespace lapwing {

TEST_CASE("A conflated reader allocates nothing after its number of keys has peaked") {
  constexpr std::uint64_t kKeys = 50;
  constexpr std::uint64_t kRecords = 500;  // in one interval, fewer than the ring holds
  TestBus bus;
  bus.start();
  std::uint64_t now_ns = 0;
  ConflationOptions options;
  options.interval = std::chrono::nanoseconds(1'000);
  options.now_ns = [&] { return now_ns; };
  options.key = {sizeof kKeys, [](std::span<const std::byte> record, std::span<std::byte> key) {
                   std::uint64_t value = 0;
                   std::memcpy(&value, record.data(), sizeof value);
                   value %= kKeys;
                   std::memcpy(key.data(), &value, sizeof value);
                 }};
  auto opened = ConflatedReader::open(bus.options(), options);
  REQUIRE(opened.ok());
  ConflatedReader& reader = *opened;
  std::uint64_t allocated = 0;
  std::uint64_t shown = 0;
  for (int interval = 0; interval < 40; ++interval) {
    bus.publish(kRecords);
    for (int polls = 0; polls < 500; ++polls) {
      bus.turn();
      const std::uint64_t before = allocations;
      shown += came(reader.next(Deadline::now())) == ItemKind::kRecord ? 1U : 0U;
      if (interval >= 20) allocated += allocations - before;
    }
    now_ns += 1'000;
  }
  CHECK(allocated == 0);
  CHECK(shown > 30 * kKeys);
  CHECK(reader.counters().records == 40 * kRecords);
}

}  // namespace lapwing
