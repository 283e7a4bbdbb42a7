#include "snapshot/journal/session_files.h"

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "snapshot/journal/journal_files.h"

namespace lapwing {

std::string SessionFiles::path(std::size_t copy) const {
  return absl::StrCat(directory_, "/", name_, copy == 0 ? "" : kCopySuffix);
}

std::string SessionFiles::where(std::uint64_t index) const {
  return absl::StrCat(path(0), " and its copy, entry ", index, " at offset ",
                      index * kSessionEntryBytes);
}

absl::Status SessionFiles::open_to_write(std::uint64_t lock_retry_ns) {
  absl::Status status = open_files(OpenMode::kReadWrite);
  for (const OpenFile& file : files_) {
    if (status.ok() && file.valid()) status = disk_->lock(file.get(), lock_retry_ns);
  }
  if (status.ok() && !any_open()) status = check_not_lost();
  return status.ok() ? create_missing() : status;
}

absl::Status SessionFiles::open_to_read() {
  const bool all_open = files_[0].valid() && files_[1].valid();
  return all_open ? absl::OkStatus() : open_files(OpenMode::kRead);
}

absl::Status SessionFiles::open_files(OpenMode mode) {
  for (std::size_t copy = 0; copy < kCopies; ++copy) {
    auto file = open_file(*disk_, path(copy), {mode});
    if (file.ok()) {
      files_[copy] = *std::move(file);
      continue;
    }
    // A reader can do without a copy that is not a file, but a writer cannot write to it.
    const Errc code = errc_of(file.status());
    const bool is_readers_choice = mode == OpenMode::kRead && code == Errc::kNotALapwingFile;
    if (code != Errc::kNotFound && !is_readers_choice) return file.status();
  }
  return absl::OkStatus();
}

absl::Status SessionFiles::create_missing() {
  bool created = false;
  for (std::size_t copy = 0; copy < kCopies; ++copy) {
    if (files_[copy].valid()) continue;
    auto file = open_file(*disk_, path(copy), {OpenMode::kCreate});
    if (!file.ok()) return file.status();
    files_[copy] = *std::move(file);
    const absl::Status locked = disk_->lock(files_[copy].get(), 0);
    if (!locked.ok()) return locked;
    created = true;
  }
  return created ? disk_->sync_directory(directory_) : absl::OkStatus();
}

// A session's begin is synced before its first segment is created, so no segment belongs to an
// empty log.
absl::Status SessionFiles::check_not_lost() const {
  if (name_ != kSessionsFileName) return absl::OkStatus();
  const auto journals = list_journals(*disk_, directory_);
  if (!journals.ok()) return journals.status();
  if (journals->empty()) return absl::OkStatus();
  const JournalDirectory& journal = journals->front();
  return make_error(
      Errc::kDamaged,
      absl::StrCat(path(0), " and its copy are gone or empty, but ", journal.path, " holds ",
                   journal.segments.size(), " segments. `lapwing repair` rebuilds the log from ",
                   "the segments. Or move ", directory_, " aside and start a new journal"));
}

absl::StatusOr<std::uint64_t> SessionFiles::bytes_of(std::size_t copy) const {
  if (!files_[copy].valid()) return std::uint64_t{0};
  return disk_->size(files_[copy].get());
}

absl::StatusOr<std::uint64_t> SessionFiles::bytes() const {
  std::uint64_t longest = 0;
  for (std::size_t copy = 0; copy < kCopies; ++copy) {
    const auto bytes = bytes_of(copy);
    if (!bytes.ok()) return bytes.status();
    longest = std::max(longest, *bytes);
  }
  return longest;
}

absl::Status SessionFiles::read(std::size_t copy, std::uint64_t index,
                                std::span<SessionEntry> rows) const {
  std::fill(rows.begin(), rows.end(), SessionEntry{});
  const OpenFile& file = files_[copy];
  if (!file.valid()) return absl::OkStatus();
  return disk_->read_at(file.get(), index * kSessionEntryBytes, std::as_writable_bytes(rows))
      .status();
}

absl::Status SessionFiles::write(const SessionEntry& row) {
  if (!batch_) return write_rows(std::span(&row, 1));
  const bool follows = batch_->empty() || batch_->back().index + 1 == row.index;
  if (!follows || batch_->size() == kSessionRowsTogether) {
    const absl::Status status = write_rows(*batch_);
    batch_->clear();
    if (!status.ok()) return status;
  }
  batch_->push_back(row);
  return absl::OkStatus();
}

absl::Status SessionFiles::end_batch() {
  const absl::Status status = batch_->empty() ? absl::OkStatus() : write_rows(*batch_);
  batch_.reset();
  return status;
}

absl::Status SessionFiles::write_rows(std::span<const SessionEntry> rows) {
  const std::uint64_t offset = rows.front().index * kSessionEntryBytes;
  for (const OpenFile& file : files_) {
    absl::Status status = disk_->write_at(file.get(), offset, std::as_bytes(rows));
    if (status.ok() && !batch_) status = disk_->sync(file.get());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status SessionFiles::restore(std::size_t copy, std::uint64_t index) {
  SessionEntry row;
  const absl::Status status = read(1 - copy, index, std::span(&row, 1));
  if (!status.ok()) return status;
  return disk_->write_at(files_[copy].get(), index * kSessionEntryBytes,
                         std::as_bytes(std::span(&row, 1)));
}

absl::Status SessionFiles::sync() {
  for (const OpenFile& file : files_) {
    const absl::Status status = disk_->sync(file.get());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status SessionFiles::make_room(std::uint64_t wanted, std::uint64_t needed) {
  if (batch_) return absl::OkStatus();
  const absl::Status grown = grow(wanted);
  if (errc_of(grown) != Errc::kNoSpace) return grown;
  for (std::size_t copy = 0; copy < kCopies; ++copy) {
    const auto bytes = bytes_of(copy);
    if (!bytes.ok()) return bytes.status();
    if (*bytes < needed * kSessionEntryBytes) return grown;
  }
  return absl::OkStatus();
}

// Writes zeros after the end. Allocating the file from its beginning would fill the hole in a
// shortened log.
absl::Status SessionFiles::grow(std::uint64_t rows) {
  static constexpr std::byte kZeros[kSessionsGrowthBytes] = {};
  const std::uint64_t wanted = (rows * kSessionEntryBytes + kSessionsGrowthBytes - 1) /
                               kSessionsGrowthBytes * kSessionsGrowthBytes;
  for (std::size_t copy = 0; copy < kCopies; ++copy) {
    auto bytes = bytes_of(copy);
    if (!bytes.ok()) return bytes.status();
    while (*bytes < wanted) {
      const std::uint64_t step = std::min(wanted - *bytes, kSessionsGrowthBytes);
      const absl::Status status =
          disk_->write_at(files_[copy].get(), *bytes, std::span(kZeros, step));
      if (!status.ok()) return status;
      *bytes += step;
    }
  }
  return absl::OkStatus();
}

absl::Status SessionFiles::give_back_before(std::uint64_t first) {
  for (const OpenFile& file : files_) {
    const absl::Status status =
        disk_->punch_hole(file.get(), kSessionEntryBytes, (first - 1) * kSessionEntryBytes);
    if (!status.ok() && errno_of(status) != EOPNOTSUPP) return status;
  }
  return absl::OkStatus();
}

std::vector<std::string> SessionFiles::lost_names() const {
  std::vector<std::string> lost;
  for (std::size_t copy = 0; copy < kCopies; ++copy) {
    if (!disk_->names(path(copy), files_[copy].get()).value_or(true)) lost.push_back(path(copy));
  }
  return lost;
}

}  // namespace lapwing
