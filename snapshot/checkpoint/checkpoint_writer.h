// Writes one checkpoint file: temporary name, entries, sums, header, sync, rename, sync of the
// directory. Whatever fails or dies in between leaves no file with the name of a checkpoint.
//
// Thread safety: one thread. Owns the temporary file until commit(); destroyed without it, removes
// it. Memory: a fixed buffer, whatever the number of entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/identity.h"
#include "snapshot/fold/fold.h"
#include "snapshot/io.h"

namespace lapwing {

// What a checkpoint is of.
struct CheckpointIdentity {
  Id128 journal_id;
  Id128 session_id;
  Sequence sequence = kNoSequence;  // the state is as of this record

  friend bool operator==(const CheckpointIdentity&, const CheckpointIdentity&) = default;
};

class CheckpointWriter {
 public:
  // `directory` is <bus>/checkpoint/<fold>, which is there. Errors: kNoSpace, kNotPermitted,
  // kNotFound, kSystem, as all of these.
  static absl::StatusOr<CheckpointWriter> create(Disk& disk, const std::string& directory,
                                                 const FoldShape& shape,
                                                 const CheckpointIdentity& identity);
  CheckpointWriter(CheckpointWriter&&) noexcept;
  CheckpointWriter& operator=(CheckpointWriter&&) noexcept;
  ~CheckpointWriter();

  // Entries end to end, in the order of their keys.
  absl::Status append(std::span<const std::byte> entries);
  // The checkpoint is there when this returns ok, and survives a power cut.
  absl::Status commit();

 private:
  class Impl;
  explicit CheckpointWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lapwing
