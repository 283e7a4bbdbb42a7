// A fold's state in memory: entries by key, and in the order of their keys when that is asked for.
//
// A hash index finds an entry. The order of the keys is kept apart from it and brought up to date
// only by the calls that need it (for_each, digest, erase_prefix). So an update does not pay for
// the order, and an entry that comes and goes between two such calls never enters it.
//
// Thread safety: one thread, the const functions too. Owns its memory: entry and key, and 60 to 100
// bytes beside them for each. Errors: none; a key or an entry that has not the size that the shape
// says changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "lapwing/fold.h"

namespace lapwing {

class MemoryState : public FoldState {
 public:
  explicit MemoryState(const FoldShape& shape);
  MemoryState(MemoryState&&) noexcept;
  MemoryState& operator=(MemoryState&&) noexcept;
  ~MemoryState() override;

  const std::byte* find(std::span<const std::byte> key) override;
  void put(std::span<const std::byte> key, std::span<const std::byte> entry) override;
  void erase(std::span<const std::byte> key) override;
  void erase_prefix(std::span<const std::byte> prefix) override;

  void clear();
  std::uint64_t size() const;  // entries
  // In the order of the keys. `use` leaves the state alone.
  void for_each(const std::function<void(std::span<const std::byte> entry)>& use) const;
  // XXH3-64 over all entries, in the order of their keys.
  std::uint64_t digest() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lapwing
