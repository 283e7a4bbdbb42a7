#include "snapshot/recovery/settle_cut.h"

#include <algorithm>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "os/whole_file.h"
#include "snapshot/journal/segment_file.h"
#include "snapshot/journal/sum_file.h"

namespace lapwing {
namespace {

constexpr std::size_t kChunkBytes = 256 * 1024;

// A range of a file, [begin, end).
struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class Cutter {
 public:
  Cutter(const JournalFiles& files, const Cut& cut, std::vector<LogEntry>& log)
      : disk_(*files.disk),
        files_(files),
        cut_(cut),
        log_(log),
        chunk_(std::make_unique<std::byte[]>(kChunkBytes)) {}

  absl::Status run();

 private:
  std::optional<std::uint64_t> kept_segment() const {
    if (cut_.last_present == 0) return std::nullopt;
    return files_.geometry.segment_of(cut_.last_present);
  }
  std::string aside_path(std::uint64_t segment) const {
    return files_.path(segment, absl::StrCat("cut-", cut_.session_id.hex()).c_str());
  }

  void log_kept(const std::string& path) {
    log_.push_back(log_entry(LogEvent::kJournalKeptAside,
                             absl::StrCat("kept the bytes that were never durable in ", path),
                             {{"path", path}}));
  }

  absl::Status drop_segment(std::uint64_t segment);
  absl::Status cut_segment(std::uint64_t segment);
  absl::Status sync_kept(std::uint64_t segment);
  absl::StatusOr<std::uint64_t> end_of_bytes(FileHandle file, std::uint64_t begin);
  absl::Status keep_aside(FileHandle file, std::uint64_t segment, const Extent& extent);
  absl::Status copy(FileHandle from, FileHandle to, const Extent& extent);
  absl::Status zero(FileHandle file, const Extent& extent);
  absl::StatusOr<OpenFile> open(const std::string& path, OpenMode mode) {
    return open_file(disk_, path, {mode});
  }

  Disk& disk_;
  const JournalFiles& files_;
  const Cut& cut_;
  std::vector<LogEntry>& log_;
  std::unique_ptr<std::byte[]> chunk_;
};

// Processes the newest segment first, so that dropped segments free space for copies kept aside.
absl::Status Cutter::run() {
  const auto segments = list_segments(files_);
  if (!segments.ok()) return segments.status();
  const std::uint64_t session_segment = files_.geometry.segment_of(cut_.session_first);
  const auto kept = kept_segment();
  for (auto segment = segments->rbegin(); segment != segments->rend(); ++segment) {
    absl::Status status;
    if (!kept || *segment > *kept) {
      status = drop_segment(*segment);
    } else {
      if (*segment == *kept) status = cut_segment(*segment);
      if (status.ok() && *segment >= session_segment) status = sync_kept(*segment);
    }
    if (!status.ok()) return status;
  }
  return segments->empty() ? absl::OkStatus() : disk_.sync_directory(files_.directory);
}

// Removes the .jnl name first and syncs the directory, so that no power cut leaves a .jnl without
// its companions, or a hole between segments.
absl::Status Cutter::drop_segment(std::uint64_t segment) {
  const std::string path = files_.path(segment, "jnl");
  const auto file = open(path, OpenMode::kRead);
  if (!file.ok()) return file.status();
  const auto end = end_of_bytes(file->get(), kSegmentHeaderBytes);
  if (!end.ok()) return end.status();
  absl::Status status;
  if (*end == kSegmentHeaderBytes || cut_.beyond == Beyond::kDiscard) {
    status = disk_.remove(path);
  } else {
    status = disk_.sync(file->get());
    if (status.ok()) status = disk_.rename(path, aside_path(segment));
    log_kept(aside_path(segment));
  }
  if (status.ok()) status = disk_.sync_directory(files_.directory);
  if (status.ok()) status = remove_if_there(disk_, files_.path(segment, "sum"));
  if (status.ok()) status = remove_if_there(disk_, files_.path(segment, "idx"));
  return status;
}

absl::Status Cutter::cut_segment(std::uint64_t segment) {
  const JournalGeometry& geometry = files_.geometry;
  const Sequence next = cut_.durable + 1;
  if (geometry.segment_of(next) != segment) return absl::OkStatus();
  const auto jnl = open(files_.path(segment, "jnl"), OpenMode::kReadWrite);
  if (!jnl.ok()) return jnl.status();
  const std::uint64_t begin = geometry.offset_of(next);
  const auto end = end_of_bytes(jnl->get(), begin);
  if (!end.ok()) return end.status();
  absl::Status status = disk_.allocate(jnl->get(), segment_file_bytes(geometry));
  if (status.ok()) status = keep_aside(jnl->get(), segment, {begin, *end});
  if (status.ok()) status = zero(jnl->get(), {begin, *end});
  if (!status.ok()) return status;
  // The next session begins after the void, which usually ends in another segment.
  const absl::Status released = release_reserved_space(disk_, jnl->get(), geometry, cut_.durable);
  if (!released.ok()) {
    log_.push_back(log_entry(LogEvent::kJournalTrouble,
                             absl::StrCat("unused space stays reserved: ", released.message())));
  }
  const auto sum = open(files_.path(segment, "sum"), OpenMode::kReadWrite);
  if (!sum.ok()) return sum.status();
  const std::uint64_t first_beyond = geometry.block_of(next + geometry.block_slots() - 1);
  if (geometry.segment_of(geometry.block_first(first_beyond)) != segment) return absl::OkStatus();
  return zero(sum->get(), {sum_offset(geometry, first_beyond), sum_file_bytes(geometry)});
}

absl::Status Cutter::sync_kept(std::uint64_t segment) {
  for (const char* const suffix : {"jnl", "sum"}) {
    const auto file = open(files_.path(segment, suffix), OpenMode::kReadWrite);
    if (!file.ok()) return file.status();
    const absl::Status status = disk_.sync(file->get());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Returns the end of the last byte that is not zero, from `begin` on; `begin` if there is none.
absl::StatusOr<std::uint64_t> Cutter::end_of_bytes(FileHandle file, std::uint64_t begin) {
  std::uint64_t end = begin;
  for (std::uint64_t offset = begin;;) {
    const std::span<std::byte> chunk(chunk_.get(), kChunkBytes);
    const auto read = disk_.read_at(file, offset, chunk);
    if (!read.ok()) return read.status();
    for (std::size_t i = *read; i > 0; --i) {
      if (chunk[i - 1] == std::byte{0}) continue;
      end = offset + i;
      break;
    }
    offset += *read;
    if (*read < kChunkBytes) return end;
  }
}

// If a file with that name exists, it is complete: it was written and renamed
// before anything was zeroed.
absl::Status Cutter::keep_aside(FileHandle file, std::uint64_t segment, const Extent& extent) {
  if (extent.begin == extent.end || cut_.beyond == Beyond::kDiscard) return absl::OkStatus();
  const std::string path = aside_path(segment);
  const auto there = disk_.exists(path);
  if (!there.ok() || *there) return there.status();
  const auto aside = create_unfinished(disk_, path);
  if (!aside.ok()) return aside.status();
  absl::Status status = copy(file, aside->get(), {0, kSegmentHeaderBytes});
  if (status.ok()) status = copy(file, aside->get(), extent);
  if (status.ok()) status = finish_file(disk_, *aside, path);
  if (status.ok()) log_kept(path);
  return status;
}

absl::Status Cutter::copy(FileHandle from, FileHandle to, const Extent& extent) {
  for (std::uint64_t offset = extent.begin; offset < extent.end;) {
    const std::span<std::byte> chunk(chunk_.get(),
                                     std::min<std::uint64_t>(kChunkBytes, extent.end - offset));
    const auto read = disk_.read_at(from, offset, chunk);
    if (!read.ok()) return read.status();
    const absl::Status status = disk_.write_at(to, offset, chunk.first(*read));
    if (!status.ok()) return status;
    if (*read < chunk.size()) break;
    offset += *read;
  }
  return absl::OkStatus();
}

absl::Status Cutter::zero(FileHandle file, const Extent& extent) {
  std::fill_n(chunk_.get(), kChunkBytes, std::byte{0});
  for (std::uint64_t offset = extent.begin; offset < extent.end; offset += kChunkBytes) {
    const std::size_t bytes = std::min<std::uint64_t>(kChunkBytes, extent.end - offset);
    const absl::Status status =
        disk_.write_at(file, offset, std::span<const std::byte>(chunk_.get(), bytes));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status cut_journal(const JournalFiles& files, const Cut& cut, std::vector<LogEntry>& log) {
  return Cutter(files, cut, log).run();
}

}  // namespace lapwing
