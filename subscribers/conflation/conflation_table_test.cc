#include "subscribers/conflation/conflation_table.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <list>
#include <random>
#include <string>
#include <vector>

namespace lapwing {
namespace {

using Number = std::uint64_t;

template <typename Value>
std::span<const std::byte> bytes_of(const Value& value) {
  return std::as_bytes(std::span(&value, 1));
}

Number number_in(std::span<const std::byte> record) {
  Number number = 0;
  REQUIRE(record.size() == sizeof number);
  std::memcpy(&number, record.data(), sizeof number);
  return number;
}

// A naive implementation of the table.
class Model {
 public:
  explicit Model(std::size_t keys_max) : keys_max_(keys_max) {}

  bool put(Number key, Sequence sequence, Number record) {
    const auto same = [key](const Entry& entry) { return entry.key == key; };
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), same);
    if (found == waiting_.end()) {
      const bool known = std::find(keys_.begin(), keys_.end(), key) != keys_.end();
      if (!known && keys_.size() == keys_max_) return false;
      if (!known) keys_.push_back(key);
      waiting_.push_back({key, sequence, record, 0});
      return true;
    }
    const Number conflated = found->conflated + 1;
    waiting_.erase(found);
    waiting_.push_back({key, sequence, record, conflated});
    return true;
  }
  struct Entry {
    Number key;
    Sequence sequence;
    Number record;
    Number conflated;
  };
  Entry take_front() {
    const Entry entry = waiting_.front();
    waiting_.pop_front();
    if (waiting_.empty()) keys_.clear();
    return entry;
  }
  std::size_t size() const { return waiting_.size(); }

 private:
  std::size_t keys_max_;
  std::list<Entry> waiting_;
  std::vector<Number> keys_;  // since the table was last empty
};

}  // namespace

TEST_CASE("The newest record of each key leaves, in the order of the sequences") {
  ConflationTable table(sizeof(Number), sizeof(Number), 10);
  const Number keys[] = {7, 8, 7, 9, 7};
  for (Sequence n = 1; n <= 5; ++n) {
    REQUIRE(table.put(bytes_of(keys[n - 1]), n, bytes_of(Number{n * 100})));
  }
  REQUIRE(table.size() == 3);
  std::vector<std::vector<Number>> left;
  while (!table.empty()) {
    const auto waiting = table.take_front();
    left.push_back({waiting.sequence, number_in(waiting.record), waiting.conflated});
  }
  CHECK(left == std::vector<std::vector<Number>>{{2, 200, 0}, {4, 400, 0}, {5, 500, 2}});
}

TEST_CASE("A key without a slot is refused, but one that waits is not") {
  ConflationTable table(sizeof(Number), sizeof(Number), 2);
  REQUIRE(table.put(bytes_of(Number{1}), 1, bytes_of(Number{1})));
  REQUIRE(table.put(bytes_of(Number{2}), 2, bytes_of(Number{2})));
  CHECK_FALSE(table.put(bytes_of(Number{3}), 3, bytes_of(Number{3})));
  CHECK(table.put(bytes_of(Number{1}), 4, bytes_of(Number{4})));
  CHECK(table.take_front().sequence == 2);
  CHECK(table.take_front().conflated == 1);
  CHECK(table.put(bytes_of(Number{3}), 5, bytes_of(Number{5})));
}

TEST_CASE("The table behaves like a naive one, whatever is put in and taken out") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto keys_max = static_cast<std::uint32_t>(1 + random() % 40);
    const Number keys = 1 + random() % 80;
    ConflationTable table(sizeof(Number), sizeof(Number), keys_max);
    Model model(keys_max);
    std::uint64_t refused = 0;
    std::uint64_t conflated = 0;
    for (Sequence n = 1; n <= 4'000; ++n) {
      const Number key = random() % keys;
      const bool put = table.put(bytes_of(key), n, bytes_of(Number{n}));
      REQUIRE(put == model.put(key, n, n));
      refused += put ? 0 : 1;
      // Sometimes take part of the table, or all of it; if there was no room, always all of it.
      std::uint64_t takes = random() % 20 == 0 ? random() % (keys_max + 1) : 0;
      if (!put) takes = table.size();
      for (; takes > 0 && !table.empty(); --takes) {
        const Model::Entry expected = model.take_front();
        const auto waiting = table.take_front();
        REQUIRE(waiting.sequence == expected.sequence);
        REQUIRE(number_in(waiting.record) == expected.record);
        REQUIRE(waiting.conflated == expected.conflated);
        conflated += waiting.conflated;
      }
      REQUIRE(table.size() == model.size());
    }
    CHECK((refused > 0) == (keys > keys_max));
    CHECK((conflated > 0));
  }
}

}  // namespace lapwing
