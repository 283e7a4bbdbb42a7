// Reads one checkpoint file: verified as a whole, then exposed as the sorted array that it holds.
//
// The file is mapped where nobody but this user and root could change it: that is the only way to
// load at the speed of the page cache, and needs no memory of one's own. Otherwise it is read into
// memory (docs/explanation/adr/0010-checkpoints-are-mapped.md has the figures and what can still go wrong). A
// checkpoint whose file is removed meanwhile stays as it is.
//
// Takes any path: who may have put the file there is for the caller to check first, as
// lapwing::Checkpoint does for users (checkpoint_ownership.h).
//
// Thread safety: immutable once loaded. Owns its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/checkpoint_format.h"
#include "snapshot/checkpoint/checkpoint_writer.h"

namespace lapwing {

class Pages;

class LoadedCheckpoint {
 public:
  // Reads the file in one sequential pass and verifies header and every block; checkpoint_load.h
  // does so piece by piece. Errors: kNotFound;
  // kNotALapwingFile; kAbiMismatch (another version); kDamaged with file, block and offset; kLimit
  // (no memory for it); kNotPermitted, kSystem.
  static absl::StatusOr<LoadedCheckpoint> load(Disk& disk, const std::string& path);
  // The header alone, and that the file has the length it says: for listing.
  static absl::StatusOr<CheckpointHeader> read_header(Disk& disk, const std::string& path);

  LoadedCheckpoint(LoadedCheckpoint&&) noexcept;
  LoadedCheckpoint& operator=(LoadedCheckpoint&&) noexcept;
  ~LoadedCheckpoint();

  const CheckpointHeader& header() const;
  CheckpointIdentity identity() const;
  std::uint64_t size() const { return header().entry_count; }  // entries
  std::span<const std::byte> entries() const;                  // end to end, sorted by key
  std::span<const std::byte> entry(std::uint64_t index) const;
  // The entry of that key by binary search, or an empty span. `fold` is the one of the header.
  std::span<const std::byte> find(const Fold& fold, std::span<const std::byte> key) const;
  // The index of the first entry whose key is not below `key`; size() if there is none.
  std::uint64_t lower_bound(const Fold& fold, std::span<const std::byte> key) const;
  // XXH3-64 over the entries: that of a MemoryState with the same ones.
  std::uint64_t digest() const;

 private:
  friend class CheckpointLoad;
  struct Impl;
  // `entries` are of `pages`.
  LoadedCheckpoint(const CheckpointHeader& header, Pages pages, std::span<const std::byte> entries);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lapwing
