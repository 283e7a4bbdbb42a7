#include "snapshot/journal/segment_map.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "proto/slot_stamp.h"
#include "snapshot/journal/segment_file.h"
#include "snapshot/journal/sum_file.h"

namespace lapwing {
namespace {

absl::Status damage(const std::string& path, std::uint64_t offset, const std::string& what) {
  return make_error(Errc::kDamaged, absl::StrCat(path, ", offset ", offset, ": ", what,
                                                 "; `lapwing verify` shows all damage"));
}

// Reads the sums of the whole segment. Entries beyond the end of the file are empty.
absl::StatusOr<std::vector<SumEntry>> read_sums(const JournalFiles& files, std::uint64_t segment) {
  const std::string path = files.path(segment, "sum");
  const auto opened = files.disk->open(path, {OpenMode::kRead});
  if (errc_of(opened.status()) == Errc::kNotFound) {
    return damage(path, 0, "the file is missing, so nothing proves the segment");
  }
  if (!opened.ok()) return opened.status();
  const OpenFile file(*files.disk, *opened);
  std::vector<SumEntry> sums(files.geometry.blocks_per_segment());
  const auto read = files.disk->read_at(*opened, 0, std::as_writable_bytes(std::span(sums)));
  if (!read.ok()) return read.status();
  return sums;
}

// Returns what is wrong with the block's records up to `last`; empty if nothing is.
std::string defect_of(const JournalFiles& files, std::uint64_t block, const SumEntry& sum,
                      std::span<const std::byte> bytes, Sequence last) {
  const JournalGeometry& geometry = files.geometry;
  if (check_sum_entry(files.journal_id, block, sum, geometry) != SumState::kValid) {
    return "the block's sum is missing or damaged";
  }
  if (geometry.block_first(block) + sum.count <= last) return "the sum does not cover the block";
  return sum_matches(sum, bytes, geometry) ? "" : "the slots do not match their sum";
}

}  // namespace

absl::StatusOr<SegmentMapping> map_segment(const JournalFiles& files, Sequence first,
                                           Sequence last) {
  const JournalGeometry& geometry = files.geometry;
  const std::uint64_t segment = geometry.segment_of(first);
  const std::string path = files.path(segment, "jnl");
  const auto opened = files.disk->open(path, {OpenMode::kRead});
  if (!opened.ok()) return opened.status();
  const OpenFile file(*files.disk, *opened);
  std::optional<Pages> pages = files.disk->map_finished(*opened);
  if (!pages) {
    return make_error(
        Errc::kNotPermitted,
        absl::StrCat(
            path,
            " is not mapped: it belongs to another user, or others may write to it, and a change "
            "could crash this process. Remove that permission (chmod go-w), or read the file"));
  }
  const std::span<const std::byte> bytes = pages->bytes();
  if (bytes.size() != segment_file_bytes(geometry)) {
    return damage(
        path, 0,
        absl::StrCat("the file has ", bytes.size(), " bytes, not ", segment_file_bytes(geometry)));
  }
  SegmentHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const absl::Status checked =
      check_segment_header(header, files.journal_id, geometry, segment, path);
  if (!checked.ok()) return checked;
  const absl::StatusOr<std::vector<SumEntry>> sums = read_sums(files, segment);
  if (!sums.ok()) return sums.status();
  pages->expect_sequential(true);
  for (std::uint64_t block = geometry.block_of(first); block <= geometry.block_of(last); ++block) {
    const Sequence block_first = geometry.block_first(block);
    const Sequence block_last = std::min(block_first + geometry.block_slots() - 1, last);
    const std::uint64_t offset = geometry.offset_of(block_first);
    const std::string defect =
        defect_of(files, block, (*sums)[block % geometry.blocks_per_segment()],
                  bytes.subspan(offset, kPageBytes), block_last);
    if (!defect.empty()) return damage(path, offset, defect);
    for (Sequence n = std::max(block_first, first); n <= block_last; ++n) {
      Word stamp;
      std::memcpy(&stamp, bytes.data() + geometry.offset_of(n), sizeof stamp);
      if (stamp == ready_stamp(n)) continue;
      return damage(path, geometry.offset_of(n),
                    absl::StrCat("the slot of sequence ", n, " carries stamp ", stamp, ", not ",
                                 ready_stamp(n)));
    }
  }
  pages->expect_sequential(false);
  const std::span<const std::byte> slots =
      bytes.subspan(geometry.offset_of(first), (last - first + 1) * geometry.slot_bytes);
  return SegmentMapping{*std::move(pages), slots};
}

}  // namespace lapwing
