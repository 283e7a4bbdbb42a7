// The slots that a killed session left after its durable end, in its ring file and on disk.
//
// A slot counts if it has its exact ready stamp. The ring is checked first. A slot that is only on
// disk counts only up to the ring's head: records that were overwritten in the ring are archived,
// and none beyond head was ever overwritten. Records in the ring beyond head also count: a single
// one (if the publisher was killed between W3 and W4) or those of a batch. A subscriber may have
// seen them, because readers use the stamp. A slot that was being written was never delivered.
//
// Thread safety: one thread. Borrows the ring image's mapping and the Disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/page.h"
#include "proto/schema_label.h"
#include "snapshot/journal/absent_file.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/recovery/recovery.h"

namespace lapwing {

class RingTail {
 public:
  // Slots of `absent` sequences stay zero.
  RingTail(JournalFiles files, const RingImage& ring, std::vector<AbsentRange> absent = {})
      : files_(std::move(files)), ring_(ring), absent_(std::move(absent)) {}

  // Returns the last sequence up to which ring and disk have every record after `durable`.
  absl::StatusOr<Sequence> find_end(Sequence durable);

  // Writes whole blocks, from the one with durable + 1 to the one with `last`, and creates segments
  // as needed. For each segment, it writes the slots, syncs, writes their sums, and syncs again.
  // Running it again changes nothing.
  absl::Status write(Sequence durable, Sequence last, const SchemaLabel& schema,
                     std::uint64_t wall_ns);

 private:
  absl::StatusOr<bool> take(Sequence n, std::byte* slot);
  bool take_from_ring(Sequence n, std::byte* slot) const;
  absl::StatusOr<bool> take_from_disk(Sequence n, std::byte* slot);
  absl::Status load_disk_block(std::uint64_t block);
  absl::Status compose(std::uint64_t block, Sequence last, Page& page, std::uint32_t& count);
  absl::Status write_segment(std::uint64_t segment, std::uint64_t first_block,
                             std::uint64_t last_block, Sequence last);

  JournalFiles files_;
  const RingImage& ring_;
  std::vector<AbsentRange> absent_;
  OpenFile disk_file_;  // of disk_segment_, if it exists
  std::optional<std::uint64_t> disk_segment_;
  std::optional<std::uint64_t> disk_block_;  // the block in disk_page_
  Page disk_page_{};
};

}  // namespace lapwing
