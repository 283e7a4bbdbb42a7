#include "snapshot/journal/session_log.h"

#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "proto/header_checksum.h"
#include "proto/text_field.h"
#include "snapshot/journal/journal_files.h"

namespace lapwing {
namespace {

constexpr std::size_t kSessionsPerRead = 256;

enum class EntryState { kEmpty, kValid, kBad };

std::uint64_t hash_of(const SessionEntry& row) {
  return XXH3_64bits(&row, sizeof row);
}

EntryState state_of(const SessionEntry& entry, std::uint64_t index) {
  static constexpr SessionEntry kZeros{};
  if (std::memcmp(&entry, &kZeros, sizeof entry) == 0) return EntryState::kEmpty;
  const bool valid = entry.checksum == checksum_of(entry) && entry.index == index;
  return valid ? EntryState::kValid : EntryState::kBad;
}

// Reads the entries from `index` on. They are zeros beyond the file's end, and if there is no file.
absl::Status read_entries(Disk& disk, const OpenFile& file, std::uint64_t index,
                          std::span<SessionEntry> entries) {
  std::fill(entries.begin(), entries.end(), SessionEntry{});
  if (!file.valid()) return absl::OkStatus();
  return disk.read_at(file.get(), index * kSessionEntryBytes, std::as_writable_bytes(entries))
      .status();
}

absl::StatusOr<std::uint64_t> size_of(Disk& disk, const OpenFile& file) {
  if (!file.valid()) return std::uint64_t{0};
  return disk.size(file.get());
}

absl::Status damaged_log(const std::string& where, const std::string& what) {
  return make_error(
      Errc::kDamaged,
      absl::StrCat(where, ": ", what,
                   "; `lapwing verify` shows all damage, `lapwing repair` repairs what it can"));
}

}  // namespace

std::string SessionLog::path(std::size_t copy) const {
  return absl::StrCat(directory_, "/", name_, copy == 0 ? "" : kCopySuffix);
}

std::string SessionLog::where(std::uint64_t index) const {
  return absl::StrCat(path(0), " and its copy, entry ", index, " at offset ",
                      index * kSessionEntryBytes);
}

absl::StatusOr<SessionLog> SessionLog::open(Disk& disk, const std::string& directory,
                                            const std::string& name, std::uint64_t lock_retry_ns) {
  SessionLog log(disk, directory, name);
  absl::Status status = log.open_files(OpenMode::kReadWrite);
  if (status.ok()) status = log.lock_files(lock_retry_ns);
  const bool any = log.files_[0].valid() || log.files_[1].valid();
  if (status.ok() && !any) status = log.check_not_lost();
  if (status.ok()) status = log.create_missing();
  if (status.ok()) status = log.load();
  if (status.ok()) status = log.heal();
  if (!status.ok()) return status;
  return log;
}

absl::StatusOr<SessionLog> SessionLog::open_read_only(Disk& disk, const std::string& directory,
                                                      std::uint64_t bytes_max) {
  SessionLog unopened(disk, directory, kSessionsFileName);
  unopened.bytes_max_ = bytes_max;
  absl::Status damage;
  auto log = open_reader(std::move(unopened), damage);
  if (!damage.ok()) return damage;
  return log;
}

absl::StatusOr<SessionLog> SessionLog::open_damaged(Disk& disk, const std::string& directory,
                                                    absl::Status& damage) {
  return open_reader(SessionLog(disk, directory, kSessionsFileName), damage);
}

absl::StatusOr<SessionLog> SessionLog::open_reader(SessionLog log, absl::Status& damage) {
  absl::Status status = log.open_files(OpenMode::kRead);
  if (status.ok()) status = log.refresh();
  if (status.ok() && !log.files_[0].valid() && !log.files_[1].valid()) {
    status = make_error(Errc::kNotFound,
                        absl::StrCat(log.path(0),
                                     ": there is no journal here; put it back if it was moved, or "
                                     "start a publisher, which begins a new one"));
  }
  damage = errc_of(status) == Errc::kDamaged ? status : absl::OkStatus();
  if (!status.ok() && damage.ok()) return status;
  return log;
}

bool SessionLog::in_void(const Id128& journal_id, Sequence n, Sequence& first,
                         Sequence& last) const {
  for (const SessionRecord& session : sessions_of(journal_id)) {
    if (!session.end) continue;
    if (n < session.end->void_first || n > session.end->void_last) continue;
    first = session.end->void_first;
    last = session.end->void_last;
    return true;
  }
  return false;
}

// Locks the existing files before anything is created or changed.
absl::Status SessionLog::lock_files(std::uint64_t retry_ns) {
  for (const OpenFile& file : files_) {
    if (!file.valid()) continue;
    const absl::Status locked = disk_->lock(file.get(), retry_ns);
    if (!locked.ok()) return locked;
  }
  return absl::OkStatus();
}

// For a log without entries: returns damage if there are segments. A session's begin is synced
// before its first segment is created, so an empty log cannot have segments.
absl::Status SessionLog::check_not_lost() const {
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

absl::Status SessionLog::create_missing() {
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

absl::Status SessionLog::open_files(OpenMode mode) {
  for (std::size_t copy = 0; copy < kCopies; ++copy) {
    auto file = open_file(*disk_, path(copy), {mode});
    if (file.ok()) {
      files_[copy] = *std::move(file);
      continue;
    }
    // A reader can do without a copy that is not a file, but a writer cannot.
    const Errc code = errc_of(file.status());
    const bool is_readers_choice = mode == OpenMode::kRead && code == Errc::kNotALapwingFile;
    if (code != Errc::kNotFound && !is_readers_choice) return file.status();
  }
  return absl::OkStatus();
}

absl::Status SessionLog::refresh() {
  absl::Status status;
  for (int reread = 0; reread <= kSessionRereads; ++reread) {
    // A reader that found only one of the files looks for the other one again.
    const bool all_open = files_[0].valid() && files_[1].valid();
    status = all_open ? absl::OkStatus() : open_files(OpenMode::kRead);
    if (status.ok()) status = load();
    if (errc_of(status) != Errc::kDamaged) break;
  }
  return status;
}

absl::Status SessionLog::load() {
  absl::Status status = load_front();
  if (status.ok()) status = load_entries();
  return status.ok() && next_index_ == 0 ? check_not_lost() : status;
}

// Checks row 0 for a shortened log. A reader that has already read beyond `through` keeps its rows.
absl::Status SessionLog::load_front() {
  SessionEntry rows[kCopies];
  const SessionEntry* head = nullptr;
  for (std::size_t copy = 0; copy < kCopies; ++copy) {
    const absl::Status status = read_entries(*disk_, files_[copy], 0, std::span(&rows[copy], 1));
    if (!status.ok()) return status;
    const bool is_head = state_of(rows[copy], 0) == EntryState::kValid &&
                         rows[copy].version == kSessionVersion &&
                         rows[copy].kind == SessionEntryKind::kShortened;
    if (is_head && (head == nullptr || rows[copy].through > head->through)) head = &rows[copy];
  }
  if (head == nullptr || head->through <= next_index_) return absl::OkStatus();
  table_.restart(true);
  copy_defects_.clear();
  for (std::size_t copy = 0; copy < kCopies; ++copy) {
    if (std::memcmp(&rows[copy], head, sizeof *head) == 0) continue;
    copy_defects_.push_back({copy, 0, state_of(rows[copy], 0) == EntryState::kEmpty});
  }
  first_row_ = next_index_ = head->through;
  dropped_hash_ = last_row_hash_ = head->previous_hash;
  return absl::OkStatus();
}

// Takes every entry from next_index_ on. Keeps the entries before a damaged one.
absl::Status SessionLog::load_entries() {
  std::uint64_t bytes = 0;
  for (const OpenFile& file : files_) {
    const auto size = size_of(*disk_, file);
    if (!size.ok()) return size.status();
    bytes = std::max(bytes, *size);
  }
  if (absl::Status fits = check_size(bytes); !fits.ok()) return fits;
  std::vector<SessionEntry> chunks[kCopies];
  for (auto& chunk : chunks) chunk.resize(kSessionsPerRead);
  bool at_end = false;
  const std::uint64_t begin = next_index_;
  for (std::uint64_t index = begin; index * kSessionEntryBytes < bytes; ++index) {
    if (index - first_row_ >= kSessionEntriesMax && !at_end) {
      return make_error(Errc::kLimit,
                        absl::StrCat(path(0), ": more than ", kSessionEntriesMax,
                                     " entries; use another bus directory, or move the journal "
                                     "away"));
    }
    const std::size_t i = (index - begin) % kSessionsPerRead;
    for (std::size_t copy = 0; i == 0 && copy < kCopies; ++copy) {
      const absl::Status status = read_entries(*disk_, files_[copy], index, chunks[copy]);
      if (!status.ok()) return status;
    }
    const absl::Status status = take(index, chunks[0][i], chunks[1][i], at_end);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Refuses files that are too large. The zeros after the last entry are read as well, and a hole
// that was never part of a log takes hours to read, but no space on disk.
absl::Status SessionLog::check_size(std::uint64_t bytes) const {
  if (bytes > bytes_max_) {
    return make_error(Errc::kLimit,
                      absl::StrCat(path(0), " or its copy has ", bytes, " bytes, but at most ",
                                   bytes_max_, " are read from a file of another user"));
  }
  const std::uint64_t rows_max = first_row_ + kSessionEntriesMax + kSessionEntriesAhead;
  if (bytes / kSessionEntryBytes <= rows_max) return absl::OkStatus();
  return make_error(
      Errc::kDamaged,
      absl::StrCat(path(0), " or its copy has ", bytes, " bytes; a log has at most ",
                   rows_max * kSessionEntryBytes,
                   ". Cut the longer file to the length of the other one (truncate -r)."));
}

absl::Status SessionLog::take(std::uint64_t index, const SessionEntry& in_first,
                              const SessionEntry& in_copy, bool& at_end) {
  const EntryState states[kCopies] = {state_of(in_first, index), state_of(in_copy, index)};
  if (states[0] == EntryState::kEmpty && states[1] == EntryState::kEmpty) {
    at_end = true;
    return absl::OkStatus();
  }
  if (states[0] != EntryState::kValid && states[1] != EntryState::kValid) {
    return damaged_log(where(index), "valid in neither copy");
  }
  if (at_end) return damaged_log(where(index), "an entry after the end of the list");
  const bool both = states[0] == states[1];
  if (both && std::memcmp(&in_first, &in_copy, kSessionEntryBytes) != 0) {
    return damaged_log(where(index), "the two copies contradict each other");
  }
  const std::size_t good = states[0] == EntryState::kValid ? 0 : 1;
  const SessionEntry& entry = good == 0 ? in_first : in_copy;
  if (entry.version < kSessionVersionMin || entry.version > kSessionVersion) {
    return make_error(Errc::kAbiMismatch,
                      absl::StrCat(where(index), ": version ", entry.version,
                                   ", but this program reads versions ", kSessionVersionMin, " to ",
                                   kSessionVersion, ". Use the release that wrote it."));
  }
  if (entry.version != version_for(entry)) {
    return damaged_log(where(index), "a row of another version than its journal's");
  }
  if (entry.version >= 2 && entry.previous_hash != last_row_hash_) {
    return damaged_log(where(index), "it does not follow from the row before it");
  }
  const std::string defect = table_.defect(entry);
  if (!defect.empty()) return damaged_log(where(index), defect);
  if (!both) copy_defects_.push_back({1 - good, index, states[1 - good] == EntryState::kEmpty});
  take_row(entry);
  return absl::OkStatus();
}

void SessionLog::take_row(const SessionEntry& entry) {
  table_.add(entry);
  next_index_ = entry.index + 1;
  last_row_hash_ = hash_of(entry);
}

// Syncs both copies even if they agree, because a killed writer may have left a page unsynced.
absl::Status SessionLog::heal() {
  for (const SessionCopyDefect& defect : copy_defects_) {
    SessionEntry entry;
    absl::Status status =
        read_entries(*disk_, files_[1 - defect.copy], defect.index, std::span(&entry, 1));
    if (status.ok()) {
      status = disk_->write_at(files_[defect.copy].get(), defect.index * kSessionEntryBytes,
                               std::as_bytes(std::span(&entry, 1)));
    }
    if (!status.ok()) return status;
  }
  for (const OpenFile& file : files_) {
    const absl::Status status = disk_->sync(file.get());
    if (!status.ok()) return status;
  }
  return first_row_ > 0 ? give_back_dropped_rows() : absl::OkStatus();
}

// All rows of a journal have the version of its first row. Only its first listed begin defines that
// version, so a row with another version is damage.
std::uint32_t SessionLog::version_for(const SessionEntry& entry) const {
  const SessionRecord* const before = table_.last();
  if (before != nullptr && before->begin.journal_id == entry.journal_id) {
    return before->begin.version;
  }
  return entry.version;
}

absl::Status SessionLog::append(SessionEntry entry) {
  if (!failure_.ok()) return failure_;
  if (entry.version == 0) entry.version = kSessionVersion;
  entry.version = version_for(entry);
  const std::string defect = table_.defect(entry);
  if (!defect.empty()) {
    return make_error(Errc::kInvalidArgument, absl::StrCat(where(next_index_), ": ", defect));
  }
  // Every entry except an end leaves room for one more: the end.
  const std::uint64_t rows = next_index_ + (entry.kind == SessionEntryKind::kEnd ? 1 : 2);
  if (const absl::Status fits = check_rows(rows); !fits.ok()) return fits;
  // While a log is copied, the rows themselves extend the files.
  if (const absl::Status room = syncs_rows_ ? make_room(rows) : absl::OkStatus(); !room.ok()) {
    return room;
  }
  entry.index = next_index_;
  if (entry.wall_ns == 0) entry.wall_ns = wall_ns();
  entry.previous_hash = last_row_hash_;
  if (entry.version == 1) {
    entry.source_fingerprint = entry.metadata_hash = entry.previous_hash = 0;
  }
  entry.checksum = checksum_of(entry);
  failure_ = write_copies(entry);
  if (failure_.ok()) take_row(entry);
  return failure_;
}

absl::Status SessionLog::forget_before(std::size_t count) {
  if (!failure_.ok()) return failure_;
  if (count == 0 || count >= sessions().size() || last()->begin.version < 2) {
    return absl::OkStatus();
  }
  const std::uint64_t first_kept = sessions()[count].row_index;
  if (first_kept - first_row_ < kSessionRowsForgotten) return absl::OkStatus();
  SessionEntry before{};
  absl::Status read = read_entries(*disk_, files_[0], first_kept - 1, std::span(&before, 1));
  if (!read.ok()) return read;
  failure_ = write_front(first_kept, hash_of(before));
  if (!failure_.ok()) return failure_;
  table_.drop_front(count);
  return give_back_dropped_rows();
}

absl::Status SessionLog::write_front(std::uint64_t first_row, std::uint64_t dropped_hash) {
  SessionEntry head{};
  head.version = kSessionVersion;
  head.kind = SessionEntryKind::kShortened;
  head.through = first_row;
  head.wall_ns = wall_ns();
  head.previous_hash = dropped_hash;
  head.checksum = checksum_of(head);
  if (const absl::Status written = write_copies(head); !written.ok()) return written;
  first_row_ = first_row;
  dropped_hash_ = dropped_hash;
  return absl::OkStatus();
}

absl::Status SessionLog::copy_sessions(const SessionLog& from) {
  syncs_rows_ = false;
  absl::Status status = append_sessions(from);
  syncs_rows_ = true;
  if (status.ok()) status = write_unwritten();
  if (status.ok()) status = make_room(next_index_ + 1);
  for (const OpenFile& file : files_) {
    if (status.ok()) status = disk_->sync(file.get());
  }
  return status;
}

absl::Status SessionLog::append_sessions(const SessionLog& from) {
  absl::Status status;
  if (from.first_row_ > 0) {
    status = write_front(from.first_row_, from.dropped_hash_);
    table_.restart(true);
    next_index_ = first_row_;
    last_row_hash_ = dropped_hash_;
  }
  for (const SessionRecord& session : from.sessions()) {
    SessionEntry row = session.begin.row();
    if (&session == from.last() && !from.ring_path().empty()) {
      set_text(row.ring_path, from.ring_path());
    }
    if (status.ok()) status = append(row);
    if (status.ok() && session.reserved_through != 0) {
      status = append_reservation(session.reserved_through);
    }
    if (!status.ok() || !session.end) return status;
    row = entry_of_last(SessionEntryKind::kEnd);
    row.how = session.end->how;
    row.sys_errno = session.end->sys_errno;
    row.last = session.end->last;
    row.void_first = session.end->void_first;
    row.void_last = session.end->void_last;
    row.wall_ns = session.end->wall_ns;
    status = append(row);
  }
  return status;
}

// The dropped rows are no longer valid, so a file system without holes may keep them.
absl::Status SessionLog::give_back_dropped_rows() {
  for (const OpenFile& file : files_) {
    const absl::Status status =
        disk_->punch_hole(file.get(), kSessionEntryBytes, (first_row_ - 1) * kSessionEntryBytes);
    if (!status.ok() && errno_of(status) != EOPNOTSUPP) return status;
  }
  return absl::OkStatus();
}

// Without a session, returns an entry that the rules do not allow.
SessionEntry SessionLog::entry_of_last(SessionEntryKind kind) const {
  SessionEntry entry{};
  entry.kind = kind;
  if (last() == nullptr) return entry;
  entry.journal_id = last()->begin.journal_id;
  entry.session_id = last()->begin.session_id;
  return entry;
}

absl::Status SessionLog::append_reservation(Sequence through) {
  SessionEntry entry = entry_of_last(SessionEntryKind::kReserve);
  entry.through = through;
  return append(entry);
}

absl::Status SessionLog::append_end(SessionEnd how, Sequence last, Sequence void_last,
                                    int sys_errno) {
  SessionEntry entry = entry_of_last(SessionEntryKind::kEnd);
  entry.how = how;
  entry.last = last;
  entry.void_first = void_last == 0 ? 0 : last + 1;
  entry.void_last = void_last;
  entry.sys_errno = static_cast<std::uint32_t>(sys_errno);
  return append(entry);
}

std::vector<std::string> SessionLog::lost_names() const {
  std::vector<std::string> lost;
  for (std::size_t copy = 0; copy < kCopies; ++copy) {
    if (!disk_->names(path(copy), files_[copy].get()).value_or(true)) lost.push_back(path(copy));
  }
  return lost;
}

absl::Status SessionLog::check_rows(std::uint64_t rows) const {
  if (rows - first_row_ <= kSessionEntriesMax) return absl::OkStatus();
  return make_error(
      Errc::kLimit,
      absl::StrCat(path(0), ": ", kSessionEntriesMax,
                   " entries, which is the maximum. Use another bus directory, or set "
                   "--retain-bytes: a start then drops the entries of sessions whose records "
                   "were removed."));
}

// Grows the files ahead. On a full disk, room for `rows` is enough.
absl::Status SessionLog::make_room(std::uint64_t rows) {
  const absl::Status grown = grow(next_index_ + kSessionEntriesAhead);
  if (errc_of(grown) != Errc::kNoSpace) return grown;
  for (const OpenFile& file : files_) {
    const auto size = size_of(*disk_, file);
    if (!size.ok()) return size.status();
    if (*size < rows * kSessionEntryBytes) return grown;
  }
  return absl::OkStatus();
}

// Writes zeros after the end. Allocating the file from its beginning would fill the hole of a
// shortened log.
absl::Status SessionLog::grow(std::uint64_t entries) {
  static constexpr std::byte kZeros[kSessionsGrowthBytes] = {};
  const std::uint64_t bytes = entries * kSessionEntryBytes;
  const std::uint64_t wanted =
      (bytes + kSessionsGrowthBytes - 1) / kSessionsGrowthBytes * kSessionsGrowthBytes;
  for (const OpenFile& file : files_) {
    auto size = size_of(*disk_, file);
    if (!size.ok()) return size.status();
    while (*size < wanted) {
      const std::uint64_t step = std::min(wanted - *size, kSessionsGrowthBytes);
      const absl::Status status = disk_->write_at(file.get(), *size, std::span(kZeros, step));
      if (!status.ok()) return status;
      *size += step;
    }
  }
  return absl::OkStatus();
}

// Row 0 of a shortened log may be written after others.
absl::Status SessionLog::write_copies(const SessionEntry& entry) {
  if (!syncs_rows_ && entry.kind != SessionEntryKind::kShortened) {
    unwritten_.push_back(entry);
    return unwritten_.size() < kSessionRowsTogether ? absl::OkStatus() : write_unwritten();
  }
  for (const OpenFile& file : files_) {
    absl::Status status = disk_->write_at(file.get(), entry.index * kSessionEntryBytes,
                                          std::as_bytes(std::span(&entry, 1)));
    if (status.ok() && syncs_rows_) status = disk_->sync(file.get());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status SessionLog::write_unwritten() {
  if (unwritten_.empty()) return absl::OkStatus();
  for (const OpenFile& file : files_) {
    const absl::Status status =
        disk_->write_at(file.get(), unwritten_.front().index * kSessionEntryBytes,
                        std::as_bytes(std::span(unwritten_)));
    if (!status.ok()) return status;
  }
  unwritten_.clear();
  return absl::OkStatus();
}

}  // namespace lapwing
