#include "lapwing/memory_state.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <compare>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/numeric/int128.h"
#include "lapwing/detail/atomic_word.h"
#include "proto/checkpoint_format.h"
#include "snapshot/fold/entry_digest.h"
#include "snapshot/fold/key_bytes.h"

namespace lapwing {
namespace {

using Bytes = std::span<const std::byte>;
using Slot = std::uint32_t;
using Word = std::uint64_t;

// A key as numbers that compare as its bytes do, with zeros behind it. All keys of a state have one
// size, so the zeros keep their order.
struct KeyWords {
  std::array<Word, kKeyBytesMax / sizeof(Word)> words{};

  friend auto operator<=>(const KeyWords&, const KeyWords&) = default;
};

KeyWords words_of(Bytes key) {
  KeyWords result;
  const std::size_t whole = key.size() / sizeof(Word);
  const std::size_t rest = key.size() % sizeof(Word);
  for (std::size_t i = 0; i < whole; ++i) {
    result.words[i] = read_big_endian<Word>(key.data() + i * sizeof(Word));
  }
  if (rest == 0) return result;
  // Each load is within one 8-byte word. The caller may have just stored the key as words, and a
  // processor forwards a store only to a load within it.
  const std::byte* at = key.data() + whole * sizeof(Word);
  int shift = 64;
  const auto take = [&]<typename Part>(Part) {
    if ((rest & sizeof(Part)) == 0) return;
    shift -= 8 * static_cast<int>(sizeof(Part));
    result.words[whole] |= Word{read_big_endian<Part>(at)} << shift;
    at += sizeof(Part);
  };
  take(std::uint32_t{});
  take(std::uint16_t{});
  take(std::uint8_t{});
  return result;
}

}  // namespace

class MemoryState::Impl {
 public:
  explicit Impl(const FoldShape& shape)
      : key_bytes_(shape.key_bytes <= kKeyBytesMax ? shape.key_bytes : 0),
        entry_bytes_(shape.entry_bytes),
        key_words_((key_bytes_ + sizeof(Word) - 1) / sizeof(Word)),
        slot_bytes_(key_words_ * sizeof(Word) + (shape.entry_bytes + 7) / 8 * 8),
        index_(0, SlotHash{this}, SlotEqual{this}) {}

  const std::byte* find(Bytes key) const {
    const auto found = index_.find(words_of(key));
    return found == index_.end() ? nullptr : entry_at(*found);
  }

  void put(Bytes key, Bytes entry) {
    const KeyWords words = words_of(key);
    auto found = index_.find(words);
    if (found == index_.end()) {
      const Slot slot = take_slot();
      std::memcpy(slot_at(slot), &words, key_words_ * sizeof(Word));
      found = index_.insert(slot).first;
    }
    std::memcpy(entry_at(*found), entry.data(), entry_bytes_);
  }

  void erase(Bytes key) {
    const KeyWords words = words_of(key);
    const auto found = index_.find(words);
    if (found == index_.end()) return;
    if (notes_[*found].is_ordered) gone_.push_back(words);
    give_slot(*found);
    index_.erase(found);
  }

  void erase_prefix(Bytes prefix) {
    const KeyWords from = words_of(prefix);
    if (kWalkFactor * taken_ > notes_.size()) return erase_by_walk(from, prefix.size());
    bring_in_order();
    const auto first = ordered_.lower_bound(from);
    auto last = first;
    for (; last != ordered_.end(); ++last) {
      if (!begins_with(last->first, from, prefix.size())) break;
      index_.erase(index_.find(last->first));
      give_slot(last->second);
    }
    ordered_.erase(first, last);
  }

  std::uint64_t size() const { return index_.size(); }

  template <typename Use>
  void for_each(const Use& use) {
    bring_in_order();
    for (const auto& [key, slot] : ordered_) use(Bytes(entry_at(slot), entry_bytes_));
  }

  FoldShape shape() const {  // as much of it as matters here
    FoldShape shape;
    shape.key_bytes = static_cast<std::uint32_t>(key_bytes_);
    shape.entry_bytes = static_cast<std::uint32_t>(entry_bytes_);
    return shape;
  }
  // No key fits a shape whose keys are empty, or longer than kKeyBytesMax.
  bool has_key_bytes(std::size_t size) const { return size == key_bytes_ && size != 0; }
  bool has_entry_bytes(std::size_t size) const { return size == entry_bytes_; }

 private:
  // The index holds slots and finds them by the key that stands in them.
  struct SlotHash {
    using is_transparent = void;
    std::size_t operator()(Slot slot) const { return (*this)(impl->words_at(slot)); }
    std::size_t operator()(const KeyWords& key) const { return (*this)(key.words.data()); }
    std::size_t operator()(const Word* words) const {
      Word hash = 0;
      for (std::size_t i = 0; i < impl->key_words_; ++i) {
        const absl::uint128 product = absl::uint128(hash ^ words[i]) * kHashFactor;
        hash = absl::Uint128High64(product) ^ absl::Uint128Low64(product);
      }
      return hash;
    }
    static constexpr Word kHashFactor = 0x9e3779b97f4a7c15;
    const Impl* impl;
  };
  struct SlotEqual {
    using is_transparent = void;
    bool operator()(Slot a, Slot b) const { return a == b; }
    bool operator()(Slot a, const KeyWords& b) const {
      const Word* words = impl->words_at(a);
      for (std::size_t i = 0; i < impl->key_words_; ++i) {  // faster than memcmp for two words
        if (words[i] != b.words[i]) return false;
      }
      return true;
    }
    bool operator()(const KeyWords& a, Slot b) const { return (*this)(b, a); }
    const Impl* impl;
  };

