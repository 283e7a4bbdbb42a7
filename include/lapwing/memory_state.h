// A fold's state in memory: entries by key, sorted by key on request.
//
// A hash index finds an entry. A separate index keeps the keys sorted. Only the calls that need the
// order update it (for_each, digest, erase_prefix). So put and erase do not sort, and an entry that
// is put and erased between two such calls never enters the sorted index.
//
// Thread safety: one thread, including the const functions. Owns its memory: for each entry, the
// entry, its key, and another 60 to 100 bytes. No call fails. A call with a key or an entry whose
// size differs from the shape's has no effect.
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
  // Calls `use` for each entry, in key order. `use` must not change the state.
  void for_each(const std::function<void(std::span<const std::byte> entry)>& use) const;
  // XXH3-64 over all entries, in key order.
  std::uint64_t digest() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lapwing
