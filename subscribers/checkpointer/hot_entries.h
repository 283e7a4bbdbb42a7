// What a store keeps in memory beside its files: the changes since its last batch, and what was
// read from the files lately, absences too.
//
// An entry has a place, a number; keys, entries and marks are arrays by place, and an open hash
// table leads from key to place. Nothing is removed before clear(). A prefix is erased by noting
// when: whatever under it was noted earlier is gone, in memory and in the files, and nobody has to
// look for it.
//
// Thread safety: one thread. Owns its memory, which grows with the entries and is kept by clear().
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

  // What is known here of a key. Nothing: the files know.
  struct Known {
    bool here = false;
    const std::byte* entry = nullptr;  // null: there is none; valid until the next change
  };
  Known find(Bytes key) const;

  // Changes, of the next batch.
  void put(Bytes key, Bytes entry);
  void erase(Bytes key);
  void erase_prefix(Bytes prefix);
  // What the files have for that key, null for nothing; no change, and not if it is known here.
  void remember(Bytes key, const std::byte* entry);

  // The changes as a batch has to make them: first the prefixes, then keys, ascending.
  void for_each_prefix(const std::function<void(Bytes prefix)>& use) const;
  // `entry` is empty where the key was erased.
  void for_each_change(const std::function<void(Bytes key, Bytes entry)>& use) const;

  // The changes are in the files: what is known stays known.
  void settle();
  void clear();

  std::uint64_t size() const { return marks_.size(); }  // keys known here
  bool changed() const { return changes_ > 0 || !prefixes_.empty(); }
  // Memory in use, of what grows with the entries.
  std::uint64_t bytes() const;

 private:
  // Of a place. `noted` counts calls: what was noted before its prefix was erased is gone.
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
  // By length, then by bytes, when it was erased: few lengths, so a lookup is a few searches.
  std::map<std::size_t, std::map<std::string, std::uint64_t, std::less<>>> prefixes_;
  std::uint64_t prefix_count_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t changes_ = 0;  // at least as many as there are keys changed
};

}  // namespace lapwing
