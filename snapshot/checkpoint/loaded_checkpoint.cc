#include "snapshot/checkpoint/loaded_checkpoint.h"

#include <array>
#include <cstring>
#include <utility>

#include "os/mapping.h"
#include "snapshot/checkpoint/checkpoint_load.h"
#include "snapshot/fold/entry_digest.h"

namespace lapwing {

struct LoadedCheckpoint::Impl {
  CheckpointHeader header;
  Pages pages;
  std::span<const std::byte> entries;  // part of the pages
};

absl::StatusOr<LoadedCheckpoint> LoadedCheckpoint::load(Disk& disk, const std::string& path) {
  absl::StatusOr<CheckpointLoad> load = CheckpointLoad::begin(disk, path);
  if (!load.ok()) return load.status();
  return load->finish();
}

absl::StatusOr<CheckpointHeader> LoadedCheckpoint::read_header(Disk& disk,
                                                               const std::string& path) {
  const absl::StatusOr<CheckpointLoad> load = CheckpointLoad::begin(disk, path);
  if (!load.ok()) return load.status();
  return load->header();
}

LoadedCheckpoint::LoadedCheckpoint(const CheckpointHeader& header, Pages pages,
                                   std::span<const std::byte> entries)
    : impl_(std::make_unique<Impl>(Impl{header, std::move(pages), entries})) {}
LoadedCheckpoint::LoadedCheckpoint(LoadedCheckpoint&&) noexcept = default;
LoadedCheckpoint& LoadedCheckpoint::operator=(LoadedCheckpoint&&) noexcept = default;
LoadedCheckpoint::~LoadedCheckpoint() = default;

const CheckpointHeader& LoadedCheckpoint::header() const {
  return impl_->header;
}

CheckpointIdentity LoadedCheckpoint::identity() const {
  return {header().journal_id, header().session_id, header().sequence};
}

std::span<const std::byte> LoadedCheckpoint::entries() const {
  return impl_->entries;
}

std::span<const std::byte> LoadedCheckpoint::entry(std::uint64_t index) const {
  return entries().subspan(index * header().entry_bytes, header().entry_bytes);
}

std::uint64_t LoadedCheckpoint::lower_bound(const Fold& fold,
                                            std::span<const std::byte> key) const {
  std::array<std::byte, kKeyBytesMax> there{};
  std::uint64_t begin = 0;
  std::uint64_t end = size();
  while (begin < end) {
    const std::uint64_t middle = begin + (end - begin) / 2;
    fold.key_of(entry(middle), std::span(there).first(key.size()));
    if (std::memcmp(there.data(), key.data(), key.size()) < 0) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

std::span<const std::byte> LoadedCheckpoint::find(const Fold& fold,
                                                  std::span<const std::byte> key) const {
  const std::uint64_t index = lower_bound(fold, key);
  if (index == size()) return {};
  std::array<std::byte, kKeyBytesMax> there{};
  fold.key_of(entry(index), std::span(there).first(key.size()));
  if (std::memcmp(there.data(), key.data(), key.size()) != 0) return {};
  return entry(index);
}

std::uint64_t LoadedCheckpoint::digest() const {
  return digest_entries(entries());
}

}  // namespace lapwing
