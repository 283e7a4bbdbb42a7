#include "snapshot/journal/sum_file.h"
#include <cstring>

#include "snapshot/wide_xxh3.h"

namespace lapwing {
namespace {

// The check covers the entry's position, so an entry from another
// block or journal is invalid.
std::uint32_t check_of(const Id128& journal_id, std::uint64_t block, const SumEntry& entry) {
  std::byte text[sizeof journal_id + sizeof block + sizeof entry.sum + sizeof entry.count];
  std::byte* at = text;
  const auto append = [&at](const auto& field) {
    std::memcpy(at, &field, sizeof field);
    at += sizeof field;
  };
  append(journal_id);
  append(block);
  append(entry.sum);
  append(entry.count);
  const auto check = static_cast<std::uint32_t>(XXH3_64bits(text, sizeof text));
  return check == 0 ? 1 : check;
}

}  // namespace

SumEntry make_sum(const Id128& journal_id, std::uint64_t block, std::span<const std::byte> bytes,
                  std::uint32_t count) {
  SumEntry entry{XXH3_64bits(bytes.data(), bytes.size()), count, 0};
  entry.check = check_of(journal_id, block, entry);
  return entry;
}

SumState check_sum_entry(const Id128& journal_id, std::uint64_t block, const SumEntry& entry,
                         const JournalGeometry& geometry) {
  if (entry.sum == 0 && entry.count == 0 && entry.check == 0) return SumState::kEmpty;
  if (entry.count == 0 || entry.count > geometry.block_slots()) return SumState::kDamaged;
  return entry.check == check_of(journal_id, block, entry) ? SumState::kValid : SumState::kDamaged;
}

bool sum_matches(const SumEntry& entry, std::span<const std::byte> bytes,
                 const JournalGeometry& geometry) {
  return XXH3_64bits(bytes.data(), std::size_t{entry.count} * geometry.slot_bytes) == entry.sum;
}

}  // namespace lapwing
