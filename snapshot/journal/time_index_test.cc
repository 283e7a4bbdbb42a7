#include "snapshot/journal/time_index.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

constexpr Id128 kTimeJournal{{1, 2, 3}};

TEST_CASE("Any flipped bit of a time entry is found, and zeros are not an entry") {
  const TimeEntry entry = make_time_entry(kTimeJournal, 77, 1'700'000'000'000'000'000);
  CHECK(time_entry_valid(kTimeJournal, entry));
  for (std::size_t bit = 0; bit < 8 * sizeof entry; ++bit) {
    TimeEntry flipped = entry;
    reinterpret_cast<std::uint8_t*>(&flipped)[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    INFO("bit " << bit);
    CHECK_FALSE(time_entry_valid(kTimeJournal, flipped));
  }
  CHECK_FALSE(time_entry_valid(kTimeJournal, TimeEntry{}));
  CHECK_FALSE(time_entry_valid(Id128{{9}}, entry));
}

}  // namespace
}  // namespace lapwing
