// A fold's state on disk, as of one position on a bus: a FoldState over RocksDB with the latest
// changes in memory.
//
//   apply()    changes entries in memory only (hot_entries.h)
//   commit()   one atomic batch: the changes, and the position they reach
//   snapshot() the state as of the last commit, in key order, for a checkpoint
//
// So however the process ends, the files hold the state as of exactly one position, and the next
// process that opens them continues there. A kill loses no commit. A power cut may lose the newest
// unsynced commits together with their positions, but only whole ones, the latest first.
//
// How RocksDB is configured, and why: docs/explanation/adr/0011-a-store-for-folds.md.
//
// Invariants
//  1. The files contain all of a commit or nothing of it.
//  2. Entries without a position are not a state: open() removes them.
//  3. After a failed read or write, failure() is not ok, and nothing is committed until reopen()
//     succeeds.
//
// Thread safety: one thread, except that each snapshot may be read on its own thread. Owns the
// directory, through RocksDB's lock file. Memory: bounded by named limits, regardless of the size
// of the state.
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
inline constexpr std::uint64_t kWriteBufferBytes = 64 << 20;  // size of a memtable …
inline constexpr int kWriteBuffersMax = 3;                    // … and their maximum number
inline constexpr std::uint64_t kBlockCacheBytes = 64 << 20;   // includes indexes and filters
inline constexpr int kOpenFilesMax = 256;
inline constexpr std::uint64_t kWalBytesMax = 512 << 20;
inline constexpr std::size_t kSnapshotBlockBytes = 256 << 10;

struct StorePosition {
  StoredPosition at;
  bool settled = true;  // false: within an event, so no checkpoint is made

  friend bool operator==(const StorePosition& a, const StorePosition& b) {
    return a.at.journal_id == b.at.journal_id && a.at.session_id == b.at.session_id &&
           a.at.sequence == b.at.sequence && a.settled == b.settled;
  }
};

class StateFiles;

// The state as of one commit. Movable. It keeps the store's files open, so it may outlive the
// store, but the store cannot be opened again before the snapshot is destroyed.
class StateSnapshot {
 public:
  StateSnapshot(StateSnapshot&&) noexcept;
  StateSnapshot& operator=(StateSnapshot&&) noexcept;
  ~StateSnapshot();

  const StorePosition& position() const;
  // Syncs that commit, so that it survives a power cut. Errors: kNoSpace, kSystem.
  absl::Status sync() const;
  // Passes the entries to `use`, contiguous and in key order, one block at a time. An error from
  // `use` ends the call.
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
  // Creates the directory with mode 0700 if it does not exist; its parent must exist. Errors:
  // kInUse (another process holds it; the message names the process), kInvalidArgument (the store
  // belongs to another fold, version or schema; the message contains the remedy), kDamaged,
  // kNoSpace, kNotPermitted, kSystem.
  static absl::StatusOr<std::unique_ptr<StateStore>> open(
      const std::string& directory, const FoldShape& shape,
      std::uint64_t hot_bytes_max = kHotBytesMax);
  ~StateStore() override;
  // Returns to the state in the files, as a process would that opens the store after a kill. No
  // snapshot may exist. Until it succeeds, only position(), failure() and reopen() may be called.
  // Errors: those of open().
  absl::Status reopen();

  // The position of the last known commit; nullopt if the state is empty.
  const std::optional<StorePosition>& position() const { return position_; }

  const std::byte* find(std::span<const std::byte> key) override;
  void put(std::span<const std::byte> key, std::span<const std::byte> entry) override;
  void erase(std::span<const std::byte> key) override;
  void erase_prefix(std::span<const std::byte> prefix) override;
  // Reads the entries of these contiguous keys in one lookup, so that find() has them in memory.
  void prefetch(std::span<const std::byte> keys);

  // True if the changes in memory have reached their limit, so commit() is due.
  bool full() const;

  // Without a position (allowed only while the store has none), the changes do not form a state
  // yet. Errors, as for empty(): kNoSpace, kSystem, kDamaged; see invariant 3.
  absl::Status commit(const std::optional<StorePosition>& position);
  // Drops the changes since the last commit.
  void drop_changes();
  // Removes every entry and the position.
  absl::Status empty();
  const absl::Status& failure() const { return failure_; }

  // Requires a position.
  StateSnapshot snapshot() const;

 private:
  StateStore(std::string directory, const FoldShape& shape, std::uint64_t hot_bytes_max);
  absl::Status open_files();
  absl::Status fail(absl::Status status);

  struct Hot;
  const std::string directory_;
  const FoldShape shape_;
  std::shared_ptr<StateFiles> files_;  // null: not open
  std::unique_ptr<Hot> hot_;           // after the files: it refers to entries in them
  const std::uint64_t hot_bytes_max_;
  std::optional<StorePosition> position_;
  absl::Status failure_;
};

}  // namespace lapwing
