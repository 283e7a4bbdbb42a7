// Writes one checkpoint file: temporary name, entries, sums, header, sync, rename, directory sync.
// After a failure or a kill at any step, no incomplete file has the name of a checkpoint. All steps
// use the Disk, so that tests can fail or kill each of them.
//
// Thread safety: one thread. Borrows the Disk and the Fold. Owns the temporary file until
// commit(). The destructor removes the file if commit() was not called or failed. The
// first failure is final. Memory: a fixed buffer, and 8 bytes per 64 KiB of entries for
// the sums at the end of the file.
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

// The page cache keeps a file in pieces as large as its writes. Pieces of this size are mapped with
// huge pages, which makes a load twice as fast
// (docs/explanation/adr/0010-checkpoints-are-mapped.md).
inline constexpr std::size_t kCheckpointWriteBytes = 64 * std::size_t{kCheckpointBlockBytes};

// The suffix of a checkpoint while it is being written.
inline constexpr char kTemporarySuffix[] = ".tmp";

// The position of a checkpoint's state.
struct CheckpointIdentity {
  Id128 journal_id;
  Id128 session_id;
  Sequence sequence = kNoSequence;  // the state is as of this record

  friend bool operator==(const CheckpointIdentity&, const CheckpointIdentity&) = default;
};

class CheckpointWriter {
 public:
  // `directory` is <bus>/checkpoint/<fold>, which must exist. Replaces a temporary file for the
  // same sequence that a killed run left behind. Buffers `write_bytes`, which is whole blocks, and
  // writes that many at a time. Errors, for all functions: kNoSpace, kNotPermitted, kNotFound,
  // kSystem; kInvalidArgument for a shape or a sequence that a checkpoint cannot have.
  static absl::StatusOr<CheckpointWriter> create(Disk& disk, const std::string& directory,
                                                 const Fold& fold,
                                                 const CheckpointIdentity& identity,
                                                 std::size_t write_bytes = kCheckpointWriteBytes);
  CheckpointWriter(CheckpointWriter&&) noexcept;
  CheckpointWriter& operator=(CheckpointWriter&&) noexcept;
  ~CheckpointWriter();

  // Appends whole contiguous entries, in ascending order of their keys; kInvalidArgument otherwise.
  absl::Status append(std::span<const std::byte> entries);
  // When this returns ok, the checkpoint exists and survives a power cut. If only the last step,
  // the directory sync, fails, the checkpoint exists and is complete, but a power cut may remove
  // it.
  absl::Status commit();

 private:
  class Impl;
  explicit CheckpointWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lapwing
