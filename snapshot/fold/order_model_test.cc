// Compares the fold `orders` with a model of its rules, using random records. A run may be
// interrupted anywhere.
#include "testing/order_model.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "snapshot/fold/entry_digest.h"
#include "testing/environment.h"
#include "testing/order_model_check.h"

namespace lapwing {
namespace {

using Bytes = std::span<const std::byte>;

// A record, or a loss if `lost` is above 0.
struct Step {
  dbn::MboMsg msg;
  std::uint32_t lost = 0;
};

std::vector<Step> draw_stream(std::uint32_t seed, std::size_t count) {
  std::mt19937 random(seed);
  const auto draw = [&](std::uint32_t bound) {
    return static_cast<std::uint32_t>(random() % bound);
  };
  std::vector<Step> steps(count);
  for (Step& step : steps) {
    step.msg = draw_record(draw);
    if (draw(40) == 0) step.lost = 1 + draw(5);
  }
  return steps;
}

// Folds steps [from, to) of a stream; returns the sequence after them.
Sequence fold_steps(const std::vector<Step>& steps, std::size_t from, std::size_t to,
                    Sequence sequence, FoldState& state) {
  const OrderFold fold;
  for (std::size_t i = from; i < to; ++i) {
    if (steps[i].lost > 0) {
      fold.lose({.first = sequence + 1, .last = sequence + steps[i].lost}, state);
      sequence += steps[i].lost;
    } else {
      fold.apply(++sequence, std::as_bytes(std::span(&steps[i].msg, 1)), state);
    }
  }
  return sequence;
}

// Writes the state and reloads it in a random order; returns the result.
MemoryState reload(const MemoryState& state, std::mt19937& random) {
  const OrderFold fold;
  std::vector<std::vector<std::byte>> entries;
  state.for_each([&](Bytes entry) { entries.emplace_back(entry.begin(), entry.end()); });
  std::shuffle(entries.begin(), entries.end(), random);
  MemoryState again(fold.shape());
  for (const std::vector<std::byte>& entry : entries) {
    OrderKey key;
    fold.key_of(entry, std::as_writable_bytes(std::span(&key, 1)));
    again.put(bytes_of(key), entry);
  }
  return again;
}

// Another implementation of a state: a sorted map.
class MapState : public FoldState {
 public:
  const std::byte* find(Bytes key) override {
    const auto found = entries_.find(text(key));
    return found == entries_.end() ? nullptr
                                   : reinterpret_cast<const std::byte*>(found->second.data());
  }
  void put(Bytes key, Bytes entry) override { entries_[text(key)] = text(entry); }
  void erase(Bytes key) override { entries_.erase(text(key)); }
  void erase_prefix(Bytes prefix) override {
    std::erase_if(entries_, [&](const auto& pair) { return pair.first.starts_with(text(prefix)); });
  }
  std::uint64_t digest() const {
    std::string all;
    for (const auto& [key, entry] : entries_) all += entry;
    return digest_entries(std::as_bytes(std::span(all.data(), all.size())));
  }

 private:
  static std::string text(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::map<std::string, std::string> entries_;
};

TEST_CASE("After any records, the state follows the rules") {
  const std::uint64_t streams = count_from("LAPWING_FOLD_STREAMS", 300);
  std::set<OrderModel::Trust> trusts;
  std::uint64_t misfits = 0;
  std::uint64_t tops = 0;
  std::uint64_t good = 0;
  for (std::uint32_t seed = 0; seed < streams; ++seed) {
    const std::vector<Step> steps = draw_stream(seed, 400);
    const OrderFold fold;
    MemoryState state(fold.shape());
    OrderModel model;
    Sequence sequence = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Sequence before = sequence;
      sequence = fold_steps(steps, i, i + 1, sequence, state);
      if (steps[i].lost > 0) {
        model.lose(before + 1, sequence);
      } else {
        model.apply(sequence, steps[i].msg);
      }
      const std::string wrong = OrderModelCheck::compare(model, state);
      INFO("seed " << seed << ", step " << i);
      REQUIRE(wrong == "");
    }
    for (const auto& [id, book] : model.books()) {
      trusts.insert(book.trust);
      misfits += book.misfits;
      tops += book.tops.size();
      if (!book.is_stale()) ++good;
    }
  }
  CHECK(trusts.size() == 4);
  CHECK(misfits > streams);
  CHECK(tops > streams / 8);
  CHECK(good > streams / 8);
}

TEST_CASE("A run that is cut anywhere and continues from the entries ends in the same state") {
  std::mt19937 random(7);
  for (std::uint32_t seed = 1000; seed < 1010; ++seed) {
    const std::vector<Step> steps = draw_stream(seed, 300);
    const OrderFold fold;
    MemoryState whole(fold.shape());
    fold_steps(steps, 0, steps.size(), 0, whole);
    for (std::size_t cut = 0; cut <= steps.size(); ++cut) {
      MemoryState first(fold.shape());
      const Sequence sequence = fold_steps(steps, 0, cut, 0, first);
      MemoryState second = reload(first, random);
      REQUIRE(second.digest() == first.digest());
      fold_steps(steps, cut, steps.size(), sequence, second);
      INFO("seed " << seed << ", cut after " << cut);
      REQUIRE(second.digest() == whole.digest());
    }
  }
}

TEST_CASE("The kind of storage does not change the state") {
  for (std::uint32_t seed = 2000; seed < 2020; ++seed) {
    const std::vector<Step> steps = draw_stream(seed, 2'000);
    MemoryState memory(OrderFold().shape());
    MapState map;
    fold_steps(steps, 0, steps.size(), 0, memory);
    fold_steps(steps, 0, steps.size(), 0, map);
    REQUIRE(memory.digest() == map.digest());
  }
}

}  // namespace
}  // namespace lapwing
