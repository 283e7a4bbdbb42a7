// What a killed session left behind its durable end: slots in its ring file and slots on disk.
//
// A slot counts if it carries its exact ready stamp. The ring is asked first. Disk alone is
// believed up to the ring's head only: what left the ring is archived, and nothing beyond head ever
// left it. Beyond head the ring may hold records, one (killed between W3 and W4) or those of a
// batch, which a subscriber may have seen, since readers go by the stamp: they count. A slot that
// was being written was never delivered.
//
// Thread safety: one thread. Borrows the ring image's mapping and the Disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/page.h"
#include "proto/schema_label.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/recovery/recovery.h"

namespace lapwing {

class RingTail {
 public:
  RingTail(JournalFiles files, const RingImage& ring) : files_(std::move(files)), ring_(ring) {}

  // The last sequence that ring and disk hold without a break after `durable`.
  absl::StatusOr<Sequence> find_end(Sequence durable);

  // Writes the blocks from that of durable + 1 to that of `last`, whole, creating segments as
  // needed: segment by segment the slots, a sync, their sums, a sync. Running it again changes
  // nothing.
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
  OpenFile disk_file_;  // of disk_segment_, if it is there
  std::optional<std::uint64_t> disk_segment_;
  std::optional<std::uint64_t> disk_block_;  // what disk_page_ holds
  Page disk_page_{};
};

}  // namespace lapwing
