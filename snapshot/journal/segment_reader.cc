#include "snapshot/journal/segment_reader.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "lapwing/detail/atomic_word.h"
#include "lapwing/error.h"
#include "proto/slot_stamp.h"
#include "snapshot/journal/segment_file.h"
#include "snapshot/journal/sum_file.h"

namespace lapwing {

SegmentReader::SegmentReader(JournalFiles files)
    : files_(std::move(files)),
      buffer_(std::make_unique_for_overwrite<Page[]>(kReadRunBytes / kPageBytes)),
      sums_(kReadRunBytes / kPageBytes) {}

void SegmentReader::drop_window() {
  window_first_ = 1;
  window_last_ = 0;
  end_block_ = 0;
}

void SegmentReader::close() {
  mapped_.reset();
  is_mappable_ = true;
  jnl_.close();
  sum_.close();
  drop_window();
}

absl::Status SegmentReader::open(std::uint64_t segment) {
  close();
  const std::string path = files_.path(segment, "jnl");
  auto jnl = open_file(*files_.disk, path, {OpenMode::kRead});
  if (!jnl.ok()) return jnl.status();
  SegmentHeader header{};
  const auto read =
      files_.disk->read_at(jnl->get(), 0, std::as_writable_bytes(std::span(&header, 1)));
  if (!read.ok()) return read.status();
  const absl::Status checked =
      check_segment_header(header, files_.journal_id, files_.geometry, segment, path);
  if (!checked.ok()) return checked;
  auto sum = open_file(*files_.disk, files_.path(segment, "sum"), {OpenMode::kRead});
  if (sum.ok()) {
    sum_ = *std::move(sum);
  } else if (errc_of(sum.status()) != Errc::kNotFound) {
    return sum.status();
  }
  jnl_ = *std::move(jnl);
  segment_ = segment;
  return absl::OkStatus();
}

// Maps the open segment, whose records must all be durable. Returns true if it is mapped.
bool SegmentReader::map_segment() {
  if (is_mappable_ && !mapped_) {
    mapped_ = files_.disk->map_finished(jnl_.get());
    is_mappable_ = mapped_ && mapped_->bytes().size() == segment_file_bytes(files_.geometry);
    if (!is_mappable_) mapped_.reset();
  }
  return is_mappable_;
}

// True if the run is mapped and its first block verified. Otherwise the run must be read, which
// also finds the error.
bool SegmentReader::load_mapped(const Request& request, std::uint64_t wanted) {
  const JournalGeometry& geometry = files_.geometry;
  if (request.n != going_on_ || wanted * geometry.slot_bytes < kMappedBytesMin) return false;
  if (geometry.segment_last(segment_) > request.durable || !map_segment()) return false;
  const std::uint64_t first_block = geometry.block_of(request.n);
  run_first_ = geometry.block_first(first_block);
  const Sequence run_last = run_first_ + kReadRunBytes / geometry.slot_bytes - 1;
  // No more than the caller copies now, because the rest would have to be populated again.
  const Sequence last = std::min({request.n + wanted - 1, run_last, request.limit});
  request_ = {request.n, request.durable, last};
  const std::size_t block_count = geometry.block_of(last) - first_block + 1;
  const std::uint64_t offset = geometry.offset_of(run_first_);
  if (!mapped_->populate(offset, block_count * kPageBytes)) return false;
  if (!read_sums(first_block, block_count).ok()) return false;
  run_ = mapped_->bytes().data() + offset;
  is_mapped_run_ = true;
  std::string defect;
  if (!add_to_window(first_block, defect)) return false;
  end_block_ = first_block + block_count;
  return true;
}

std::optional<JournalDamage> SegmentReader::load(Sequence n, Sequence durable, Sequence limit,
                                                 std::uint64_t wanted) {
  const JournalGeometry& geometry = files_.geometry;
  const Request request{n, durable, limit};
  drop_window();
  if (load_mapped(request, wanted)) return std::nullopt;
  request_ = request;
  const std::uint64_t block = geometry.block_of(n);
  const std::size_t run_bytes = n == going_on_ ? kReadRunBytes : kFirstRunBytes;
  std::size_t block_count =
      std::min<std::size_t>(geometry.block_of(limit) - block + 1, run_bytes / kPageBytes);
  std::string defect;
  for (int attempt = 0; attempt <= kSumRereads; ++attempt) {
    const absl::Status read = read_run(block, block_count);
    if (!read.ok()) {
      defect = std::string(read.message());
    } else if (add_to_window(block, defect)) {
      end_block_ = block + block_count;
      return std::nullopt;
    }
    block_count = 1;  // the blocks after the damage are loaded on request
  }
  return damage(request_, defect);
}

bool SegmentReader::extend() {
  const Sequence next = window_last_ + 1;
  const std::uint64_t block = files_.geometry.block_of(next);
  if (block >= end_block_ || next > request_.limit) return false;
  if (next != files_.geometry.block_first(block)) return false;  // its block is not all verified
  std::string defect;                                            // the next load() finds it again
  return add_to_window(block, defect);
}

// False if no record of the block is verified.
bool SegmentReader::add_to_window(std::uint64_t block, std::string& defect) {
  const Sequence wanted = std::max(request_.n, files_.geometry.block_first(block));
  const Sequence last = prove_block(request_, block, defect);
  if (last < wanted) return false;
  window_first_ = request_.n;
  window_last_ = last;
  going_on_ = last + 1;
  return true;
}

// Entries beyond the end of the file are empty.
absl::Status SegmentReader::read_sums(std::uint64_t first_block, std::size_t block_count) {
  std::fill_n(sums_.begin(), block_count, SumEntry{});
  if (!sum_.valid()) return absl::OkStatus();
  const std::span<std::byte> sums = std::as_writable_bytes(std::span(sums_.data(), block_count));
  return files_.disk->read_at(sum_.get(), sum_offset(files_.geometry, first_block), sums).status();
}

// Bytes beyond the end of the file are zeros.
absl::Status SegmentReader::read_run(std::uint64_t first_block, std::size_t block_count) {
  const JournalGeometry& geometry = files_.geometry;
  run_first_ = geometry.block_first(first_block);
  run_ = buffer_[0].bytes.data();
  is_mapped_run_ = false;
  if (absl::Status read = read_sums(first_block, block_count); !read.ok()) return read;
  const std::span<std::byte> blocks(buffer_[0].bytes.data(), block_count * kPageBytes);
  const auto read = files_.disk->read_at(jnl_.get(), geometry.offset_of(run_first_), blocks);
  if (!read.ok()) return read.status();
  const std::size_t whole = *read - *read % geometry.slot_bytes;
  std::fill(blocks.begin() + static_cast<std::ptrdiff_t>(whole), blocks.end(), std::byte{0});
  return absl::OkStatus();
}

// Returns the block's last sequence up to which all are verified, from the requested one on. Below
// the block's first if there is none; `defect` then contains the reason.
Sequence SegmentReader::prove_block(const Request& request, std::uint64_t block,
                                    std::string& defect) const {
  const JournalGeometry& geometry = files_.geometry;
  const Sequence first = geometry.block_first(block);
  Sequence last = std::min(first + geometry.block_slots() - 1, request.limit);
  const std::byte* const bytes = slot(first);
  if (request.durable >= first) {
    const SumEntry& sum = sums_[block - geometry.block_of(run_first_)];
    const SumState state = check_sum_entry(files_.journal_id, block, sum, geometry);
    if (state != SumState::kValid) {
      defect = !has_sums()                 ? "its .sum file is missing"
               : state == SumState::kEmpty ? "the sum is missing"
                                           : "the sum itself is damaged";
      return first - 1;
    }
    if (first + sum.count <= std::min(last, request.durable)) {
      defect = absl::StrCat("the sum covers ", sum.count, " slots only");
      last = first + sum.count - 1;  // the covered slots can still be valid
      if (last < request.n) return first - 1;
    }
    if (!sum_matches(sum, std::span(bytes, kPageBytes), geometry)) {
      defect = "the slots do not match their sum";
      return first - 1;
    }
  }
  for (Sequence n = std::max(first, request.n); n <= last; ++n) {
    Word stamp;
    std::memcpy(&stamp, slot(n), sizeof stamp);
    if (stamp == ready_stamp(n)) continue;
    defect = absl::StrCat("the slot of sequence ", n, " carries stamp ", stamp, ", not ",
                          ready_stamp(n));
    return n == std::max(first, request.n) ? first - 1 : n - 1;
  }
  return last;
}

JournalDamage SegmentReader::damage(const Request& request, const std::string& defect) const {
  const JournalGeometry& geometry = files_.geometry;
  const Sequence first = geometry.block_first(geometry.block_of(request.n));
  const Sequence last = std::min(first + geometry.block_slots() - 1, request.limit);
  return {files_.path(segment_, "jnl"), geometry.offset_of(first), request.n, last, defect};
}

}  // namespace lapwing
