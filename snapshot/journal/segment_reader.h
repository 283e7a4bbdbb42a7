// Reads blocks of one segment at a time and proves every slot it hands out.
//
// At or below durable a block must match its sum, and the sum must cover it; between durable and
// `limit` a slot must carry its exact ready stamp, which slots below durable must carry as well.
// What fails is read again, kSumRereads times, before it counts: a running archiver rewrites a
// block as it fills. The sums are read before the blocks, so a block is never older than the sum it
// is held against.
//
// The window of proven records stays until the next load() or open(): serving from it costs a copy.
//
// Thread safety: one thread. Borrows the Disk. Allocates in the constructor and in open() only.
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
#include "os/page.h"
#include "snapshot/journal/journal_damage.h"
#include "snapshot/journal/journal_files.h"

namespace lapwing {

inline constexpr int kSumRereads = 3;
// Read at once: where a reader goes on, and where it begins or fills a gap.
inline constexpr std::size_t kReadRunBytes = 1024 * 1024;
inline constexpr std::size_t kFirstRunBytes = 64 * 1024;

class SegmentReader {
 public:
  explicit SegmentReader(JournalFiles files);

  // Opens a segment and checks its header; the one before is closed. A missing .sum file is damage
  // of every block below durable, found when they are loaded. Errors: kNotFound, kNotPermitted,
  // kDamaged and kNotALapwingFile (the header), kAbiMismatch.
  absl::Status open(std::uint64_t segment);
  void close();
  bool is_open(std::uint64_t segment) const { return jnl_.valid() && segment_ == segment; }
  // The open segment's .sum file was there.
  bool has_sums() const { return sum_.valid(); }

  // Proves n and as many records after it as go into one run, up to `limit`, which is at least n,
  // in the open segment, and not beyond what was archived or into a void. Nothing means that n is
  // in the window.
  std::optional<JournalDamage> load(Sequence n, Sequence durable, Sequence limit);

  // The proven records: window_first() … window_last(); none if last < first.
  Sequence window_first() const { return window_first_; }
  Sequence window_last() const { return window_last_; }
  // The slot of a record in the window: stamp, record, zeros.
  const std::byte* slot(Sequence n) const {
    return buffer_[0].bytes.data() + (n - buffer_first_) * files_.geometry.slot_bytes;
  }

  const JournalFiles& files() const { return files_; }

 private:
  struct Request {
    Sequence n;
    Sequence durable;
    Sequence limit;
  };

  void drop_window();
  absl::Status read_run(std::uint64_t first_block, std::size_t block_count);
  Sequence prove_block(const Request& request, std::uint64_t block, std::string& defect) const;
  JournalDamage damage(const Request& request, const std::string& defect) const;

  JournalFiles files_;
  std::uint64_t segment_ = 0;
  OpenFile jnl_;
  OpenFile sum_;
  // The kernel copies half as fast into memory that begins within a line (bench/LOG.md).
  std::unique_ptr<Page[]> buffer_;
  std::vector<SumEntry> sums_;
  Sequence buffer_first_ = 1;
  Sequence window_first_ = 1;
  Sequence window_last_ = 0;
  Sequence going_on_ = kNoSequence;  // what a reader in sequence asks for next
};

}  // namespace lapwing
