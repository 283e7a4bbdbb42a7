#include "subscribers/checkpointer/state_store.h"

#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <array>
#include <utility>

#include "subscribers/checkpointer/hot_entries.h"
#include "subscribers/checkpointer/state_files.h"

namespace lapwing {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kPrefetchKeysMax = 256;  // per lookup in the files

// The first key after all keys that begin with `prefix`.
std::string end_of(Bytes prefix) {
  std::string end(slice_of(prefix).ToString());
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (end.empty()) return kPositionKey;
  ++end.back();
  return end;
}

}  // namespace

struct StateStore::Hot {
  explicit Hot(const FoldShape& shape) : entries(shape) {}
  HotEntries entries;
  rocksdb::PinnableSlice found;  // the last entry that find() read
};

StateStore::StateStore(std::string directory, const FoldShape& shape, std::uint64_t hot_bytes_max)
    : directory_(std::move(directory)),
      shape_(shape),
      hot_(std::make_unique<Hot>(shape)),
      hot_bytes_max_(hot_bytes_max) {}
StateStore::~StateStore() = default;

absl::StatusOr<std::unique_ptr<StateStore>> StateStore::open(const std::string& directory,
                                                             const FoldShape& shape,
                                                             std::uint64_t hot_bytes_max) {
  std::unique_ptr<StateStore> store(new StateStore(directory, shape, hot_bytes_max));
  if (absl::Status opened = store->reopen(); !opened.ok()) return opened;
  return store;
}

absl::Status StateStore::reopen() {
  drop_changes();
  hot_->found.Reset();
  files_.reset();
  failure_ = absl::OkStatus();
  absl::Status opened = open_files();
  return opened.ok() ? opened : fail(std::move(opened));
}

absl::Status StateStore::open_files() {
  absl::StatusOr<std::shared_ptr<StateFiles>> opened = StateFiles::open(directory_, shape_);
  if (!opened.ok()) return opened.status();
  files_ = *std::move(opened);
  const absl::StatusOr<std::optional<StorePosition>> position = files_->read_position();
  if (!position.ok()) return position.status();
  position_ = *position;
  if (position_) return absl::OkStatus();
  const absl::StatusOr<bool> leftovers = files_->has_entries();
  if (!leftovers.ok()) return leftovers.status();
  return *leftovers ? empty() : absl::OkStatus();
}

// Also records failures that cannot be returned to the fold. A failed read returns no entry, so
// nothing folded since then is trusted.
absl::Status StateStore::fail(absl::Status status) {
  if (failure_.ok()) failure_ = std::move(status);
  return failure_;
}

const std::byte* StateStore::find(Bytes key) {
  if (key.size() != shape_.key_bytes) return nullptr;
  const HotEntries::Known known = hot_->entries.find(key);
  if (known.here) return known.entry;
  bool is_there = false;
  const absl::Status read = files_->read(key, hot_->found, is_there);
  if (!read.ok()) fail(read).IgnoreError();
  if (!read.ok()) return nullptr;
  hot_->entries.remember(key, is_there ? bytes_of(hot_->found).data() : nullptr);
  return hot_->entries.find(key).entry;
}

void StateStore::put(Bytes key, Bytes entry) {
  if (key.size() != shape_.key_bytes || entry.size() != shape_.entry_bytes) return;
  hot_->entries.put(key, entry);
}

void StateStore::erase(Bytes key) {
  if (key.size() == shape_.key_bytes) hot_->entries.erase(key);
}

void StateStore::erase_prefix(Bytes prefix) {
  if (prefix.size() <= shape_.key_bytes) hot_->entries.erase_prefix(prefix);
}

void StateStore::prefetch(Bytes keys) {
  const std::size_t key_bytes = shape_.key_bytes;
  std::array<rocksdb::Slice, kPrefetchKeysMax> wanted;
  std::array<rocksdb::PinnableSlice, kPrefetchKeysMax> values;
  std::array<rocksdb::Status, kPrefetchKeysMax> statuses;
  for (std::size_t at = 0; at < keys.size();) {
    std::size_t count = 0;
    for (; at < keys.size() && count < kPrefetchKeysMax; at += key_bytes) {
      const Bytes key = keys.subspan(at, key_bytes);
      if (!hot_->entries.find(key).here) wanted[count++] = slice_of(key);
    }
    if (count == 0) return;
    for (std::size_t i = 0; i < count; ++i) values[i].Reset();
    files_->db().MultiGet(rocksdb::ReadOptions(), files_->db().DefaultColumnFamily(), count,
                          wanted.data(), values.data(), statuses.data());
    for (std::size_t i = 0; i < count; ++i) {
      // Leave keys that cannot be read to find(), which reports the error.
      const bool is_there = statuses[i].ok() && values[i].size() == shape_.entry_bytes;
      if (!is_there && !statuses[i].IsNotFound()) continue;
      hot_->entries.remember(bytes_of(wanted[i]), is_there ? bytes_of(values[i]).data() : nullptr);
    }
  }
}

bool StateStore::full() const {
  return hot_->entries.bytes() >= hot_bytes_max_;
}

absl::Status StateStore::commit(const std::optional<StorePosition>& position) {
  if (!failure_.ok()) return failure_;
  rocksdb::WriteBatch batch;
  rocksdb::Status made;
  const auto note = [&](const rocksdb::Status& status) {
    if (made.ok()) made = status;
  };
  // RocksDB applies a batch in order, so each prefix is erased before keys are put under it again.
  hot_->entries.for_each_prefix(
      [&](Bytes prefix) { note(batch.DeleteRange(slice_of(prefix), end_of(prefix))); });
  hot_->entries.for_each_change([&](Bytes key, Bytes entry) {
    note(entry.empty() ? batch.Delete(slice_of(key)) : batch.Put(slice_of(key), slice_of(entry)));
  });
  if (position) note(batch.Put(kPositionKey, files_->position_value(*position)));
  if (made.ok()) made = files_->db().Write(rocksdb::WriteOptions(), &batch);
  if (!made.ok()) {
    return fail(files_->error(made, "write to"));
  }
  position_ = position;
  hot_->entries.bytes() > hot_bytes_max_ / 2 ? hot_->entries.clear() : hot_->entries.settle();
  return absl::OkStatus();
}

void StateStore::drop_changes() {
  hot_->entries.clear();
}

absl::Status StateStore::empty() {
  if (!failure_.ok()) return failure_;
  rocksdb::WriteBatch batch;
  rocksdb::Status made = batch.DeleteRange(rocksdb::Slice(), kPositionKey);
  if (made.ok()) made = batch.Delete(kPositionKey);
  rocksdb::WriteOptions options;
  options.sync = true;
  if (made.ok()) made = files_->db().Write(options, &batch);
  if (!made.ok()) {
    return fail(files_->error(made, "empty"));
  }
  position_.reset();
  hot_->entries.clear();
  return absl::OkStatus();
}

StateSnapshot StateStore::snapshot() const {
  return StateSnapshot::of(files_, *position_);
}

}  // namespace lapwing
