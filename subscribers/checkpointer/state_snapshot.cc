#include <rocksdb/options.h>

#include <utility>
#include <vector>

#include "subscribers/checkpointer/state_files.h"
#include "subscribers/checkpointer/state_store.h"

namespace lapwing {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kReadAheadBytes = 2 << 20;

}  // namespace

class StateSnapshot::Impl {
 public:
  Impl(std::shared_ptr<StateFiles> files, const StorePosition& position)
      : files_(std::move(files)), position_(position), snapshot_(files_->db().GetSnapshot()) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { files_->db().ReleaseSnapshot(snapshot_); }

  const StorePosition& position() const { return position_; }
  absl::Status sync() const { return files_->error(files_->db().SyncWAL(), "sync"); }
  absl::Status read(const std::function<absl::Status(Bytes entries)>& use) const;

 private:
  std::shared_ptr<StateFiles> files_;
  StorePosition position_;
  const rocksdb::Snapshot* snapshot_;
};

absl::Status StateSnapshot::Impl::read(
    const std::function<absl::Status(Bytes entries)>& use) const {
  const rocksdb::Slice end(kPositionKey);
  rocksdb::ReadOptions options;
  options.snapshot = snapshot_;
  options.iterate_upper_bound = &end;
  options.fill_cache = false;
  options.readahead_size = kReadAheadBytes;
  const std::unique_ptr<rocksdb::Iterator> entry(files_->db().NewIterator(options));
  std::vector<std::byte> block;
  block.reserve(kSnapshotBlockBytes + kEntryBytesMax);
  for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
    const rocksdb::Slice value = entry->value();
    if (absl::Status size = files_->check_size(value); !size.ok()) return size;
    const Bytes bytes = bytes_of(value);
    block.insert(block.end(), bytes.begin(), bytes.end());
    if (block.size() < kSnapshotBlockBytes) continue;
    if (absl::Status used = use(block); !used.ok()) return used;
    block.clear();
  }
  if (!entry->status().ok()) {
    return files_->error(entry->status(), "read");
  }
  return block.empty() ? absl::OkStatus() : use(block);
}

StateSnapshot::StateSnapshot(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StateSnapshot::StateSnapshot(StateSnapshot&&) noexcept = default;
StateSnapshot& StateSnapshot::operator=(StateSnapshot&&) noexcept = default;
StateSnapshot::~StateSnapshot() = default;

const StorePosition& StateSnapshot::position() const {
  return impl_->position();
}

absl::Status StateSnapshot::sync() const {
  return impl_->sync();
}

absl::Status StateSnapshot::read(const std::function<absl::Status(Bytes entries)>& use) const {
  return impl_->read(use);
}

StateSnapshot StateSnapshot::of(std::shared_ptr<StateFiles> files, const StorePosition& position) {
  return StateSnapshot(std::make_unique<Impl>(std::move(files), position));
}

}  // namespace lapwing
