// The digest of a state: XXH3-64 over its entries in the order of their keys, end to end. Two
// states are equal when their digests are.
//
// Thread safety: one thread. Owns its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct XXH3_state_s;  // of <xxhash.h>

namespace lapwing {

// Entries, or records, one after the other, each given whole or several at once.
class EntryDigest {
 public:
  EntryDigest();

  void add(std::span<const std::byte> entries);
  std::uint64_t value() const;  // of what was added so far

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

// Of a whole state in one piece, such as a checkpoint's.
std::uint64_t digest_entries(std::span<const std::byte> entries);

}  // namespace lapwing
