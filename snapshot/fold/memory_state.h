// A fold's state in memory, sorted by key.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "snapshot/fold/fold.h"

namespace lapwing {

class MemoryState : public FoldState {
 public:
  explicit MemoryState(const FoldShape& shape);

  const std::byte* find(std::span<const std::byte> key) override;
  void put(std::span<const std::byte> key, std::span<const std::byte> entry) override;
  void erase(std::span<const std::byte> key) override;
  void erase_prefix(std::span<const std::byte> prefix) override;

  std::uint64_t size() const;  // entries
  // In the order of the keys.
  void for_each(const std::function<void(std::span<const std::byte> entry)>& use) const;
  // XXH3-64 over the entries in the order of their keys.
  std::uint64_t digest() const;
};

}  // namespace lapwing