  // A walk visits a slot in about an eighth of the time that sorting a new slot takes.
  static constexpr std::size_t kWalkFactor = 8;

  // Erases without sorting. Each walk is paid for by the slots taken since the last walk or sort.
  void erase_by_walk(const KeyWords& from, std::size_t prefix_bytes) {
    taken_ = 0;
    for (Slot slot = 0; slot < notes_.size(); ++slot) {
      if (!notes_[slot].is_used) continue;
      const KeyWords key = key_at(slot);
      if (!begins_with(key, from, prefix_bytes)) continue;
      if (notes_[slot].is_ordered) gone_.push_back(key);
      index_.erase(index_.find(key));
      give_slot(slot);
    }
  }

  static bool begins_with(const KeyWords& key, const KeyWords& prefix, std::size_t prefix_bytes) {
    for (std::size_t i = 0; prefix_bytes > 0; ++i) {
      const std::size_t bytes = std::min(prefix_bytes, sizeof(Word));
      const Word mask = ~Word{0} << (8 * (sizeof(Word) - bytes));
      if (((key.words[i] ^ prefix.words[i]) & mask) != 0) return false;
      prefix_bytes -= bytes;
    }
    return true;
  }

  const std::byte* slot_at(Slot slot) const {
    return slots_.data() + std::size_t{slot} * slot_bytes_;
  }
  std::byte* slot_at(Slot slot) { return slots_.data() + std::size_t{slot} * slot_bytes_; }
  KeyWords key_at(Slot slot) const {
    KeyWords key;
    std::memcpy(&key, slot_at(slot), key_words_ * sizeof(Word));
    return key;
  }
  const Word* words_at(Slot slot) const { return reinterpret_cast<const Word*>(slot_at(slot)); }
  const std::byte* entry_at(Slot slot) const { return slot_at(slot) + key_words_ * sizeof(Word); }
  std::byte* entry_at(Slot slot) { return slot_at(slot) + key_words_ * sizeof(Word); }

  // What the order knows of a slot.
  struct Note {
    bool is_used = false;
    bool is_ordered = false;  // its key stands in ordered_
    bool is_new = false;      // it stands in new_
  };

  Slot take_slot() {
    if (free_.empty()) {
      assert(notes_.size() < ~Slot{0} && "a state in memory holds at most 2^32 - 1 entries");
      free_.push_back(static_cast<Slot>(notes_.size()));
      notes_.emplace_back();
      slots_.resize(slots_.size() + slot_bytes_);
    }
    ++taken_;
    const Slot slot = free_.back();
    free_.pop_back();
    Note& note = notes_[slot];
    note.is_used = true;
    if (!note.is_new) new_.push_back(slot);
    note.is_new = true;
    return slot;
  }

  void give_slot(Slot slot) {
    notes_[slot].is_used = false;
    notes_[slot].is_ordered = false;
    free_.push_back(slot);
  }

  // What came and went since the last time costs nothing here: its slot is unused, or has been used
  // again, and stands in new_ once.
  void bring_in_order() {
    for (const KeyWords& key : gone_) ordered_.erase(key);
    gone_.clear();
    std::vector<std::pair<KeyWords, Slot>> came;
    for (const Slot slot : new_) {
      Note& note = notes_[slot];
      note.is_new = false;
      if (!note.is_used) continue;
      note.is_ordered = true;
      came.emplace_back(key_at(slot), slot);
    }
    new_.clear();
    taken_ = 0;
    std::sort(came.begin(), came.end());
    auto hint = ordered_.begin();
    for (const auto& each : came) hint = std::next(ordered_.insert(hint, each));
  }

  const std::size_t key_bytes_;
  const std::size_t entry_bytes_;
  const std::size_t key_words_;
  const std::size_t slot_bytes_;
  std::vector<std::byte> slots_;  // key and entry of each, by slot
  std::vector<Note> notes_;       // by slot
  std::vector<Slot> free_;
  absl::flat_hash_set<Slot, SlotHash, SlotEqual> index_;
  // The order as it was when it was asked for last, and what has changed since: slots whose keys
  // came, and keys that stand in it and went. Neither is longer than what the state once held.
  absl::btree_map<KeyWords, Slot> ordered_;
  std::vector<Slot> new_;
  std::vector<KeyWords> gone_;
  std::size_t taken_ = 0;  // slots, since the order was brought up to date or they were walked over
};

MemoryState::MemoryState(const FoldShape& shape) : impl_(std::make_unique<Impl>(shape)) {}
MemoryState::MemoryState(MemoryState&&) noexcept = default;
MemoryState& MemoryState::operator=(MemoryState&&) noexcept = default;
MemoryState::~MemoryState() = default;

const std::byte* MemoryState::find(Bytes key) {
  return impl_->has_key_bytes(key.size()) ? impl_->find(key) : nullptr;
}

void MemoryState::put(Bytes key, Bytes entry) {
  if (impl_->has_key_bytes(key.size()) && impl_->has_entry_bytes(entry.size())) {
    impl_->put(key, entry);
  }
}

void MemoryState::erase(Bytes key) {
  if (impl_->has_key_bytes(key.size())) impl_->erase(key);
}

void MemoryState::erase_prefix(Bytes prefix) {
  if (prefix.size() <= kKeyBytesMax) impl_->erase_prefix(prefix);
}

void MemoryState::clear() {
  impl_->erase_prefix({});
}

std::uint64_t MemoryState::size() const {
  return impl_->size();
}

void MemoryState::for_each(const std::function<void(Bytes entry)>& use) const {
  impl_->for_each(use);
}

std::uint64_t MemoryState::digest() const {
  EntryDigest digest;
  impl_->for_each([&](Bytes entry) { digest.add(entry); });
  return digest.value();
}

}  // namespace lapwing
