#include "snapshot/fold/entry_digest.h"

#define XXH_STATIC_LINKING_ONLY  // a state on the heap at its own alignment
#include "snapshot/wide_xxh3.h"

namespace lapwing {

class EntryDigest::State {
 public:
  State() { XXH3_64bits_reset(&hash_); }

  XXH3_state_t hash_;
};

EntryDigest::EntryDigest() : state_(std::make_unique<State>()) {}
EntryDigest::EntryDigest(EntryDigest&&) noexcept = default;
EntryDigest& EntryDigest::operator=(EntryDigest&&) noexcept = default;
EntryDigest::~EntryDigest() = default;

void EntryDigest::add(std::span<const std::byte> entries) {
  XXH3_64bits_update(&state_->hash_, entries.data(), entries.size());
}

std::uint64_t EntryDigest::value() const {
  return XXH3_64bits_digest(&state_->hash_);
}

std::uint64_t digest_entries(std::span<const std::byte> entries) {
  return XXH3_64bits(entries.data(), entries.size());
}

}  // namespace lapwing
