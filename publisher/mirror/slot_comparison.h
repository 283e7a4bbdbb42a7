// Compares records with the slots of a mirror's journal.
//
// Thread safety: one thread. Borrows the Disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/io.h"
#include "snapshot/journal/journal_files.h"

namespace lapwing {

class SlotComparison {
 public:
  explicit SlotComparison(JournalFiles journal)
      : journal_(std::move(journal)), slot_(journal_.geometry.slot_bytes) {}

  // Whether slot n contains this record, or nothing: it is pruned or absent, or its bytes are
  // damaged, which is not a contradiction. Errors: those of the disk.
  absl::StatusOr<bool> is_same(Sequence n, std::span<const std::byte> record);

 private:
  absl::Status open(std::uint64_t segment);
  absl::StatusOr<bool> is_damaged(Sequence n) const;

  JournalFiles journal_;
  std::vector<std::byte> slot_;
  std::optional<std::uint64_t> segment_;
  OpenFile file_;  // of segment_; invalid if it does not exist
};

}  // namespace lapwing
