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

// A key as numbers that compare in byte order, padded with zeros. All keys of a state
// have the same size, so the padding does not change their order.
template <std::size_t kWords>
struct KeyWords {
  std::array<Word, kWords> words{};

  friend auto operator<=>(const KeyWords&, const KeyWords&) = default;
};

// Reads `rest` bytes, 1 to 7, padded with zeros. Each load is within one 8-byte word: the caller
// may have just stored the key as words, and processors forward a store only to a load within it.
Word last_word(const std::byte* at, std::size_t rest) {
  const auto two_loads = [&]<typename Part>(Part) {  // they overlap or are adjacent
    const int spare = 8 * static_cast<int>(sizeof(Word) - rest);
    constexpr int kShift = 8 * static_cast<int>(sizeof(Word) - sizeof(Part));
    return Word{read_big_endian<Part>(at)} << kShift |
           Word{read_big_endian<Part>(at + rest - sizeof(Part))} << spare;
  };
  if (rest >= sizeof(std::uint32_t)) return two_loads(std::uint32_t{});
  if (rest >= sizeof(std::uint16_t)) return two_loads(std::uint16_t{});
  return two_loads(std::uint8_t{});
}

// `key` must not have more bytes than the result.
template <std::size_t kWords>
KeyWords<kWords> words_of(Bytes key) {
  KeyWords<kWords> result;
  const std::byte* at = key.data();
  std::size_t left = key.size();
  for (Word& word : result.words) {
    if (left < sizeof(Word)) {
      if (left != 0) word = last_word(at, left);
      break;
    }
    word = read_big_endian<Word>(at);
    at += sizeof(Word);
    left -= sizeof(Word);
  }
  return result;
}

}  // namespace

// Keys and entries must have the state's sizes, and a prefix must not be longer than a key.
class MemoryState::Impl {
 public:
  static std::unique_ptr<Impl> make(const FoldShape& shape);

  // If a shape has empty keys or keys longer than kKeyBytesMax, no key fits.
  explicit Impl(const FoldShape& shape)
      : key_bytes_(shape.key_bytes <= kKeyBytesMax ? shape.key_bytes : 0),
        entry_bytes_(shape.entry_bytes) {}
  virtual ~Impl() = default;

  std::size_t key_bytes() const { return key_bytes_; }
  bool has_key_bytes(std::size_t size) const { return size == key_bytes_ && size != 0; }
  bool has_entry_bytes(std::size_t size) const { return size == entry_bytes_; }

  virtual const std::byte* find(Bytes key) const = 0;
  virtual void put(Bytes key, Bytes entry) = 0;
  virtual void erase(Bytes key) = 0;
  virtual void erase_prefix(Bytes prefix) = 0;
  virtual std::uint64_t size() const = 0;
  virtual void for_each(const std::function<void(Bytes entry)>& use) = 0;

 protected:
  template <std::size_t kWords>
  class Table;

  const std::size_t key_bytes_;
  const std::size_t entry_bytes_;
};

// A table whose keys have up to kWords words.
template <std::size_t kWords>
class MemoryState::Impl::Table final : public Impl {
 public:
  explicit Table(const FoldShape& shape)
      : Impl(shape),
        slot_bytes_(sizeof(Key) + (shape.entry_bytes + 7) / 8 * 8),
        index_(0, SlotHash{this}, SlotEqual{this}) {}

  const std::byte* find(Bytes key) const override {
    const auto found = index_.find(words_of<kWords>(key));
    return found == index_.end() ? nullptr : entry_at(*found);
  }

  void put(Bytes key, Bytes entry) override {
    const Key words = words_of<kWords>(key);
    auto found = index_.find(words);
    if (found == index_.end()) {
      const Slot slot = take_slot();
      std::memcpy(slot_at(slot), &words, sizeof(Key));
      found = index_.insert(slot).first;
    }
    std::memcpy(entry_at(*found), entry.data(), entry_bytes_);
  }

  void erase(Bytes key) override {
    const Key words = words_of<kWords>(key);
    const auto found = index_.find(words);
    if (found == index_.end()) return;
    if (notes_[*found].is_ordered) gone_.push_back(words);
    give_slot(*found);
    index_.erase(found);
  }

