#include "lapwing/memory_state.h"

#include <malloc.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>

#include "proto/checkpoint_format.h"
#include "snapshot/fold/entry_digest.h"

namespace lapwing {
namespace {

constexpr std::size_t kKeyBytes = 3;
constexpr std::size_t kEntryBytes = 5;

FoldShape test_shape() {
  FoldShape shape;
  shape.key_bytes = kKeyBytes;
  shape.entry_bytes = kEntryBytes;
  return shape;
}

std::span<const std::byte> bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string all_of(const MemoryState& state) {
  std::string all;
  state.for_each([&](std::span<const std::byte> entry) {
    all.append(reinterpret_cast<const char*>(entry.data()), entry.size());
  });
  return all;
}

std::string found(MemoryState& state, const std::string& key) {
  const std::byte* entry = state.find(bytes(key));
  return entry == nullptr ? "" : std::string(reinterpret_cast<const char*>(entry), kEntryBytes);
}

TEST_CASE("Put entries are found, erased ones are not") {
  MemoryState state(test_shape());
  state.put(bytes("abc"), bytes("abc-1"));
  state.put(bytes("abd"), bytes("abd-1"));
  state.put(bytes("abc"), bytes("abc-2"));
  CHECK(state.size() == 2);
  CHECK(found(state, "abc") == "abc-2");
  CHECK(found(state, "abd") == "abd-1");
  CHECK(found(state, "abe").empty());
  state.erase(bytes("abc"));
  state.erase(bytes("abe"));
  CHECK(state.size() == 1);
  CHECK(found(state, "abc").empty());
}

TEST_CASE("Entries are in the order of memcmp, whatever the order of puts") {
  MemoryState state(test_shape());
  for (const char* key : {"\xff\x01\x01", "ab\x7f", "ab\x80", "aaa"}) {
    state.put(bytes(key), bytes(std::string(key) + "--"));
  }
  CHECK(all_of(state) == "aaa--ab\x7f--ab\x80--\xff\x01\x01--");
}

TEST_CASE("Erasing a prefix erases only the keys that begin with it") {
  MemoryState state(test_shape());
  const std::string keys[] = {"ab\xff", "ac" + std::string(1, '\0'), "acc", "ac\xff", "ad1"};
  for (const std::string& key : keys) state.put(bytes(key), bytes(key + "--"));
  state.erase_prefix(bytes("ac"));
  CHECK(all_of(state) == "ab\xff--ad1--");
  CHECK(found(state, "acc").empty());
  state.erase_prefix(bytes("x"));
  CHECK(state.size() == 2);
  state.clear();
  CHECK(state.size() == 0);
  CHECK(all_of(state).empty());
  state.put(bytes("abc"), bytes("abc-1"));
  state.put(bytes("abb"), bytes("abb-1"));
  CHECK(all_of(state) == "abb-1abc-1");
}

TEST_CASE("The digest is that of the entries end to end") {
  MemoryState state(test_shape());
  CHECK(state.digest() == digest_entries({}));
  state.put(bytes("b22"), bytes("b22-2"));
  state.put(bytes("a11"), bytes("a11-1"));
  CHECK(state.digest() == digest_entries(bytes("a11-1b22-2")));
  CHECK(state.digest() != digest_entries(bytes("b22-2a11-1")));
}

TEST_CASE("A digest in pieces is the digest of the whole") {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>(i * 7);
  for (const std::size_t piece : {1u, 64u, 999u}) {
    EntryDigest digest;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      digest.add(bytes(text).subspan(at, std::min(piece, text.size() - at)));
    }
    CHECK(digest.value() == digest_entries(bytes(text)));
  }
}

TEST_CASE("After any puts and erases, the state equals a sorted map") {
  std::mt19937 random(1);
  MemoryState state(test_shape());
  std::map<std::string, std::string> model;
  std::uint64_t looks = 0;
  for (int step = 0; step < 200'000; ++step) {
    std::string key(kKeyBytes, '\0');
    key[0] = static_cast<char>(random() % 3);
    key[1] = static_cast<char>(random() % 64);
    key[2] = static_cast<char>(random() % 256);
    switch (random() % 16) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        state.erase(bytes(key));
        model.erase(key);
        break;
      default: {
        const std::string entry = key + std::to_string(10 + random() % 90);
        state.put(bytes(key), bytes(entry));
        model[key] = entry;
      }
    }
    if (step % 5'000 == 0) {
      const std::string prefix = key.substr(0, 1 + random() % 2);
      state.erase_prefix(bytes(prefix));
      std::erase_if(model, [&](const auto& pair) { return pair.first.starts_with(prefix); });
    }
    if (step % 1'777 != 0) continue;
    ++looks;
    std::string expected;
    for (const auto& [unused, entry] : model) expected += entry;
    REQUIRE(state.size() == model.size());
    REQUIRE(all_of(state) == expected);
  }
  CHECK(looks > 100);
}

TEST_CASE("Keys and prefixes of any length are compared as bytes") {
  std::mt19937 random(3);
  for (std::uint32_t key_bytes = 1; key_bytes <= kKeyBytesMax; ++key_bytes) {
    FoldShape shape = test_shape();
    shape.key_bytes = key_bytes;
    shape.entry_bytes = key_bytes;  // its key
    MemoryState state(shape);
    std::set<std::string> model;
    const auto any = [&](std::size_t size) {  // all keys are similar
      std::string text(size, 'a');
      for (int i = 0; i < 2; ++i) text[random() % size] = "\x00\x01\x7f\x80\xff"[random() % 5];
      return text;
    };
    for (int i = 0; i < 300; ++i) {
      const std::string key = any(key_bytes);
      state.put(bytes(key), bytes(key));
      model.insert(key);
      if (i % 10 != 0) continue;
      const std::string prefix = any(1 + random() % key_bytes);
      state.erase_prefix(bytes(prefix));
      std::erase_if(model, [&](const std::string& each) { return each.starts_with(prefix); });
    }
    std::string expected;
    for (const std::string& key : model) expected += key;
    INFO("keys of " << key_bytes << " bytes");
    REQUIRE(all_of(state) == expected);
  }
}

TEST_CASE("Erased keys are removed from the order for good, whichever call updates it") {
  constexpr std::uint32_t kLive = 500;
  const auto key_of = [](std::uint32_t number) {
    return std::string{static_cast<char>(number >> 16), static_cast<char>(number >> 8),
                       static_cast<char>(number)};
  };
  MemoryState state(test_shape());
  for (std::uint32_t number = 0; number < 100'000; ++number) {
    state.put(bytes(key_of(number)), bytes(key_of(number) + "--"));
    if (number >= kLive) state.erase(bytes(key_of(number - kLive)));
  }
  std::string expected;
  for (std::uint32_t number = 100'000 - kLive; number < 100'000; ++number) {
    expected += key_of(number) + "--";
  }
  CHECK(state.size() == kLive);
  CHECK(all_of(state) == expected);
}

TEST_CASE("Erased entries leave no memory behind, even if the order is never read") {
  MemoryState state(test_shape());
  const auto cycle = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const std::string key = std::to_string(100 + i % 900);
      state.put(bytes(key), bytes(key + "--"));
      if (i % 900 >= 100) state.erase(bytes(std::to_string(i % 900)));
    }
  };
  cycle(10'000);
  CHECK(state.digest() != 0);
  cycle(10'000);
  const auto heap_bytes = [] {  // 0 under the address sanitizer
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const std::size_t before = heap_bytes();
  cycle(1'000'000);
  CHECK(heap_bytes() <= before + 100'000);
}

TEST_CASE("A state that was moved is the same state") {
  MemoryState first(test_shape());
  first.put(bytes("abc"), bytes("abc-1"));
  MemoryState second = std::move(first);
  CHECK(found(second, "abc") == "abc-1");
  MemoryState third(test_shape());
  third.put(bytes("xyz"), bytes("xyz-1"));
  third = std::move(second);
  third.put(bytes("abd"), bytes("abd-1"));
  CHECK(all_of(third) == "abc-1abd-1");
}

TEST_CASE("Keys and entries of another size than the shape's change nothing") {
  MemoryState state(test_shape());
  state.put(bytes("abc"), bytes("abc-1"));
  const std::uint64_t before = state.digest();
  for (const char* key : {"", "ab", "abcd", "abcdefghijklmnopqrstuvwxyz0123456789"}) {
    CHECK(state.find(bytes(key)) == nullptr);
    state.put(bytes(key), bytes("abc-2"));
    state.erase(bytes(key));
  }
  state.put(bytes("abd"), bytes("abd-"));
  state.put(bytes("abd"), bytes("abd-12"));
  state.erase_prefix(bytes(std::string(kKeyBytesMax + 1, 'a')));
  state.erase_prefix(bytes(std::string("abc\0", 4)));
  state.erase_prefix(bytes(std::string("abc\0\0\0\0\0\0", 9)));
  CHECK(state.digest() == before);
  FoldShape impossible = test_shape();
  impossible.key_bytes = kKeyBytesMax + 8;
  MemoryState holds_nothing(impossible);
  const std::string key(impossible.key_bytes, 'k');
  holds_nothing.put(bytes(key), bytes("entry"));
  holds_nothing.put({}, bytes("entry"));
  CHECK(holds_nothing.size() == 0);
  CHECK(holds_nothing.find(bytes(key)) == nullptr);
}

}  // namespace
}  // namespace lapwing
