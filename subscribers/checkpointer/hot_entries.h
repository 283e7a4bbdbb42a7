// The in-memory part of a store: the changes since the last batch, and the results of recent reads
// from the files, including absent keys.
//
// Each key has a number, its place. Keys, entries and marks are arrays indexed by place, and an
// open hash table maps a key to its place. Nothing is removed before clear(). Erasing a prefix only
// stores the time: every entry with that prefix that was noted earlier counts as erased, in memory
// and in the files, without being searched for.
//
// Thread safety: one thread. Owns its memory, which grows with the entries; clear() keeps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lapwing/fold.h"

namespace lapwing {

class HotEntries {
 public:
  using Bytes = std::span<const std::byte>;

  explicit HotEntries(const FoldShape& shape);

  // The result of an in-memory search. If `here` is false, the key must be read from the files.
  struct Known {
    bool here = false;
    const std::byte* entry = nullptr;  // null: the key is absent; valid until the next change
  };
  Known find(Bytes key) const;

  // Changes for the next batch.
  void put(Bytes key, Bytes entry);
  void erase(Bytes key);
  void erase_prefix(Bytes prefix);
  // Notes the key's entry in the files, or null if it is absent. This is not a change. Does nothing
  // if the key is already known here.
  void remember(Bytes key, const std::byte* entry);

  // The changes in the order that a batch needs: first the prefixes, then the keys, ascending.
  void for_each_prefix(const std::function<void(Bytes prefix)>& use) const;
  // `entry` is empty if the key was erased.
  void for_each_change(const std::function<void(Bytes key, Bytes entry)>& use) const;

  // Call it when the changes are in the files. Known keys stay known.
  void settle();
  void clear();

  std::uint64_t size() const { return marks_.size(); }  // keys known here
  bool changed() const { return changes_ > 0 || !prefixes_.empty(); }
  // Bytes in use by everything that grows with the entries.
  std::uint64_t bytes() const;

 private:
  // A place's mark. `noted` counts calls: an entry noted before its
  // prefix was erased is erased.
  struct Mark {
    std::uint64_t noted = 0;
    bool is_there = false;
    bool is_change = false;
  };
  static constexpr std::uint32_t kNoPlace = ~std::uint32_t{0};

  std::uint32_t place_of(Bytes key) const;
  std::uint32_t make_place(Bytes key);
  void grow_table();
  std::uint32_t* slot_for(Bytes key) const;
  void note(std::uint32_t place, const std::byte* entry, bool is_change);
  std::uint64_t erased_at(Bytes key) const;
  Bytes key_at(std::uint32_t place) const {
    return {keys_.data() + std::size_t{place} * key_bytes_, key_bytes_};
  }
  Bytes entry_at(std::uint32_t place) const {
    return {entries_.data() + std::size_t{place} * entry_bytes_, entry_bytes_};
  }

  const std::size_t key_bytes_;
  const std::size_t entry_bytes_;
  std::vector<std::byte> keys_;
  std::vector<std::byte> entries_;
  std::vector<Mark> marks_;
  mutable std::vector<std::uint32_t> table_;  // places; a power of two, at most half full
  // Prefixes by length, then by bytes, with the time each was erased. There are few lengths, so a
  // lookup needs few searches.
  std::map<std::size_t, std::map<std::string, std::uint64_t, std::less<>>> prefixes_;
  std::uint64_t prefix_count_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t changes_ = 0;  // at least the number of changed keys
};

}  // namespace lapwing
