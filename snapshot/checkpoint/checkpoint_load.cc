#include "snapshot/checkpoint/checkpoint_load.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "snapshot/wide_xxh3.h"

namespace lapwing {
namespace {

// One read. The bytes are summed while they are in the processor's cache.
constexpr std::uint64_t kReadBytes = 4 * kCheckpointBlockBytes;

}  // namespace

absl::StatusOr<CheckpointLoad> CheckpointLoad::begin(Disk& disk, const std::string& path) {
  const auto opened = disk.open(path, {OpenMode::kRead});
  if (!opened.ok()) return opened.status();
  OpenFile file(disk, *opened);
  const auto file_bytes = disk.size(*opened);
  if (!file_bytes.ok()) return file_bytes.status();
  CheckpointHeader header;
  const auto read = disk.read_at(*opened, 0, std::as_writable_bytes(std::span(&header, 1)));
  if (!read.ok()) return read.status();
  if (*read < sizeof header) {
    return checkpoint_damage(
        path, absl::StrCat("header at offset 0: the file has ", *read, " bytes: it was cut short"));
  }
  const absl::Status status = check_checkpoint_header(header, *file_bytes, path);
  if (!status.ok()) return status;
  return CheckpointLoad(disk, path, std::move(file), header);
}

absl::Status CheckpointLoad::step(std::uint64_t bytes_max) {
  if (!std::exchange(has_pages_, true)) {
    if (absl::Status taken = take_pages(); !taken.ok()) return taken;
  }
  const std::uint64_t blocks = std::max<std::uint64_t>(bytes_max / kCheckpointBlockBytes, 1);
  const std::uint64_t bytes =
      std::min(entries_.size() - summed_,
               std::min<std::uint64_t>(blocks, layout_.block_count) * kCheckpointBlockBytes);
  if (mapped_) {
    sum_blocks(summed_ + bytes);
  } else if (absl::Status read = read_blocks(summed_ + bytes); !read.ok()) {
    return read;
  }
  if (summed_ < entries_.size()) return absl::OkStatus();
  if (mapped_) pages_.expect_sequential(false);
  absl::Status checked = check_sums();
  verified_ = checked.ok();
  return checked;
}

absl::StatusOr<LoadedCheckpoint> CheckpointLoad::finish() {
  while (!verified_) {
    if (absl::Status status = step(std::numeric_limits<std::uint64_t>::max()); !status.ok()) {
      return status;
    }
  }
  return LoadedCheckpoint(header_, std::move(pages_), entries_);
}

absl::Status CheckpointLoad::take_pages() {
  sums_.reserve(layout_.block_count);
  auto mapped = disk_->map_finished(file_.get());
  mapped_ = mapped && mapped->bytes().size() == layout_.file_bytes;
  if (mapped_) {
    pages_ = *std::move(mapped);
    entries_ = pages_.bytes().subspan(kCheckpointHeaderBytes, layout_.entries_bytes);
    pages_.expect_sequential(true);
    return absl::OkStatus();
  }
  auto allocated = Pages::allocate(layout_.entries_bytes);
  if (!allocated.ok()) return allocated.status();
  pages_ = *std::move(allocated);
  entries_ = pages_.bytes();
  return absl::OkStatus();
}

// Reads and sums the entries up to offset `end`.
absl::Status CheckpointLoad::read_blocks(std::uint64_t end) {
  while (summed_ < end) {
    const std::uint64_t piece_end = std::min(summed_ + kReadBytes, end);
    const absl::Status status = read_exactly(
        kCheckpointHeaderBytes + summed_, pages_.writable().subspan(summed_, piece_end - summed_));
    if (!status.ok()) return status;
    sum_blocks(piece_end);
  }
  return absl::OkStatus();
}

void CheckpointLoad::sum_blocks(std::uint64_t end) {
  for (; summed_ < end; summed_ += std::min<std::uint64_t>(kCheckpointBlockBytes, end - summed_)) {
    const std::uint64_t bytes = std::min<std::uint64_t>(kCheckpointBlockBytes, end - summed_);
    sums_.push_back(XXH3_64bits_withSeed(entries_.data() + summed_, bytes, sums_.size()));
  }
}

// Compares the results with the end of the file: the padding, the sums and the sum of the sums.
absl::Status CheckpointLoad::check_sums() const {
  const std::uint64_t end_offset = kCheckpointHeaderBytes + layout_.entries_bytes;
  std::vector<std::byte> end(layout_.file_bytes - end_offset);
  const absl::Status status = read_exactly(end_offset, end);
  if (!status.ok()) return status;
  const std::size_t padding = layout_.sums_offset - end_offset;
  if (std::any_of(end.begin(), end.begin() + static_cast<std::ptrdiff_t>(padding),
                  [](std::byte byte) { return byte != std::byte{0}; })) {
    return checkpoint_damage(path_, absl::StrCat("padding at offset ", end_offset, ": not zeros"));
  }
  const auto sums = std::span<const std::byte>(end).subspan(padding);
  if (XXH3_64bits(sums.data(), sums.size()) != header_.sums_sum) {
    return checkpoint_damage(
        path_, absl::StrCat("sums at offset ", layout_.sums_offset, ": sum mismatch"));
  }
  for (std::uint64_t block = 0; block < sums_.size(); ++block) {
    const std::size_t at = block * sizeof(std::uint64_t);
    if (std::memcmp(sums.data() + at, &sums_[block], sizeof(std::uint64_t)) == 0) continue;
    return checkpoint_damage(
        path_,
        absl::StrCat("block ", block, " of ", sums_.size(), " at offset ",
                     kCheckpointHeaderBytes + block * kCheckpointBlockBytes, ": sum mismatch"));
  }
  return absl::OkStatus();
}

// Reads from `offset` on and fills `out` completely.
absl::Status CheckpointLoad::read_exactly(std::uint64_t offset, std::span<std::byte> out) const {
  const auto read = disk_->read_at(file_.get(), offset, out);
  if (!read.ok()) return read.status();
  if (*read == out.size()) return absl::OkStatus();
  return checkpoint_damage(path_, absl::StrCat("ended at offset ", offset + *read,
                                               " while it was read: it was cut short"));
}

}  // namespace lapwing
