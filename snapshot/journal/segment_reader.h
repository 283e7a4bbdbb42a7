// Reads blocks of one segment at a time, and verifies every slot that it returns.
//
// At or below durable, a block must match its sum, and the sum must cover it. Every slot up to
// `limit` must have its exact ready stamp. A block that fails is read again up to kSumRereads times
// before it counts as damaged, because a running archiver rewrites a block as it fills. The sums
// are read before the blocks, so a block is never older than its sum.
//
// If all records of a segment are durable and the disk allows it (Disk::map_finished), a sequential
// reader maps the segment. One run is populated at a time, so disk errors are returned as a status.
// The records are copied immediately and never read again, because reading from a file that has
// since been truncated would raise SIGBUS.
//
// load() reads a run of blocks and verifies the first; extend() verifies the next one. If a caller
// copies each block right after it is verified, the block is in the nearest cache. The window of
// verified records stays valid until the next load() or open().
//
// Thread safety: one thread. Borrows the Disk. Allocates only in the constructor and in open(), and
// maps in load().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lapwing/sequence.h"
#include "os/mapping.h"
#include "os/page.h"
#include "snapshot/journal/journal_damage.h"
#include "snapshot/journal/journal_files.h"

namespace lapwing {

inline constexpr int kSumRereads = 3;
// The sizes of one read, for a sequential reader and for a reader that starts or fills a gap.
inline constexpr std::size_t kReadRunBytes = 256 * 1024;  // fits into the second-level cache
inline constexpr std::size_t kFirstRunBytes = 64 * 1024;
// A reader that requests less at a time does not map: it would populate page by page.
inline constexpr std::size_t kMappedBytesMin = 64 * 1024;

class SegmentReader {
 public:
  explicit SegmentReader(JournalFiles files);

  // Closes the current segment, opens another one, and checks its header. A missing .sum file
  // counts as damage to every block below durable, found when the block is loaded. Errors:
  // kNotFound, kNotPermitted, kDamaged and kNotALapwingFile (the header), kAbiMismatch.
  absl::Status open(std::uint64_t segment);
  void close();
  bool is_open(std::uint64_t segment) const { return jnl_.valid() && segment_ == segment; }
  // True if the open segment has a .sum file.
  bool has_sums() const { return sum_.valid(); }

  // Reads n and the following records, at most a run, and verifies n's block. `limit` is at
  // least n, in the open segment, and not beyond the archived records or in a void.
  // `wanted`: the caller takes this many records, at least one, before any other call.
  // nullopt means that n is in the window.
  std::optional<JournalDamage> load(Sequence n, Sequence durable, Sequence limit,
                                    std::uint64_t wanted);
  // Verifies the run's next block. False if the run ends here or the
  // next record needs a load().
  bool extend();
  // True if n is verified, or can be verified, without a load(). Always false if mapped.
  bool proves(Sequence n) {
    if (is_mapped_run_) return false;
    if (n == window_last_ + 1) extend();
    return n >= window_first_ && n <= window_last_;
  }

  // The verified records: window_first() … window_last(); none if last < first.
  Sequence window_first() const { return window_first_; }
  Sequence window_last() const { return window_last_; }
  // The slot of a record in the window: stamp, record, zeros.
  const std::byte* slot(Sequence n) const {
    return run_ + (n - run_first_) * files_.geometry.slot_bytes;
  }

  const JournalFiles& files() const { return files_; }

 private:
  struct Request {
    Sequence n;
    Sequence durable;
    Sequence limit;
  };

  void drop_window();
  bool map_segment();
  bool load_mapped(const Request& request, std::uint64_t wanted);
  absl::Status read_sums(std::uint64_t first_block, std::size_t block_count);
  absl::Status read_run(std::uint64_t first_block, std::size_t block_count);
  bool add_to_window(std::uint64_t block, std::string& defect);
  Sequence prove_block(const Request& request, std::uint64_t block, std::string& defect) const;
  JournalDamage damage(const Request& request, const std::string& defect) const;

  JournalFiles files_;
  std::uint64_t segment_ = 0;
  OpenFile jnl_;
  OpenFile sum_;
  // The kernel copies only half as fast to memory that begins inside a cache line (bench/LOG.md).
  std::unique_ptr<Page[]> buffer_;
  std::vector<SumEntry> sums_;   // of the run
  std::optional<Pages> mapped_;  // the open segment
  bool is_mappable_ = true;      // of the open segment, as far as known
  // The run: the slots from run_first_ on, in buffer_ or mapped_.
  const std::byte* run_ = nullptr;
  bool is_mapped_run_ = false;
  Sequence run_first_ = 1;
  Request request_{};
  std::uint64_t end_block_ = 0;  // after the last block of the run
  Sequence window_first_ = 1;
  Sequence window_last_ = 0;
  Sequence going_on_ = kNoSequence;  // the next sequence if reading is sequential
};

}  // namespace lapwing
