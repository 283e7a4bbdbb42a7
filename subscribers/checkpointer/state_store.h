// A fold's state as of one position of a bus, on disk: a FoldState over RocksDB with the latest
// changes in memory.
//
//   apply()    changes entries in memory only (hot_entries.h)
//   commit()   one atomic batch: the changes, and the position that they reach
//   snapshot() the state as of the last commit, in the order of its keys, for a checkpoint
//
// So whatever ends the process, the files hold the state as of exactly one position, and whoever
// opens them goes on there. A kill loses no commit. A power cut may lose the last ones that were
// not synced, whole and from the end, never one in the middle: their positions go with them.
//
// How RocksDB is set up, and why: docs/explanation/adr/0011-a-store-for-folds.md.
//
// Invariants
//  1. In the files either all or nothing of a commit is to be seen.
//  2. Entries without a position are no state: open() removes them.
//  3. After a failed read or write, failure() is not ok, and nothing is committed any more, until
//     reopen() succeeds.
//
// Thread safety: one thread, but for snapshots, each of which may be read by a thread of its own.
// Owns the directory, by RocksDB's lock file; memory: named limits, whatever the state's size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/fold.h"
#include "lapwing/subscriber.h"

namespace lapwing {

inline constexpr std::uint64_t kHotBytesMax = 64 << 20;
inline constexpr std::uint64_t kWriteBufferBytes = 64 << 20;  // a memtable …
inline constexpr int kWriteBuffersMax = 3;                    // … and how many there may be
inline constexpr std::uint64_t kBlockCacheBytes = 64 << 20;   // with indexes and filters
inline constexpr int kOpenFilesMax = 256;
inline constexpr std::uint64_t kWalBytesMax = 512 << 20;
inline constexpr std::size_t kSnapshotBlockBytes = 256 << 10;

struct StorePosition {
  StoredPosition at;
  bool settled = true;  // false: within an event; no checkpoint is made of it

  friend bool operator==(const StorePosition& a, const StorePosition& b) {
    return a.at.journal_id == b.at.journal_id && a.at.session_id == b.at.session_id &&
           a.at.sequence == b.at.sequence && a.settled == b.settled;
  }
};

class StateFiles;

// The state as of one commit. Movable; it holds the store's files open, so that it outlives the
// store, which cannot be opened again before that.
class StateSnapshot {
 public:
  StateSnapshot(StateSnapshot&&) noexcept;
  StateSnapshot& operator=(StateSnapshot&&) noexcept;
  ~StateSnapshot();

  const StorePosition& position() const;
  // Makes that commit survive a power cut. Errors: kNoSpace, kSystem.
  absl::Status sync() const;
  // Entries end to end in the order of their keys, a block at a time. An error of `use` ends it.
  absl::Status read(
      const std::function<absl::Status(std::span<const std::byte> entries)>& use) const;

 private:
  friend class StateStore;
  static StateSnapshot of(std::shared_ptr<StateFiles> files, const StorePosition& position);
  class Impl;
  explicit StateSnapshot(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class StateStore final : public FoldState {
 public:
  // Makes the directory, 0700, if it is missing; its parent is there. Errors: kInUse (another
  // process holds it; says which), kInvalidArgument (it is of another fold, version or schema; says
  // what to do), kDamaged, kNoSpace, kNotPermitted, kSystem.
  static absl::StatusOr<std::unique_ptr<StateStore>> open(
      const std::string& directory, const FoldShape& shape,
      std::uint64_t hot_bytes_max = kHotBytesMax);
  ~StateStore() override;
  // Goes back to what the files hold, as whoever comes after a kill. There are no snapshots. Until
  // it succeeds only position(), failure() and reopen() may be called. Errors: those of open().
  absl::Status reopen();

  // Of the last commit that is known; nothing if the state is empty.
  const std::optional<StorePosition>& position() const { return position_; }

  const std::byte* find(std::span<const std::byte> key) override;
  void put(std::span<const std::byte> key, std::span<const std::byte> entry) override;
  void erase(std::span<const std::byte> key) override;
  void erase_prefix(std::span<const std::byte> prefix) override;
  // Reads these keys, laid end to end, at once, so that find() has them.
  void prefetch(std::span<const std::byte> keys);

  // The changes in memory have reached their limit: commit.
  bool full() const;

  // Without a position, which is possible while there is none, the changes are not a state yet.
  // Errors, as of empty(): kNoSpace, kSystem, kDamaged; see invariant 3.
  absl::Status commit(const std::optional<StorePosition>& position);
  // Goes back to the last commit.
  void drop_changes();
  // Removes every entry and the position.
  absl::Status empty();
  const absl::Status& failure() const { return failure_; }

  // There is a position.
  StateSnapshot snapshot() const;

 private:
  StateStore(std::string directory, const FoldShape& shape, std::uint64_t hot_bytes_max);
  absl::Status open_files();
  absl::Status fail(absl::Status status);

  struct Hot;
  const std::string directory_;
  const FoldShape shape_;
  std::shared_ptr<StateFiles> files_;  // null: not open
  std::unique_ptr<Hot> hot_;           // after the files: it holds on to what it found there
  const std::uint64_t hot_bytes_max_;
  std::optional<StorePosition> position_;
  absl::Status failure_;
};

}  // namespace lapwing
