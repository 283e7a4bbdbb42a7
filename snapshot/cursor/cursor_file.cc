#include "snapshot/cursor/cursor_file.h"

#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/whole_file.h"
#include "proto/cursor_format.h"
#include "proto/header_checksum.h"

namespace lapwing {
namespace {

using Copies = std::array<CursorEntry, kCursorCopies>;

enum class CopyState { kValid, kOtherVersion, kDamaged };

// Generations alternate between the copies, so the next one replaces the older copy.
std::size_t copy_of(std::uint64_t generation) {
  return generation % kCursorCopies;
}

CursorEntry entry_of(const CursorCommit& commit) {
  CursorEntry entry{};
  entry.magic = kCursorMagic;
  entry.version = kCursorVersion;
  entry.generation = commit.generation;
  entry.journal_id = commit.position.journal_id;
  entry.session_id = commit.position.session_id;
  entry.sequence = commit.position.sequence;
  entry.output_bytes = commit.output.bytes;
  entry.output_file = commit.output.file;
  entry.written_wall_ns = commit.written_wall_ns;
  entry.checksum = checksum_of(entry);
  return entry;
}

CursorCommit commit_of(const CursorEntry& entry) {
  return {entry.generation,
          {entry.journal_id, entry.session_id, entry.sequence},
          {entry.output_bytes, entry.output_file},
          entry.written_wall_ns};
}

CopyState judge(const CursorEntry& entry, std::size_t copy) {
  if (entry.magic != kCursorMagic || entry.checksum != checksum_of(entry)) {
    return CopyState::kDamaged;
  }
  if (entry.version != kCursorVersion) return CopyState::kOtherVersion;
  const bool is_possible = copy_of(entry.generation) == copy && entry.sequence <= kSequenceMax;
  return is_possible ? CopyState::kValid : CopyState::kDamaged;
}

// Generations wrap around, so the newer one is ahead by less than half the number range.
bool is_newer(std::uint64_t generation, std::uint64_t than) {
  return static_cast<std::int64_t>(generation - than) > 0;
}

absl::Status not_a_cursor(const std::string& path) {
  return make_error(Errc::kNotALapwingFile,
                    absl::StrCat(path, " is not a cursor; move it away, or name another file"));
}

absl::Status other_version(const std::string& path, std::uint32_t version) {
  return make_error(Errc::kAbiMismatch,
                    absl::StrCat("cursor ", path, " is of version ", version,
                                 ", but this release supports version ", kCursorVersion,
                                 "; use the release that wrote it"));
}

absl::Status damaged(const std::string& path) {
  return make_error(Errc::kDamaged,
                    absl::StrCat("cursor ", path,
                                 " is damaged: neither of its two copies is valid; put a backup of "
                                 "it back, or remove it, and the next run begins as a first one"));
}

absl::Status failed_commit(const absl::Status& why) {
  return make_error(
      errc_of(why),
      absl::StrCat(
          why.message(),
          ". Fix this and open the cursor again: it is at this commit or at the one before"));
}

absl::StatusOr<CursorContents> contents_of(const Copies& copies, const std::string& path) {
  std::optional<CursorCommit> newest;
  std::size_t valid = 0;
  bool has_magic = false;
  for (std::size_t copy = 0; copy < copies.size(); ++copy) {
    const CursorEntry& entry = copies[copy];
    has_magic = has_magic || entry.magic == kCursorMagic;
    const CopyState state = judge(entry, copy);
    if (state == CopyState::kOtherVersion) return other_version(path, entry.version);
    if (state == CopyState::kDamaged) continue;
    ++valid;
    if (!newest || is_newer(entry.generation, newest->generation)) newest = commit_of(entry);
  }
  if (newest) return CursorContents{*newest, valid < copies.size()};
  return has_magic ? damaged(path) : not_a_cursor(path);
}

// Bytes beyond the end of the file are read as zeros, which are not a valid copy.
absl::StatusOr<CursorContents> read_copies(Disk& disk, FileHandle file, const std::string& path) {
  Copies copies{};
  for (std::size_t copy = 0; copy < copies.size(); ++copy) {
    const auto read = disk.read_at(file, copy * kCursorCopyBytes,
                                   std::as_writable_bytes(std::span(&copies[copy], 1)));
    if (!read.ok()) return read.status();
  }
  return contents_of(copies, path);
}

absl::StatusOr<OpenFile> create(Disk& disk, const std::string& path) {
  std::array<std::byte, kCursorFileBytes> bytes{};
  for (std::size_t copy = 0; copy < kCursorCopies; ++copy) {
    const CursorEntry entry = entry_of({.generation = copy, .written_wall_ns = wall_ns()});
    std::memcpy(bytes.data() + copy * kCursorCopyBytes, &entry, sizeof entry);
  }
  absl::StatusOr<OpenFile> file = create_unfinished(disk, path);
  if (!file.ok()) return file.status();
  absl::Status status = disk.write_at(file->get(), 0, bytes);
  if (status.ok()) status = finish_file(disk, *file, path);
  if (!status.ok()) return status;
  return file;
}

absl::StatusOr<OpenFile> open_or_create(Disk& disk, const std::string& path) {
  absl::StatusOr<OpenFile> file = open_file(disk, path, {OpenMode::kReadWrite});
  return errc_of(file.status()) == Errc::kNotFound ? create(disk, path) : std::move(file);
}

}  // namespace

absl::StatusOr<CursorContents> read_cursor(Disk& disk, const std::string& path) {
  const absl::StatusOr<OpenFile> file = open_file(disk, path, {OpenMode::kRead});
  if (!file.ok()) return file.status();
  for (int rereads = 0;; ++rereads) {
    absl::StatusOr<CursorContents> contents = read_copies(disk, file->get(), path);
    const bool may_be_torn = contents.ok() ? contents->one_copy_is_damaged
                                           : errc_of(contents.status()) == Errc::kDamaged;
    if (!may_be_torn || rereads == kCursorRereads) return contents;
  }
}

absl::StatusOr<CursorFile> CursorFile::open(Disk& disk, const std::string& path) {
  absl::StatusOr<OpenFile> file = open_or_create(disk, path);
  if (!file.ok()) return file.status();
  const absl::Status locked = disk.lock(file->get(), kCursorLockRetryNs);
  if (errc_of(locked) == Errc::kInUse) {
    return make_error(Errc::kInUse,
                      absl::StrCat("cursor ", path,
                                   " is in use by another process; end it, or use another cursor"));
  }
  if (!locked.ok()) return locked;
  const absl::StatusOr<CursorContents> contents = read_copies(disk, file->get(), path);
  if (!contents.ok()) return contents.status();
  return CursorFile(disk, *std::move(file), contents->newest);
}

absl::Status CursorFile::commit(const StoredPosition& position, const OutputEnd& output,
                                bool sync) {
  if (!failure_.ok()) return failure_;
  const CursorCommit next{newest_.generation + 1, position, output, wall_ns()};
  const CursorEntry entry = entry_of(next);
  absl::Status done = disk_->write_at(file_.get(), copy_of(next.generation) * kCursorCopyBytes,
                                      std::as_bytes(std::span(&entry, 1)));
  if (done.ok() && sync) done = disk_->sync(file_.get());
  if (!done.ok()) return failure_ = failed_commit(done);
  newest_ = next;
  return absl::OkStatus();
}

}  // namespace lapwing
