// RocksDB as the store and its snapshots use it: options, errors, and the position.
//
// This is the only header that exposes RocksDB, and only the sources in this folder include it.
// Entries are stored under the fold's keys, and the position after all of them.
//
// Thread safety: as for RocksDB, any thread may read. Ownership is shared, because a snapshot may
// outlive the store.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/fold.h"
#include "proto/checkpoint_format.h"
#include "subscribers/checkpointer/state_store.h"

namespace lapwing {

// Sorts after every key, because all keys are shorter.
inline const std::string kPositionKey(kKeyBytesMax + 1, '\xff');

inline rocksdb::Slice slice_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const std::byte> bytes_of(const rocksdb::Slice& slice) {
  return std::as_bytes(std::span(slice.data(), slice.size()));
}

class StateFiles {
 public:
  // Errors: those of StateStore::open().
  static absl::StatusOr<std::shared_ptr<StateFiles>> open(const std::string& directory,
                                                          const FoldShape& shape);

  // Reads the key's entry, and sets `is_there` to whether it exists.
  absl::Status read(std::span<const std::byte> key, rocksdb::PinnableSlice& entry,
                    bool& is_there) const;
  absl::Status check_size(const rocksdb::Slice& entry) const;
  absl::StatusOr<bool> has_entries() const;
  // Errors: kInvalidArgument if the store belongs to another fold, version or schema.
  absl::StatusOr<std::optional<StorePosition>> read_position() const;
  std::string position_value(const StorePosition& position) const;

  // Converts a RocksDB error. `what` is the operation on this store that failed.
  absl::Status error(const rocksdb::Status& status, const std::string& what) const;

  rocksdb::DB& db() const { return *db_; }

 private:
  StateFiles(std::string directory, const FoldShape& shape)
      : directory_(std::move(directory)), shape_(shape) {}

  const std::string directory_;
  const FoldShape shape_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace lapwing
