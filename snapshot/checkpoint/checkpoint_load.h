// Loads one checkpoint file in pieces, so that the caller can do other work in between.
//
// Thread safety: one thread. Borrows the Disk. Owns the open file, which stays readable if its name
// is removed, and the pages until finish().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/io.h"
#include "os/mapping.h"
#include "proto/checkpoint_format.h"
#include "snapshot/checkpoint/checkpoint_header.h"
#include "snapshot/checkpoint/loaded_checkpoint.h"

namespace lapwing {

class CheckpointLoad {
 public:
  // Opens the file and verifies its header and length. Does not allocate memory for the entries
  // yet. All functions return the errors of LoadedCheckpoint::load.
  static absl::StatusOr<CheckpointLoad> begin(Disk& disk, const std::string& path);

  const CheckpointHeader& header() const { return header_; }
  // Reads and sums the next `bytes_max` bytes of entries, but at least one block. After the last
  // entry, it verifies the sums. An error is final.
  absl::Status step(std::uint64_t bytes_max);
  bool done() const { return verified_; }
  // Runs all remaining steps and returns the checkpoint. Call it once.
  absl::StatusOr<LoadedCheckpoint> finish();

 private:
  CheckpointLoad(Disk& disk, std::string path, OpenFile file, const CheckpointHeader& header)
      : disk_(&disk),
        path_(std::move(path)),
        file_(std::move(file)),
        header_(header),
        layout_(checkpoint_layout(header.entry_count, header.entry_bytes)) {}
  absl::Status take_pages();
  absl::Status read_blocks(std::uint64_t end);
  void sum_blocks(std::uint64_t end);
  absl::Status check_sums() const;
  absl::Status read_exactly(std::uint64_t offset, std::span<std::byte> out) const;

  Disk* disk_;
  std::string path_;
  OpenFile file_;
  CheckpointHeader header_;
  CheckpointLayout layout_;
  bool has_pages_ = false;
  bool mapped_ = false;  // the pages map the file itself
  Pages pages_;
  std::span<const std::byte> entries_;  // part of the pages
  std::uint64_t summed_ = 0;            // bytes of the entries
  std::vector<std::uint64_t> sums_;     // of their blocks
  bool verified_ = false;
};

}  // namespace lapwing
