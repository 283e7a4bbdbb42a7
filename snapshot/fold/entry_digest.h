// A state's digest: XXH3-64 of its entries, concatenated in key order. Two
// states are considered equal if their digests are equal.
//
// Thread safety: one thread. Owns its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct XXH3_state_s;  // from <xxhash.h>

namespace lapwing {

// Computes the digest of entries or records. Each call adds one or more of them.
class EntryDigest {
 public:
  EntryDigest();

  void add(std::span<const std::byte> entries);
  std::uint64_t value() const;  // of the entries added so far

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

// Returns the digest of a whole contiguous state, such as a checkpoint.
std::uint64_t digest_entries(std::span<const std::byte> entries);

}  // namespace lapwing
