// Opens a checkpointer with test hooks: limits, the disk for the checkpoints, and a call before
// each named step.
//
// Thread safety: as for Checkpointer::open().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "lapwing/checkpointer.h"
#include "os/io.h"
#include "subscribers/checkpointer/pending_records.h"

namespace lapwing {

inline constexpr std::uint64_t kDurableStallNs =
    2'000'000'000;  // without progress for this long, the bus is not syncing

struct CheckpointerSetUp : CheckpointerOptions {
  std::size_t pending_bytes_max = kPendingBytesMax;
  std::uint64_t durable_stall_ns = kDurableStallNs;
  std::function<std::unique_ptr<Disk>()> make_disk = {};
  std::function<void(const char* step)> on_step = {};

  void step(const char* name) const {
    if (on_step) on_step(name);
  }
};

// Like Checkpointer::open(), but with a given fold. The bus directory must exist; the bus need not.
// Errors: kInvalidArgument, those of check_placement(); kNotPermitted (the bus directory belongs to
// another user, or other users may write to the checkpoint directory); those of StateStore::open()
// and of make_checkpoint_directory().
absl::StatusOr<Checkpointer> start_checkpointer(CheckpointerSetUp set_up);

}  // namespace lapwing
