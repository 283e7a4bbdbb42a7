#include "snapshot/fold/memory_state.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "proto/checkpoint_format.h"
#include "snapshot/fold/entry_digest.h"

namespace lapwing {
namespace {

using Bytes = std::span<const std::byte>;
using Slot = std::uint32_t;

// A key with zeros behind it. All keys of a state have one size, so this keeps their order.
struct PaddedKey {
  std::array<std::byte, kKeyBytesMax> bytes{};

  friend bool operator<(const PaddedKey& a, const PaddedKey& b) {
    return std::memcmp(a.bytes.data(), b.bytes.data(), kKeyBytesMax) < 0;
  }
  friend bool operator==(const PaddedKey& a, const PaddedKey& b) = default;
};

PaddedKey pad(Bytes key) {
  PaddedKey padded;
  if (!key.empty()) std::memcpy(padded.bytes.data(), key.data(), key.size());
  return padded;
}

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

class MemoryState::Impl {
 public:
  explicit Impl(const FoldShape& shape)
      : key_bytes_(shape.key_bytes),
        entry_bytes_(shape.entry_bytes),
        entry_offset_((shape.key_bytes + 7) / 8 * 8),
        slot_bytes_(entry_offset_ + (shape.entry_bytes + 7) / 8 * 8),
        index_(0, SlotHash{this}, SlotEqual{this}) {}

  const std::byte* find(Bytes key) const {
    const auto found = index_.find(key);
    return found == index_.end() ? nullptr : entry_at(*found);
  }

  void put(Bytes key, Bytes entry) {
    auto found = index_.find(key);
    if (found == index_.end()) {
      const Slot slot = take_slot();
      std::memcpy(slot_at(slot), key.data(), key_bytes_);
      found = index_.insert(slot).first;
      touch(key);
    }
    std::memcpy(entry_at(*found), entry.data(), entry_bytes_);
  }

  void erase(Bytes key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return;
    free_.push_back(*found);
    index_.erase(found);
    touch(key);  // last: it may bring the order up to date
  }

  void erase_prefix(Bytes prefix) {
    bring_in_order();
    const auto first = ordered_.lower_bound(pad(prefix));
    auto last = first;
    for (; last != ordered_.end(); ++last) {
      if (!std::equal(prefix.begin(), prefix.end(), last->first.bytes.begin())) break;
      index_.erase(index_.find(key_at(last->second)));
      free_.push_back(last->second);
    }
    ordered_.erase(first, last);
  }

  std::uint64_t size() const { return index_.size(); }

  template <typename Use>
  void for_each(const Use& use) {
    bring_in_order();
    for (const auto& [key, slot] : ordered_) use(Bytes(entry_at(slot), entry_bytes_));
  }

  bool has_key_bytes(std::size_t size) const { return size == key_bytes_; }
  bool has_entry_bytes(std::size_t size) const { return size == entry_bytes_; }

 private:
  // The index holds slots and finds them by the key that stands in them.
  struct SlotHash {
    using is_transparent = void;
    std::size_t operator()(Slot slot) const { return (*this)(impl->key_at(slot)); }
    std::size_t operator()(Bytes key) const { return absl::HashOf(text_of(key)); }
    const Impl* impl;
  };
  struct SlotEqual {
    using is_transparent = void;
    bool operator()(Slot a, Slot b) const { return a == b; }
    bool operator()(Slot a, Bytes b) const { return text_of(impl->key_at(a)) == text_of(b); }
    bool operator()(Bytes a, Slot b) const { return (*this)(b, a); }
    const Impl* impl;
  };

  const std::byte* slot_at(Slot slot) const {
    return slots_.data() + std::size_t{slot} * slot_bytes_;
  }
  std::byte* slot_at(Slot slot) { return slots_.data() + std::size_t{slot} * slot_bytes_; }
  Bytes key_at(Slot slot) const { return {slot_at(slot), key_bytes_}; }
  const std::byte* entry_at(Slot slot) const { return slot_at(slot) + entry_offset_; }
  std::byte* entry_at(Slot slot) { return slot_at(slot) + entry_offset_; }

  Slot take_slot() {
    if (free_.empty()) {
      const std::size_t slot = slots_.size() / slot_bytes_;
      assert(slot < ~Slot{0} && "a state in memory holds at most 2^32 - 1 entries");
      slots_.resize(slots_.size() + slot_bytes_);
      return static_cast<Slot>(slot);
    }
    const Slot slot = free_.back();
    free_.pop_back();
    return slot;
  }

  // Notes that a key came or went. Bounded: the order is brought up to date now and then even if
  // nobody asks for it, each time after as many changes as there are entries.
  void touch(Bytes key) {
    touched_.push_back(pad(key));
    if (touched_.size() >= std::max<std::size_t>(kTouchedMin, 2 * index_.size())) bring_in_order();
  }

  void bring_in_order() {
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    for (const PaddedKey& key : touched_) {
      const auto found = index_.find(Bytes(key.bytes.data(), key_bytes_));
      if (found == index_.end()) {
        ordered_.erase(key);
      } else {
        ordered_.insert_or_assign(key, *found);
      }
    }
    touched_.clear();
  }

  static constexpr std::size_t kTouchedMin = 4096;

  const std::size_t key_bytes_;
  const std::size_t entry_bytes_;
  const std::size_t entry_offset_;
  const std::size_t slot_bytes_;
  std::vector<std::byte> slots_;  // key and entry of each, by slot
  std::vector<Slot> free_;
  absl::flat_hash_set<Slot, SlotHash, SlotEqual> index_;
  absl::btree_map<PaddedKey, Slot> ordered_;  // but for what was touched since
  std::vector<PaddedKey> touched_;            // keys that came or went
};

MemoryState::MemoryState(const FoldShape& shape) : impl_(std::make_unique<Impl>(shape)) {
  assert(shape.key_bytes > 0 && shape.key_bytes <= kKeyBytesMax);
  assert(shape.entry_bytes > 0 && shape.entry_bytes <= kEntryBytesMax);
}
MemoryState::MemoryState(MemoryState&&) noexcept = default;
MemoryState& MemoryState::operator=(MemoryState&&) noexcept = default;
MemoryState::~MemoryState() = default;

const std::byte* MemoryState::find(Bytes key) {
  assert(impl_->has_key_bytes(key.size()));
  return impl_->find(key);
}

void MemoryState::put(Bytes key, Bytes entry) {
  assert(impl_->has_key_bytes(key.size()) && impl_->has_entry_bytes(entry.size()));
  impl_->put(key, entry);
}

void MemoryState::erase(Bytes key) {
  assert(impl_->has_key_bytes(key.size()));
  impl_->erase(key);
}

void MemoryState::erase_prefix(Bytes prefix) {
  assert(prefix.size() <= kKeyBytesMax);
  impl_->erase_prefix(prefix);
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
