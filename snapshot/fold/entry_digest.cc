#include "snapshot/fold/entry_digest.h"

#include "snapshot/wide_xxh3.h"

namespace lapwing {

EntryDigest::EntryDigest() : state_(XXH3_createState()) {
  XXH3_64bits_reset(state_.get());
}

void EntryDigest::Free::operator()(XXH3_state_s* state) const {
  XXH3_freeState(state);
}

void EntryDigest::add(std::span<const std::byte> entries) {
  XXH3_64bits_update(state_.get(), entries.data(), entries.size());
}

std::uint64_t EntryDigest::value() const {
  return XXH3_64bits_digest(state_.get());
}

std::uint64_t digest_entries(std::span<const std::byte> entries) {
  return XXH3_64bits(entries.data(), entries.size());
}

}  // namespace lapwing
