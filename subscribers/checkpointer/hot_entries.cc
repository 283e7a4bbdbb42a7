#include "subscribers/checkpointer/hot_entries.h"

#include <xxhash.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string_view>

#include "snapshot/fold/key_bytes.h"

namespace lapwing {
namespace {

constexpr std::size_t kTableSlotsMin = 1024;
constexpr std::uint64_t kPrefixBytes = 128;  // estimate: a tree node and a string

std::string_view text_of(HotEntries::Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The first bytes of a key, as a number with the same order.
std::uint64_t head_of(HotEntries::Bytes key) {
  std::byte head[sizeof(std::uint64_t)]{};
  std::memcpy(head, key.data(), std::min(key.size(), sizeof head));
  return read_big_endian<std::uint64_t>(head);
}

}  // namespace

HotEntries::HotEntries(const FoldShape& shape)
    : key_bytes_(shape.key_bytes),
      entry_bytes_(shape.entry_bytes),
      table_(kTableSlotsMin, kNoPlace) {}

// The table slot that holds or would hold this key's place.
std::uint32_t* HotEntries::slot_for(Bytes key) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = XXH3_64bits(key.data(), key_bytes_) & mask;
  while (table_[slot] != kNoPlace &&
         std::memcmp(key_at(table_[slot]).data(), key.data(), key_bytes_) != 0) {
    slot = (slot + 1) & mask;
  }
  return &table_[slot];
}

std::uint32_t HotEntries::place_of(Bytes key) const {
  assert(key.size() == key_bytes_);
  return *slot_for(key);
}

std::uint32_t HotEntries::make_place(Bytes key) {
  std::uint32_t* slot = slot_for(key);
  if (*slot != kNoPlace) return *slot;
  if (2 * (marks_.size() + 1) > table_.size()) {
    grow_table();
    slot = slot_for(key);
  }
  *slot = static_cast<std::uint32_t>(marks_.size());
  keys_.insert(keys_.end(), key.begin(), key.end());
  entries_.resize(entries_.size() + entry_bytes_);
  marks_.emplace_back();
  return *slot;
}

void HotEntries::grow_table() {
  table_.assign(2 * table_.size(), kNoPlace);
  for (std::uint32_t place = 0; place < marks_.size(); ++place) *slot_for(key_at(place)) = place;
}

void HotEntries::note(std::uint32_t place, const std::byte* entry, bool is_change) {
  if (entry != nullptr) {
    std::memcpy(entries_.data() + std::size_t{place} * entry_bytes_, entry, entry_bytes_);
  }
  marks_[place] = {++calls_, entry != nullptr, is_change};
  if (is_change) ++changes_;
}

// The time when a prefix of this key was last erased; 0: never.
std::uint64_t HotEntries::erased_at(Bytes key) const {
  std::uint64_t last = 0;
  for (const auto& [length, prefixes] : prefixes_) {
    const auto found = prefixes.find(text_of(key.first(length)));
    if (found != prefixes.end()) last = std::max(last, found->second);
  }
  return last;
}

HotEntries::Known HotEntries::find(Bytes key) const {
  const std::uint32_t place = place_of(key);
  const std::uint64_t erased = prefixes_.empty() ? 0 : erased_at(key);
  if (place == kNoPlace || marks_[place].noted < erased) return {erased > 0, nullptr};
  return {true, marks_[place].is_there ? entry_at(place).data() : nullptr};
}

void HotEntries::put(Bytes key, Bytes entry) {
  assert(entry.size() == entry_bytes_);
  note(make_place(key), entry.data(), true);
}

void HotEntries::erase(Bytes key) {
  note(make_place(key), nullptr, true);
}

void HotEntries::erase_prefix(Bytes prefix) {
  assert(prefix.size() <= key_bytes_);
  const auto [place, is_new] =
      prefixes_[prefix.size()].insert_or_assign(std::string(text_of(prefix)), ++calls_);
  if (is_new) ++prefix_count_;
}

void HotEntries::remember(Bytes key, const std::byte* entry) {
  if (!find(key).here) note(make_place(key), entry, false);
}

void HotEntries::for_each_prefix(const std::function<void(Bytes prefix)>& use) const {
  for (const auto& [length, prefixes] : prefixes_) {
    for (const auto& [prefix, when] : prefixes) use(std::as_bytes(std::span(prefix)));
  }
}

void HotEntries::for_each_change(const std::function<void(Bytes key, Bytes entry)>& use) const {
  struct Change {
    std::uint64_t head;
    std::uint32_t place;
  };
  std::vector<Change> changes;
  changes.reserve(std::min<std::uint64_t>(changes_, size()));
  for (std::uint32_t place = 0; place < marks_.size(); ++place) {
    const Mark& mark = marks_[place];
    if (!mark.is_change) continue;
    if (!prefixes_.empty() && mark.noted < erased_at(key_at(place))) continue;
    changes.push_back({head_of(key_at(place)), place});
  }
  std::sort(changes.begin(), changes.end(), [this](const Change& a, const Change& b) {
    if (a.head != b.head) return a.head < b.head;
    return std::memcmp(key_at(a.place).data(), key_at(b.place).data(), key_bytes_) < 0;
  });
  for (const Change& change : changes) {
    const bool is_there = marks_[change.place].is_there;
    use(key_at(change.place), is_there ? entry_at(change.place) : Bytes{});
  }
}

void HotEntries::settle() {
  for (std::uint32_t place = 0; place < marks_.size(); ++place) {
    Mark& mark = marks_[place];
    if (!prefixes_.empty() && mark.noted < erased_at(key_at(place))) mark.is_there = false;
    mark.is_change = false;
  }
  prefixes_.clear();
  prefix_count_ = changes_ = 0;
}

void HotEntries::clear() {
  keys_.clear();
  entries_.clear();
  marks_.clear();
  std::fill(table_.begin(), table_.end(), kNoPlace);
  prefixes_.clear();
  prefix_count_ = changes_ = 0;
}

std::uint64_t HotEntries::bytes() const {
  return size() * (key_bytes_ + entry_bytes_ + sizeof(Mark)) + table_.size() * sizeof(table_[0]) +
         prefix_count_ * kPrefixBytes;
}

}  // namespace lapwing
