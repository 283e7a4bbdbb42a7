// The checkpoints of a bus: files that contain its folded state as of a given record. A Checkpoint
// lists them, or verifies a whole file and opens it as a sorted array of entries.
//
//   auto checkpoint = lapwing::Checkpoint::open({.directory = "./es", .fold = "orders"});
//   if (!checkpoint.ok()) return fail(checkpoint.status());
//   for (std::uint64_t i = 0; i < checkpoint->size(); ++i) use(checkpoint->entry(i));
//
// A checkpointer writes them (lapwing/checkpointer.h). Reading one needs neither a checkpointer nor
// a publisher, and changes nothing. A subscriber that begins with Start::snapshot() loads a
// checkpoint by itself and continues with the records. Use this class to examine a state in place.
//
// An opened checkpoint is trustworthy. It belongs to the bus's owner, to root or to this user, and
// is in directories that only they can write to. Every byte matches its checksum. According to the
// bus's journal, its record is a durable record of the bus's history.
//
// A file that only this user and root can change is mapped, which uses no process memory and reads
// at the speed of the page cache. Any other file, and every file if `copy` is set, is read into
// memory. An open checkpoint does not change when its file is removed. This user or root can still
// shorten a mapped file; reading its pages then raises SIGBUS. Set `copy` in programs that must not
// trust their own user's files.
//
// Threads: immutable once it is open, so several threads may read it. Owns its memory.
// Fork: a forked child does not have that memory. There size() and digest() are 0 and every span is
// empty; info() still works.
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
  Sequence as_of = kNoSequence;               // kNoSequence: the newest usable checkpoint
  bool copy = false;                          // into memory, instead of a mapping
};

// The header of a checkpoint.
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

// An element of the result of list(). If `usable` is not ok, it contains the reason why open()
// would skip the checkpoint, and only `path` and `as_of` of `info` are set. If it is ok, the header
// is valid. Only open() verifies the checksums of all bytes.
struct ListedCheckpoint {
  CheckpointInfo info = {};
  absl::Status usable = {};
};

class Checkpoint {
 public:
  // Reads the whole file once, to verify it. Newer checkpoints that cannot be used are skipped; see
  // passed_over(). Errors:
  // kNotFound: there is no usable checkpoint. The message has a line for each skipped one.
  // kDamaged: a skipped one, or the requested one, is damaged.
  // kReset: the requested one belongs to another history or fold.
  // kNotPermitted, kNotALapwingFile: the message contains the owner of the directory and the
  // remedy. kInvalidArgument: the bus does not have this fold, or the options are invalid.
  // kLimit: there is not enough memory. Also kNoBus, kNoJournal, kAbiMismatch, kSystem.
  [[nodiscard]] static absl::StatusOr<Checkpoint> open(const CheckpointOptions& options);
  // Returns every checkpoint of the bus and the fold, newest first. Ignores as_of and copy, and
  // reads only the headers. Errors: those of open(), except kNotFound. If there is no checkpoint,
  // the list is empty.
  [[nodiscard]] static absl::StatusOr<std::vector<ListedCheckpoint>> list(
      const CheckpointOptions& options);

  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  ~Checkpoint();

  [[nodiscard]] const CheckpointInfo& info() const;
  [[nodiscard]] const Fold& fold() const;
  // Returns a line for each newer checkpoint that could not be used, with the reason.
  [[nodiscard]] const std::vector<std::string>& passed_over() const;

  // Spans are valid while the checkpoint is open.
  [[nodiscard]] std::uint64_t size() const;                  // entries
  [[nodiscard]] std::span<const std::byte> entries() const;  // end to end, sorted by key
  [[nodiscard]] std::span<const std::byte> entry(std::uint64_t index) const;  // below size()
  // Finds the entry with the given key by binary search. Empty if there is none, or if the key does
  // not have the size of the fold's keys. Fold::key_of() makes a key.
  [[nodiscard]] std::span<const std::byte> find(std::span<const std::byte> key) const;
  // The index of the first entry whose key is not below `key`. size() if there is none, or if `key`
  // has a different size.
  [[nodiscard]] std::uint64_t lower_bound(std::span<const std::byte> key) const;
  // XXH3-64 over the entries, equal to MemoryState::digest() of the same entries. Reads all of
  // them.
  [[nodiscard]] std::uint64_t digest() const;

 private:
  struct State;
  explicit Checkpoint(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lapwing
