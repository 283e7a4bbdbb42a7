// The times inside a record that feeds look at and change: DBN's ts_recv and ts_event.
//
// Thread safety: pure functions on the caller's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "lapwing/dbn.h"

namespace lapwing {

// The time a DBN record is paced by: ts_recv, else ts_event, else 0.
inline std::uint64_t pacing_time_ns(const std::byte* record, const dbn::RecordSchema& schema) {
  std::uint64_t time_ns = 0;
  std::memcpy(&time_ns, record + schema.ts_recv_offset, sizeof time_ns);
  if (time_ns != 0 && time_ns != dbn::kUndefTimestamp) return time_ns;
  std::memcpy(&time_ns, record + offsetof(dbn::RecordHeader, ts_event), sizeof time_ns);
  return time_ns != dbn::kUndefTimestamp ? time_ns : 0;
}

// Sets ts_recv of every record to the time of publishing, which latencies are measured from.
inline void restamp(std::span<std::byte> records, const dbn::RecordSchema& schema,
                    std::uint64_t wall_ns) {
  for (std::size_t at = 0; at + schema.record_bytes <= records.size(); at += schema.record_bytes) {
    std::memcpy(records.data() + at + schema.ts_recv_offset, &wall_ns, sizeof wall_ns);
  }
}

}  // namespace lapwing