  void erase_prefix(Bytes prefix) override {
    const Key from = words_of<kWords>(prefix);
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

  std::uint64_t size() const override { return index_.size(); }

  void for_each(const std::function<void(Bytes entry)>& use) override {
    bring_in_order();
    for (const auto& [key, slot] : ordered_) use(Bytes(entry_at(slot), entry_bytes_));
  }

 private:
  using Key = KeyWords<kWords>;

  // The index contains slots and finds them by the keys they contain.
  struct SlotHash {
    using is_transparent = void;
    std::size_t operator()(Slot slot) const { return (*this)(table->words_at(slot)); }
    std::size_t operator()(const Key& key) const { return (*this)(key.words.data()); }
    std::size_t operator()(const Word* words) const {
      Word hash = 0;
      for (std::size_t i = 0; i < kWords; ++i) {
        const absl::uint128 product = absl::uint128(hash ^ words[i]) * kHashFactor;
        hash = absl::Uint128High64(product) ^ absl::Uint128Low64(product);
      }
      return hash;
    }
    static constexpr Word kHashFactor = 0x9e3779b97f4a7c15;
    const Table* table;
  };
  struct SlotEqual {
    using is_transparent = void;
    bool operator()(Slot a, Slot b) const { return a == b; }
    bool operator()(Slot a, const Key& b) const {
      const Word* words = table->words_at(a);
      for (std::size_t i = 0; i < kWords; ++i) {  // faster than memcmp for two words
        if (words[i] != b.words[i]) return false;
      }
      return true;
    }
    bool operator()(const Key& a, Slot b) const { return (*this)(b, a); }
    const Table* table;
  };

  // Visiting a slot in a walk takes about an eighth of the time needed to sort a new slot.
  static constexpr std::size_t kWalkFactor = 8;

  // Erases without sorting. The cost of each walk is amortized over the slots taken since the last
  // walk or sort.
  void erase_by_walk(const Key& from, std::size_t prefix_bytes) {
    taken_ = 0;
    for (Slot slot = 0; slot < notes_.size(); ++slot) {
      if (!notes_[slot].is_used) continue;
      const Key key = key_at(slot);
      if (!begins_with(key, from, prefix_bytes)) continue;
      if (notes_[slot].is_ordered) gone_.push_back(key);
      index_.erase(index_.find(key));
      give_slot(slot);
    }
  }

  static bool begins_with(const Key& key, const Key& prefix, std::size_t prefix_bytes) {
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
  Key key_at(Slot slot) const {
    Key key;
    std::memcpy(&key, slot_at(slot), sizeof(Key));
    return key;
  }
  const Word* words_at(Slot slot) const { return reinterpret_cast<const Word*>(slot_at(slot)); }
  const std::byte* entry_at(Slot slot) const { return slot_at(slot) + sizeof(Key); }
  std::byte* entry_at(Slot slot) { return slot_at(slot) + sizeof(Key); }

  // Where a slot's key is in the order.
  struct Note {
    bool is_used = false;
    bool is_ordered = false;  // its key is in ordered_
    bool is_new = false;      // it is in new_
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

  // Entries that were both added and removed since the last call cost nothing here: their slot is
  // unused, or was reused and is in new_ only once.
  void bring_in_order() {
    for (const Key& key : gone_) ordered_.erase(key);
    gone_.clear();
    std::vector<std::pair<Key, Slot>> came;
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

  const std::size_t slot_bytes_;
  std::vector<std::byte> slots_;  // key and entry of each, by slot
  std::vector<Note> notes_;       // by slot
  std::vector<Slot> free_;
  absl::flat_hash_set<Slot, SlotHash, SlotEqual> index_;
  // The order as of its last use, and the changes since then: slots whose keys were
  // added, and keys that were removed. Neither list is longer than the largest number of
  // entries that the state has held.
  absl::btree_map<Key, Slot> ordered_;
  std::vector<Slot> new_;
  std::vector<Key> gone_;
  std::size_t taken_ = 0;  // slots taken since the last sort or walk
};

std::unique_ptr<MemoryState::Impl> MemoryState::Impl::make(const FoldShape& shape) {
  if (shape.key_bytes <= sizeof(Word)) return std::make_unique<Table<1>>(shape);
  if (shape.key_bytes <= 2 * sizeof(Word)) return std::make_unique<Table<2>>(shape);
  return std::make_unique<Table<kKeyBytesMax / sizeof(Word)>>(shape);
}

MemoryState::MemoryState(const FoldShape& shape) : impl_(Impl::make(shape)) {}
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
  if (prefix.size() <= impl_->key_bytes()) impl_->erase_prefix(prefix);
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
