// When a recording goes on in another file, and what its files are called.
//
//   es.dbn.zst is recorded into es.000001.20261120T143000Z.dbn.zst, es.000002.…
//
// The number orders them, whatever times the records carry; the time is that of the first record
// (ts_recv; of bars ts_event). A file's name ends where the path's first dot is and goes on there.
//
// By time: a period begins at every multiple of `every` since 1970 in UTC, and the first record
// whose time lies in a later period than that of the file begins a file. So the same records
// make the same files, live or read from the journal a day later. A record of an earlier period,
// out of order, stays in the file that is open.
//
// By size: the file has reached `bytes`. Bytes that zstd keeps back, of 384 KiB of records at most,
// come on top.
//
// A venue's event (up to a record with flag LAST) is not cut in two, unless it is longer than
// kEventRecordsMax; of a schema without such flags every record is an event by itself.
//
// Thread safety: plain values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "lapwing/dbn.h"
#include "lapwing/recording.h"
#include "lapwing/schema.h"

namespace lapwing {

inline constexpr std::uint64_t kEventRecordsMax = 65'536;

// Whether the period of a file whose first record is of `began_ns` is over at a record of
// `time_ns`. An undefined time ends nothing, and is over at the first time that is defined.
bool is_over(const Rotation& rotation, std::uint64_t began_ns, std::uint64_t time_ns);

// `path` and the name of its file `number`; without the time where that is undefined.
std::string part_path(const std::string& path, std::uint64_t number, std::uint64_t time_ns);
// Whether a file of that name could be one of `path`'s.
bool is_part_name(const std::string& path, const std::string& name);

// Whether a record is the last of its venue's event. Where a schema has no events, every one is.
class EventEnds {
 public:
  EventEnds() = default;
  explicit EventEnds(const Schema& schema);
  bool operator()(std::span<const std::byte> record) const;

 private:
  std::optional<std::uint32_t> flags_ = {};  // where they stand
};

}  // namespace lapwing
