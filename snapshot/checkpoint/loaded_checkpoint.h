// Reads one checkpoint file, verifies it completely, and exposes it as a sorted array of entries.
//
// The file is mapped if only this user and root can change it. A mapping loads at page-cache speed
// and needs no memory of its own. Otherwise the file is read into memory. See
// docs/explanation/adr/0010-checkpoints-are-mapped.md for the figures and the remaining risks. A
// loaded checkpoint stays valid if its file is removed.
//
// Accepts any path. The caller must first check who can write to it, as lapwing::Checkpoint does
// for users (checkpoint_ownership.h).
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
  // Reads the file in one sequential pass, and verifies the header and every block.
  // checkpoint_load.h does the same in pieces. Errors: kNotFound; kNotALapwingFile; kAbiMismatch
  // (another version); kDamaged with file, block and offset; kLimit (not enough memory);
  // kNotPermitted, kSystem.
  static absl::StatusOr<LoadedCheckpoint> load(Disk& disk, const std::string& path);
  // Reads only the header and checks the file's length against it. Used for listing.
  static absl::StatusOr<CheckpointHeader> read_header(Disk& disk, const std::string& path);

  LoadedCheckpoint(LoadedCheckpoint&&) noexcept;
  LoadedCheckpoint& operator=(LoadedCheckpoint&&) noexcept;
  ~LoadedCheckpoint();

  const CheckpointHeader& header() const;
  CheckpointIdentity identity() const;
  std::uint64_t size() const { return header().entry_count; }  // entries
  std::span<const std::byte> entries() const;                  // contiguous, sorted by key
  std::span<const std::byte> entry(std::uint64_t index) const;
  // Finds the entry with this key by binary search; returns an empty span if there is none. `fold`
  // must match the header.
  std::span<const std::byte> find(const Fold& fold, std::span<const std::byte> key) const;
  // The index of the first entry whose key is not below `key`; size() if there is none.
  std::uint64_t lower_bound(const Fold& fold, std::span<const std::byte> key) const;
  // XXH3-64 of the entries. Equal to that of a MemoryState with the same entries.
  std::uint64_t digest() const;

 private:
  friend class CheckpointLoad;
  struct Impl;
  // `entries` is part of `pages`.
  LoadedCheckpoint(const CheckpointHeader& header, Pages pages, std::span<const std::byte> entries);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lapwing
