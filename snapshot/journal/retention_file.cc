#include "snapshot/journal/retention_file.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/whole_file.h"
#include "proto/header_checksum.h"
#include "proto/journal_format.h"

namespace lapwing {
namespace {

constexpr std::size_t kCopies = 2;

std::string path_of(const JournalFiles& files) {
  return absl::StrCat(files.directory, "/", kRetentionFileName);
}

bool is_valid(const RetentionEntry& entry, const JournalFiles& files) {
  return entry.checksum == checksum_of(entry) && entry.version == kJournalVersion &&
         entry.journal_id == files.journal_id && entry.oldest >= 1 &&
         entry.oldest <= kSequenceMax && entry.published <= kSequenceMax &&
         (entry.oldest - 1) % files.geometry.segment_slots == 0;
}

struct Contents {
  Sequence oldest = 1;
  Sequence published = kNoSequence;
};

absl::StatusOr<Contents> read_contents(const JournalFiles& files, FileHandle file) {
  RetentionEntry copies[kCopies] = {};
  const auto read = files.disk->read_at(file, 0, std::as_writable_bytes(std::span(copies)));
  if (!read.ok()) return read.status();
  Contents contents;
  for (const RetentionEntry& entry : copies) {
    if (!is_valid(entry, files)) continue;
    contents.oldest = std::max(contents.oldest, entry.oldest);
    contents.published = std::max(contents.published, entry.published);
  }
  return contents;
}

// A missing file has no valid entry.
absl::StatusOr<Contents> read_contents(const JournalFiles& files) {
  const auto file = open_file(*files.disk, path_of(files), {OpenMode::kRead});
  const Errc code = errc_of(file.status());
  if (code == Errc::kNotFound || code == Errc::kNotALapwingFile) return Contents{};
  if (!file.ok()) return file.status();
  return read_contents(files, file->get());
}

absl::Status write_contents(const JournalFiles& files, FileHandle file, const Contents& contents) {
  RetentionEntry entry{};
  entry.version = kJournalVersion;
  entry.journal_id = files.journal_id;
  entry.oldest = contents.oldest;
  entry.published = contents.published;
  entry.checksum = checksum_of(entry);
  const RetentionEntry copies[kCopies] = {entry, entry};
  return files.disk->write_at(file, 0, std::as_bytes(std::span(copies)));
}

absl::StatusOr<OpenFile> create(const JournalFiles& files, unsigned permissions) {
  const std::string path = path_of(files);
  auto file = create_unfinished(*files.disk, path, {.permissions = permissions});
  if (!file.ok()) return file.status();
  absl::Status status = write_contents(files, file->get(), {});
  if (status.ok()) status = finish_file(*files.disk, *file, path);
  if (!status.ok()) return status;
  return file;
}

}  // namespace

absl::StatusOr<Sequence> read_retained_from(const JournalFiles& files) {
  const auto contents = read_contents(files);
  if (!contents.ok()) return contents.status();
  return contents->oldest;
}

absl::StatusOr<Sequence> read_published(const JournalFiles& files) {
  const auto contents = read_contents(files);
  if (!contents.ok()) return contents.status();
  return contents->published;
}

// Lists the names first, so that the recorded value covers everything that retention removes in the
// meantime.
absl::StatusOr<RetainedSegments> list_retained(const JournalFiles& files) {
  auto segments = list_segments(files);
  if (!segments.ok()) return segments.status();
  const auto recorded = read_retained_from(files);
  if (!recorded.ok()) return recorded.status();
  std::uint64_t front = files.geometry.segment_of(*recorded);
  while (front > 0 && std::ranges::binary_search(*segments, front - 1)) --front;
  std::erase_if(*segments, [&](std::uint64_t segment) { return segment < front; });
  return RetainedSegments{*std::move(segments), files.geometry.segment_first(front)};
}

absl::StatusOr<RetentionFile> RetentionFile::open(const JournalFiles& files, unsigned permissions) {
  auto there = open_file(*files.disk, path_of(files), {OpenMode::kReadWrite});
  if (errc_of(there.status()) == Errc::kNotFound) {
    auto made = create(files, permissions);
    if (!made.ok()) return made.status();
    return RetentionFile(files, *std::move(made), 1, kNoSequence);
  }
  if (!there.ok()) return there.status();
  const auto contents = read_contents(files, there->get());
  if (!contents.ok()) return contents.status();
  return RetentionFile(files, *std::move(there), contents->oldest, contents->published);
}

absl::Status RetentionFile::write(Sequence oldest) {
  oldest_ = std::max(oldest_, oldest);
  return write_contents(files_, file_.get(), {oldest_, published_});
}

absl::Status RetentionFile::write_published(Sequence published) {
  published_ = std::max(published_, published);
  return write_contents(files_, file_.get(), {oldest_, published_});
}

bool RetentionFile::is_lost() const {
  return !files_.disk->names(path_of(files_), file_.get()).value_or(true);
}

}  // namespace lapwing
