// The checkpoints of a bus: its folded state as of a record, in files. Lists them, and opens one,
// verified as a whole, as the sorted array that it holds.
//
//   auto checkpoint = lapwing::Checkpoint::open({.directory = "./es", .fold = "orders"});
//   if (!checkpoint.ok()) return fail(checkpoint.status());
//   for (std::uint64_t i = 0; i < checkpoint->size(); ++i) use(checkpoint->entry(i));
//
// A checkpointer writes them (lapwing/checkpointer.h); reading one needs neither a checkpointer nor
// a publisher, and changes nothing. A subscriber that begins with Start::snapshot() does all of
// this by itself, and continues with the records; this is for looking at a state where it is.
//
// What is opened can be relied upon: it belongs to the bus's owner, to root or to this user, in
// directories that nobody else may write to; every byte matches its sum; and its record is a
// durable one of this bus's history, as its journal tells it.
//
// The file is mapped where nobody but this user and root could change it: that costs no memory and
// reads as fast as the page cache gives. Any other file, and every one with `copy`, is read into
// memory. An open checkpoint stays as it is when its file is removed. This user or root can still
// shorten a mapped file; its pages are then gone (SIGBUS). `copy` is for programs that must not
// trust their own user's files.
//
// Threads: immutable once it is open, so several threads may read it. Owns its memory.
// Fork: a forked child does not have that memory. There size() and digest() are 0 and every span is
// empty; info() still answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/fold.h"
#include "lapwing/sequence.h"

namespace lapwing {

struct CheckpointOptions {
  std::string directory = {};                 // of the bus
  std::string fold = {};                      // empty: default_fold()
  std::shared_ptr<const Fold> own_fold = {};  // instead of `fold`
  Sequence as_of = kNoSequence;               // that one; kNoSequence: the newest that is good
  bool copy = false;                          // into memory, instead of a mapping
};

// What a checkpoint's header says.
struct CheckpointInfo {
  std::string path = {};
  Sequence as_of = kNoSequence;  // the last record that was folded
  Id128 journal_id = {};
  Id128 session_id = {};
  std::string fold = {};
  std::uint32_t fold_version = 0;
  std::string schema_name = {};  // of the bus
  std::uint32_t record_bytes = 0;
  std::uint64_t entries = 0;
  std::uint32_t entry_bytes = 0;
  std::uint64_t written_wall_ns = 0;  // UTC
};

// One of a list. Where `usable` is not ok, it says why open() would pass it over, and `info` has
// path and as_of alone. Ok: by its header; that every byte matches its sum only open() can say.
struct ListedCheckpoint {
  CheckpointInfo info = {};
  absl::Status usable = {};
};

class Checkpoint {
 public:
  // Reads the whole file once, to verify it. Newer ones that cannot be used are passed over; see
  // passed_over(). Errors: kNotFound (there is none, with a line for each that was passed over);
  // kDamaged (one of those is damaged, or the one that was asked for is); kReset (the one that was
  // asked for is of another history or fold); kNotPermitted and kNotALapwingFile (whose directory
  // it is, with the remedy); kNoBus, kNoJournal; kInvalidArgument (the bus has no such fold, or the
  // options); kAbiMismatch, kLimit (no memory for it), kSystem.
  [[nodiscard]] static absl::StatusOr<Checkpoint> open(const CheckpointOptions& options);
  // Every checkpoint of the bus and the fold, newest first; as_of and copy do not matter. Reads the
  // headers. Errors: as of open(), but for kNotFound: no checkpoint is an empty list.
  [[nodiscard]] static absl::StatusOr<std::vector<ListedCheckpoint>> list(
      const CheckpointOptions& options);

  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  ~Checkpoint();

  [[nodiscard]] const CheckpointInfo& info() const;
  [[nodiscard]] const Fold& fold() const;
  // A line for each newer checkpoint that could not be used: which, and why.
  [[nodiscard]] const std::vector<std::string>& passed_over() const;

  // Spans are valid while the checkpoint is open.
  [[nodiscard]] std::uint64_t size() const;                  // entries
  [[nodiscard]] std::span<const std::byte> entries() const;  // end to end, sorted by key
  [[nodiscard]] std::span<const std::byte> entry(std::uint64_t index) const;  // below size()
  // The entry of that key by binary search; empty where there is none, and for a key of another
  // size than the fold's. Fold::key_of() makes a key.
  [[nodiscard]] std::span<const std::byte> find(std::span<const std::byte> key) const;
  // The index of the first entry whose key is not below `key`; size() where there is none, and for
  // a key of another size.
  [[nodiscard]] std::uint64_t lower_bound(std::span<const std::byte> key) const;
  // XXH3-64 over the entries: MemoryState::digest() of the same ones. Reads all of them.
  [[nodiscard]] std::uint64_t digest() const;

 private:
  struct State;
  explicit Checkpoint(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lapwing
