#include "snapshot/checkpoint/checkpoint.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/error.h"
#include "snapshot/checkpoint/checkpoint_header.h"
#include "snapshot/fold/entry_digest.h"
#include "snapshot/pages.h"
#include "snapshot/posix_io.h"

namespace lapwing {
namespace {

// Read, then summed while it is in the processor's cache.
constexpr std::size_t kReadBytes = 4 * kCheckpointBlockBytes;

struct OpenCheckpoint {
  OpenFile file;
  CheckpointHeader header;
  CheckpointLayout layout;
};

absl::StatusOr<OpenCheckpoint> open_checkpoint(Disk& disk, const std::string& path) {
  const auto opened = disk.open(path, {OpenMode::kRead});
  if (!opened.ok()) return opened.status();
  OpenCheckpoint open{OpenFile(disk, *opened), {}, {}};
  const auto file_bytes = disk.size(*opened);
  if (!file_bytes.ok()) return file_bytes.status();
  const auto read = disk.read_at(*opened, 0, std::as_writable_bytes(std::span(&open.header, 1)));
  if (!read.ok()) return read.status();
  if (*read < sizeof open.header) {
    return checkpoint_damage(
        path, absl::StrCat("header at offset 0: the file has ", *read, " bytes: it was cut short"));
  }
  const absl::Status status = check_checkpoint_header(open.header, *file_bytes, path);
  if (!status.ok()) return status;
  open.layout = checkpoint_layout(open.header.entry_count, open.header.entry_bytes);
  return open;
}

// The file's bytes from `offset` on, all of `out`.
absl::Status read_exactly(Disk& disk, FileHandle file, std::uint64_t offset,
                          std::span<std::byte> out, const std::string& path) {
  const auto read = disk.read_at(file, offset, out);
  if (!read.ok()) return read.status();
  if (*read == out.size()) return absl::OkStatus();
  return checkpoint_damage(path, absl::StrCat("ended at offset ", offset + *read,
                                              " while it was read: it was cut short"));
}

// Adds the sums of the blocks of entries[begin, end).
void sum_blocks(std::span<const std::byte> entries, std::uint64_t begin, std::uint64_t end,
                std::vector<std::uint64_t>& sums) {
  for (std::uint64_t at = begin; at < end; at += kCheckpointBlockBytes) {
    const std::uint64_t bytes = std::min<std::uint64_t>(kCheckpointBlockBytes, end - at);
    sums.push_back(XXH3_64bits_withSeed(entries.data() + at, bytes, sums.size()));
  }
}

// The entries in memory, and the sums of their blocks as they are.
struct LoadedEntries {
  Pages pages;
  std::span<const std::byte> entries;
  std::vector<std::uint64_t> sums;
};

LoadedEntries sum_mapped(const OpenCheckpoint& open, Pages pages) {
  LoadedEntries loaded{std::move(pages), {}, {}};
  loaded.entries = loaded.pages.bytes().subspan(kCheckpointHeaderBytes, open.layout.entries_bytes);
  loaded.sums.reserve(open.layout.block_count);
  loaded.pages.expect_sequential(true);
  sum_blocks(loaded.entries, 0, loaded.entries.size(), loaded.sums);
  loaded.pages.expect_sequential(false);
  return loaded;
}

absl::StatusOr<LoadedEntries> read_entries(Disk& disk, const OpenCheckpoint& open,
                                           const std::string& path) {
  auto pages = Pages::allocate(open.layout.entries_bytes);
  if (!pages.ok()) return pages.status();
  LoadedEntries loaded{*std::move(pages), {}, {}};
  loaded.entries = loaded.pages.bytes();
  loaded.sums.reserve(open.layout.block_count);
  for (std::uint64_t begin = 0; begin < loaded.entries.size(); begin += kReadBytes) {
    const std::uint64_t end = std::min<std::uint64_t>(begin + kReadBytes, loaded.entries.size());
    const absl::Status status =
        read_exactly(disk, open.file.get(), kCheckpointHeaderBytes + begin,
                     loaded.pages.writable().subspan(begin, end - begin), path);
    if (!status.ok()) return status;
    sum_blocks(loaded.entries, begin, end, loaded.sums);
  }
  return loaded;
}

absl::StatusOr<LoadedEntries> load_entries(Disk& disk, const OpenCheckpoint& open,
                                           const std::string& path) {
  auto mapped = disk.map_finished(open.file.get());
  if (!mapped || mapped->bytes().size() != open.layout.file_bytes) {
    return read_entries(disk, open, path);
  }
  return sum_mapped(open, *std::move(mapped));
}

// Compares what was found with what the end of the file says: padding, sums, sum of the sums.
absl::Status check_sums(Disk& disk, const OpenCheckpoint& open,
                        const std::vector<std::uint64_t>& found, const std::string& path) {
  const CheckpointLayout& layout = open.layout;
  const std::uint64_t end_offset = kCheckpointHeaderBytes + layout.entries_bytes;
  std::vector<std::byte> end(layout.file_bytes - end_offset);
  const absl::Status status = read_exactly(disk, open.file.get(), end_offset, end, path);
  if (!status.ok()) return status;
  const std::size_t padding = layout.sums_offset - end_offset;
  if (std::any_of(end.begin(), end.begin() + static_cast<std::ptrdiff_t>(padding),
                  [](std::byte byte) { return byte != std::byte{0}; })) {
    return checkpoint_damage(path, absl::StrCat("padding at offset ", end_offset, ": not zeros"));
  }
  const auto sums = std::span<const std::byte>(end).subspan(padding);
  if (XXH3_64bits(sums.data(), sums.size()) != open.header.sums_sum) {
    return checkpoint_damage(path,
                             absl::StrCat("sums at offset ", layout.sums_offset, ": sum mismatch"));
  }
  for (std::uint64_t block = 0; block < found.size(); ++block) {
    const std::size_t at = block * sizeof(std::uint64_t);
    if (std::memcmp(sums.data() + at, &found[block], sizeof(std::uint64_t)) == 0) continue;
    return checkpoint_damage(
        path,
        absl::StrCat("block ", block, " of ", found.size(), " at offset ",
                     kCheckpointHeaderBytes + block * kCheckpointBlockBytes, ": sum mismatch"));
  }
  return absl::OkStatus();
}

}  // namespace

class Checkpoint::Impl {
 public:
  CheckpointHeader header{};
  Pages pages;
  std::span<const std::byte> entries;
};

absl::StatusOr<Checkpoint> Checkpoint::load(const std::string& path) {
  PosixDisk disk;
  return load(disk, path);
}

absl::StatusOr<Checkpoint> Checkpoint::load(Disk& disk, const std::string& path) {
  const auto open = open_checkpoint(disk, path);
  if (!open.ok()) return open.status();
  auto loaded = load_entries(disk, *open, path);
  if (!loaded.ok()) return loaded.status();
  const absl::Status status = check_sums(disk, *open, loaded->sums, path);
  if (!status.ok()) return status;
  auto impl = std::make_unique<Impl>();
  impl->header = open->header;
  impl->pages = std::move(loaded->pages);
  impl->entries = loaded->entries;
  return Checkpoint(std::move(impl));
}

absl::StatusOr<CheckpointHeader> Checkpoint::read_header(const std::string& path) {
  PosixDisk disk;
  return read_header(disk, path);
}

absl::StatusOr<CheckpointHeader> Checkpoint::read_header(Disk& disk, const std::string& path) {
  const auto open = open_checkpoint(disk, path);
  if (!open.ok()) return open.status();
  return open->header;
}

Checkpoint::Checkpoint(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

const CheckpointHeader& Checkpoint::header() const {
  return impl_->header;
}

CheckpointIdentity Checkpoint::identity() const {
  return {header().journal_id, header().session_id, header().sequence};
}

std::span<const std::byte> Checkpoint::entries() const {
  return impl_->entries;
}

std::span<const std::byte> Checkpoint::entry(std::uint64_t index) const {
  return entries().subspan(index * header().entry_bytes, header().entry_bytes);
}

std::uint64_t Checkpoint::lower_bound(const Fold& fold, std::span<const std::byte> key) const {
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

std::span<const std::byte> Checkpoint::find(const Fold& fold,
                                            std::span<const std::byte> key) const {
  const std::uint64_t index = lower_bound(fold, key);
  if (index == size()) return {};
  std::array<std::byte, kKeyBytesMax> there{};
  fold.key_of(entry(index), std::span(there).first(key.size()));
  if (std::memcmp(there.data(), key.data(), key.size()) != 0) return {};
  return entry(index);
}

std::uint64_t Checkpoint::digest() const {
  return digest_entries(entries());
}

}  // namespace lapwing
