// Bursts: records that a venue sent together are published together, so that pacing preserves the
// time between bursts and adds none within them.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "publisher/feeds/feed.h"
#include "snapshot/schema/record_clock.h"

namespace lapwing {

// The number of records in the burst of the first record: those within kBurstNs of it. `records`
// are contiguous, of `record_bytes` each. Counts all records if they have no time.
inline std::size_t burst_records(std::span<const std::byte> records, std::size_t record_bytes,
                                 const RecordClock& clock) {
  const std::size_t count = records.size() / record_bytes;
  if (!clock.has_time()) return count;
  const std::uint64_t first_ns = clock.pacing_time_ns(records);
  for (std::size_t i = 1; i < count; ++i) {
    if (clock.pacing_time_ns(records.subspan(i * record_bytes)) > first_ns + kBurstNs) return i;
  }
  return count;
}

// Removes the next batch from `pending`, which must not be empty: its first burst, or all of it.
inline FeedBatch take_batch(std::span<std::byte>& pending, std::size_t record_bytes,
                            const RecordClock& clock, bool by_burst) {
  FeedBatch batch;
  if (clock.has_time()) batch.time_ns = clock.pacing_time_ns(pending);
  batch.records = pending;
  if (by_burst) {
    batch.records = pending.first(burst_records(pending, record_bytes, clock) * record_bytes);
  }
  pending = pending.subspan(batch.records.size());
  return batch;
}

}  // namespace lapwing
