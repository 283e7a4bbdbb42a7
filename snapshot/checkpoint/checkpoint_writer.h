// Writes one checkpoint file: temporary name, entries, sums, header, sync, rename, sync of the
// directory. Whatever fails or dies in between leaves no file with the name of a checkpoint that is
// not whole; the steps go through the Disk, where a test fails or kills any of them.
//
// Thread safety: one thread. Borrows the Disk and the Fold. Owns the temporary file until commit();
// destroyed without it, or after a failure, removes it. The first failure is final.
// Memory: a fixed buffer, and 8 bytes for each 64 KiB of entries, whose sums come last in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/fold.h"
#include "lapwing/sequence.h"
#include "os/io.h"
#include "proto/checkpoint_format.h"

namespace lapwing {

// The page cache keeps a file in pieces as large as the writes that made it. Pieces of this size
// are mapped by the huge page: a load is twice as fast (docs/explanation/adr/0010-checkpoints-are-mapped.md).
inline constexpr std::size_t kCheckpointWriteBytes = 64 * std::size_t{kCheckpointBlockBytes};

// A checkpoint has this after its name while it is being written.
inline constexpr char kTemporarySuffix[] = ".tmp";

// What a checkpoint is of.
struct CheckpointIdentity {
  Id128 journal_id;
  Id128 session_id;
  Sequence sequence = kNoSequence;  // the state is as of this record

  friend bool operator==(const CheckpointIdentity&, const CheckpointIdentity&) = default;
};

class CheckpointWriter {
 public:
  // `directory` is <bus>/checkpoint/<fold>, which is there. A temporary file of the same sequence,
  // left by a run that was killed, is replaced. Keeps `write_bytes` in memory, whole blocks, and
  // writes as many at a time. Errors: kNoSpace, kNotPermitted, kNotFound, kSystem, as all of these;
  // kInvalidArgument for a shape or a sequence that no checkpoint has.
  static absl::StatusOr<CheckpointWriter> create(Disk& disk, const std::string& directory,
                                                 const Fold& fold,
                                                 const CheckpointIdentity& identity,
                                                 std::size_t write_bytes = kCheckpointWriteBytes);
  CheckpointWriter(CheckpointWriter&&) noexcept;
  CheckpointWriter& operator=(CheckpointWriter&&) noexcept;
  ~CheckpointWriter();

  // Whole entries, end to end, in the ascending order of their keys; kInvalidArgument if they are
  // not.
  absl::Status append(std::span<const std::byte> entries);
  // The checkpoint is there when this returns ok, and survives a power cut. If only the last step,
  // the sync of the directory, fails, it is there and whole, and a power cut may take it.
  absl::Status commit();

 private:
  class Impl;
  explicit CheckpointWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lapwing
