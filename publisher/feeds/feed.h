// A feed: the source of a publisher's records. There are feeds for DBN and record files and
// streams, journals, a synthetic order flow and numbered keys.
//
//   auto feed = open_feed("dbn:es.mbo.dbn.zst", {});
//   for (;;) {
//     auto batch = await_batch(**feed, {.stop_fd = stop_fd});
//     if (!batch.ok() || batch->ended()) break;
//     publisher->publish_batch(batch->records);
//   }
//
// A feed does not depend on the bus or its memory.
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

inline constexpr std::size_t kFeedBatchMax = 1200;  // records: the largest burst of one packet
inline constexpr std::uint64_t kBurstNs = 1'000;    // records within this time form a burst
inline constexpr std::uint64_t kFeedTickNs = 100'000'000;

// The properties of a feed that the bus uses.
struct FeedDescription {
  std::string schema;  // e.g. "dbn.mbo"
  std::uint32_t record_bytes = 0;
  std::optional<Schema> records;  // their description, if known
  std::string metadata;           // raw DBN metadata, may be empty
  std::uint64_t source_id = 0;    // hash of the specification, never 0; see SessionEntry
  std::string name;               // for messages: path or specification
  std::string remark;             // a note for users about the source; usually empty
};

// Contiguous records. Valid until the next call on the feed. The caller may change the records in
// place (restamp).
struct FeedBatch {
  std::span<std::byte> records = {};  // a multiple of record_bytes
  std::uint64_t time_ns = 0;  // time of the first record (or its ts_event), for pacing; 0: none
  bool nothing_yet = false;   // no whole record is available: wait until fd() is readable

  bool ended() const { return records.empty() && !nothing_yet; }
};

struct FeedOptions {
  // The schema to take from a DBN source with mixed schemas, as "dbn.mbo" or "mbo". Empty: the
  // schema of the first record that a bus can carry.
  std::string schema = {};
  // Whether to end a batch before a record that is more than kBurstNs later than its first, as
  // pacing requires. If false, batches are as large as possible.
  bool batch_by_burst = true;
  std::uint64_t passes = 1;  // number of passes over the source, 0: unlimited; see looping_feed.h
  // Called periodically while open_feed waits for the beginning of standard input. If it returns
  // true, open_feed returns kClosed.
  std::function<bool()> stopped = {};
};

struct FeedWait;

// The result of Feed::resume().
struct ResumedFeed {
  std::uint64_t position = 0;  // feed position before the next record
  FeedBatch rest = {};         // the records after that position that were already read
  // Records that the source journal's retention removed before they were published. 0, 0: none.
  Sequence lost_first = kNoSequence;
  Sequence lost_last = kNoSequence;
};

class Feed {
 public:
  virtual ~Feed() = default;
  virtual const FeedDescription& description() const = 0;
  // Returns the next batch, at most kFeedBatchMax records. Never waits for a pipe or a network. An
  // error ends the feed once all earlier records have been delivered. Errors: kBadInput with file,
  // byte offset and record number; kDamaged; kSystem.
  virtual absl::StatusOr<FeedBatch> next() = 0;
  // The descriptor to poll for reading while nothing is available; -1 if the feed never waits.
  virtual int fd() const { return -1; }
  // Restarts from the first record. Errors: kUnsupported for a stream.
  virtual absl::Status rewind() = 0;
  // A hash of the source's content: its metadata and first record. Never 0. Call it before next(),
  // because it restarts from the first record. Errors: kUnsupported for a stream; those of next().
  virtual absl::StatusOr<std::uint64_t> fingerprint();
  // The position before the first record: a number of records, or a journal sequence.
  virtual std::uint64_t first_position() const { return 0; }
  // Continues after the records of this source that a journal holds. Call it before next().
  // `stamped`: the clock whose publish times may differ, or null. Errors: kInvalidArgument if the
  // source differs from the records in the journal; those of await_batch.
  virtual absl::StatusOr<ResumedFeed> resume(const ResumePoint& point, const RecordClock* stamped,
                                             const FeedWait& wait);
  // The number of records skipped so far because their type or size does not match the bus.
  virtual std::uint64_t skipped() const { return 0; }
  // The total number of records, or 0 if unknown.
  virtual std::uint64_t total() const { return 0; }
};

// Opens `dbn:PATH`, `dbn:-`, `file:PATH`, `file:-`, `journal:DIR`, `synthetic[:key=value,…]` or
// `kv16[:key=value,…]`. Errors: kInvalidArgument (lists the forms), kNotFound, kNotPermitted,
// kBadInput, kUnsupported (written by a later release), kRecordSize (a DBN schema that this release
// does not know, or whose records it does not define), …
absl::StatusOr<std::unique_ptr<Feed>> open_feed(const std::string& specification,
                                                const FeedOptions& options);

// How to wait for a feed.
struct FeedWait {
  int stop_fd = -1;  // when readable, stop waiting
  // Called before each batch, and every kFeedTickNs during a wait.
  std::function<void()> tick = {};
};

// Like next(), but waits until records are available. Errors: those of next(); kClosed if `stop_fd`
// has become readable.
absl::StatusOr<FeedBatch> await_batch(Feed& feed, const FeedWait& wait = {});

// XXH3-64 of a canonical specification, never 0.
std::uint64_t source_id_of(const std::string& canonical_specification);
// The source id of a file, which is the same under all its names. "-" is standard input. Errors:
// kNotFound, kNotPermitted, kSystem.
absl::StatusOr<std::uint64_t> source_id_of_file(const std::string& kind, const std::string& path);

}  // namespace lapwing
