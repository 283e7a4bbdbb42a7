// A feed: where a publisher's records come from. DBN and record files and streams, journals, a
// synthetic order flow, numbered keys.
//
//   auto feed = open_feed("dbn:es.mbo.dbn.zst", {});
//   for (;;) {
//     auto batch = await_batch(**feed, {.stop_fd = stop_fd});
//     if (!batch.ok() || batch->ended()) break;
//     publisher->publish_batch(batch->records);
//   }
//
// A feed knows nothing of the bus and touches none of its memory.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/schema.h"
#include "lapwing/sequence.h"

namespace lapwing {

class RecordClock;
struct ResumePoint;

inline constexpr std::size_t kFeedBatchMax = 1200;  // records: the largest burst one packet makes
inline constexpr std::uint64_t kBurstNs = 1'000;    // records this close together form a burst
inline constexpr std::uint64_t kFeedTickNs = 100'000'000;

// What the bus takes from the feed.
struct FeedDescription {
  std::string schema;  // e.g. "dbn.mbo"
  std::uint32_t record_bytes = 0;
  std::optional<Schema> records;  // what they are, where that is known
  std::string metadata;           // raw DBN metadata, may be empty
  std::uint64_t source_id = 0;    // of the specification, never 0; see SessionEntry
  std::string name;               // for messages: path or specification
  std::string remark;             // what a user should know of the source; mostly empty
};

// A run of records laid end to end. Valid until the next call on the feed; the caller may change
// the records in place (restamp).
struct FeedBatch {
  std::span<std::byte> records = {};  // a multiple of record_bytes
  std::uint64_t time_ns = 0;  // of the first record (its time, else ts_event), for pacing; 0: none
  bool nothing_yet = false;   // no whole record is at hand: fd() is readable when that may change

  bool ended() const { return records.empty() && !nothing_yet; }
};

struct FeedOptions {
  // Of a DBN source that mixes schemas: the one to take, as "dbn.mbo" or "mbo". Empty: that of its
  // first record that a bus carries.
  std::string schema = {};
  // A batch ends where a record is more than kBurstNs later than its first: what pacing needs.
  // Without, batches are as large as they can be.
  bool batch_by_burst = true;
  std::uint64_t passes = 1;  // how often the source is played, 0: for ever; see looping_feed.h
  // Asked now and then while open_feed waits for the beginning of standard input; true: it gives up
  // with kClosed.
  std::function<bool()> stopped = {};
};

struct FeedWait;

// The result of Feed::resume().
struct ResumedFeed {
  std::uint64_t position = 0;  // of the feed, before the next record
  FeedBatch rest = {};         // the records after that position that were already read
  // Records that the retention of a source journal removed before they were published. 0, 0: none.
  Sequence lost_first = kNoSequence;
  Sequence lost_last = kNoSequence;
};

class Feed {
 public:
  virtual ~Feed() = default;
  virtual const FeedDescription& description() const = 0;
  // The next run, at most kFeedBatchMax records; never waits for a pipe or a network. An error ends
  // the feed; what came before it has been delivered. Errors: kBadInput with file, byte offset and
  // record number; kDamaged; kSystem.
  virtual absl::StatusOr<FeedBatch> next() = 0;
  // What to poll for reading while there is nothing yet; -1 for a feed that always has something.
  virtual int fd() const { return -1; }
  // Starts again from the first record; kUnsupported for a stream.
  virtual absl::Status rewind() = 0;
  // A hash of the source's content: its metadata and first record. Never 0. Call it before next();
  // it starts again from the first record. Errors: kUnsupported for a stream; those of next().
  virtual absl::StatusOr<std::uint64_t> fingerprint();
  // The position before the first record: a number of records, or a sequence of a journal.
  virtual std::uint64_t first_position() const { return 0; }
  // Continues after the records that a journal holds of this source. Call it before next().
  // `stamped`: the clock whose time of publishing may differ, or null. Errors: kInvalidArgument if
  // the source differs from the records in the journal; those of await_batch.
  virtual absl::StatusOr<ResumedFeed> resume(const ResumePoint& point, const RecordClock* stamped,
                                             const FeedWait& wait);
  // Records of another type or size than the bus's that were left out so far.
  virtual std::uint64_t skipped() const { return 0; }
  // Records that will come in all, where that is known; 0 otherwise.
  virtual std::uint64_t total() const { return 0; }
};

// Opens `dbn:PATH`, `dbn:-`, `file:PATH`, `file:-`, `journal:DIR`, `synthetic[:key=value,…]` or
// `kv16[:key=value,…]`. Errors: kInvalidArgument (names the forms), kNotFound, kNotPermitted,
// kBadInput, kUnsupported (a later release wrote it), kRecordSize (a schema of DBN that this
// release does not know, or has no record of), …
absl::StatusOr<std::unique_ptr<Feed>> open_feed(const std::string& specification,
                                                const FeedOptions& options);

// How long to wait for a feed.
struct FeedWait {
  int stop_fd = -1;  // readable: no longer
  // Called before each batch, and every kFeedTickNs while there is nothing yet.
  std::function<void()> tick = {};
};

// next(), which waits for as long as there is nothing yet. Errors: those of next(); kClosed where
// `stop_fd` has become readable.
absl::StatusOr<FeedBatch> await_batch(Feed& feed, const FeedWait& wait = {});

// XXH3-64 of a canonical specification, never 0.
std::uint64_t source_id_of(const std::string& canonical_specification);
// The same of a file, by whichever name of it; "-" is standard input. Errors: kNotFound,
// kNotPermitted, kSystem.
absl::StatusOr<std::uint64_t> source_id_of_file(const std::string& kind, const std::string& path);

}  // namespace lapwing
