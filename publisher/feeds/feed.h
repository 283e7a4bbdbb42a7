// A feed: where a publisher's records come from. DBN files and streams, journals, synthetic orders.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lapwing {

// What the bus takes from the feed.
struct FeedDescription {
  std::string schema;             // e.g. "dbn.mbo"
  std::uint32_t record_bytes = 0;
  std::string metadata;           // raw DBN metadata, may be empty
  std::uint64_t source_id = 0;    // the same for the same source, never 0; see SessionEntry
  std::string name;               // for messages: path or specification
};

// A run of records laid end to end. Valid until the next call.
struct FeedBatch {
  std::span<const std::byte> records;  // a multiple of record_bytes; empty: the feed has ended
  std::uint64_t time_ns = 0;  // of the first record (ts_recv, else ts_event), for pacing; 0: none
};

class Feed {
 public:
  virtual ~Feed() = default;
  virtual const FeedDescription& description() const = 0;
  // The next run: one burst, at most kFeedBatchMax records, none of which is later than the first
  // by kBurstNs. Blocks for standard input only. An error ends the feed; what came before it has
  // been delivered. Errors: kBadInput with file, byte offset and record number.
  virtual absl::StatusOr<FeedBatch> next() = 0;
  // Starts again from the first record; kUnsupported for a stream.
  virtual absl::Status rewind() = 0;
  // Records of another type or size than the bus's that were left out so far.
  virtual std::uint64_t skipped() const = 0;
  // Records that will come in one pass, where that is known; 0 otherwise.
  virtual std::uint64_t total() const { return 0; }
};

inline constexpr std::size_t kFeedBatchMax = 1200;   // records: the largest burst one packet makes
inline constexpr std::uint64_t kBurstNs = 1'000;     // records this close together form a burst

// Opens `dbn:PATH`, `dbn:-`, `journal:DIR` or `synthetic[:key=value,…]`.
// Errors: kInvalidArgument (names the forms), kNotFound, kBadInput, …
absl::StatusOr<std::unique_ptr<Feed>> open_feed(const std::string& specification);

}  // namespace lapwing
