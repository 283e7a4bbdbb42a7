#include "snapshot/journal/session_log.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "proto/header_checksum.h"
#include "proto/text_field.h"

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

absl::Status damaged_log(const std::string& where, const std::string& what) {
  return make_error(
      Errc::kDamaged,
      absl::StrCat(where, ": ", what,
                   "; `lapwing verify` shows all damage, `lapwing repair` repairs what it can"));
}

}  // namespace

absl::StatusOr<SessionLog> SessionLog::open(Disk& disk, const std::string& directory,
                                            const std::string& name, std::uint64_t lock_retry_ns) {
  return open_writer(SessionLog(SessionFiles(disk, directory, name)), lock_retry_ns);
}

absl::StatusOr<SessionLog> SessionLog::open_mirror(Disk& disk, const std::string& directory,
                                                   std::uint64_t lock_retry_ns) {
  SessionLog log(SessionFiles(disk, directory, kSessionsFileName));
  log.version_ = kMirrorSessionVersion;
  return open_writer(std::move(log), lock_retry_ns);
}

absl::StatusOr<SessionLog> SessionLog::open_writer(SessionLog log, std::uint64_t lock_retry_ns) {
  absl::Status status = log.files_.open_to_write(lock_retry_ns);
  if (status.ok()) status = log.load();
  if (status.ok()) status = log.check_origin();
  if (status.ok()) status = log.heal();
  if (!status.ok()) return status;
  return log;
}

absl::Status SessionLog::check_not_mirror() const {
  if (!is_mirror()) return absl::OkStatus();
  return make_error(
      Errc::kInUse,
      absl::StrCat(files_.path(0),
                   ": this is the mirror of a bus on another host, which alone can publish to it. "
                   "Publish on that host, or use another bus directory. If that host is lost, "
                   "`lapwing relay detach` turns the mirror into a bus of this host."));
}

absl::Status SessionLog::check_origin() const {
  if (version_ != kMirrorSessionVersion) return check_not_mirror();
  if (is_mirror() || sessions().empty()) return absl::OkStatus();
  return make_error(Errc::kInUse,
                    absl::StrCat(files_.path(0),
                                 ": this bus belongs to this host and is not a "
                                 "mirror. Use another bus directory for the mirror."));
}

absl::StatusOr<SessionLog> SessionLog::open_read_only(Disk& disk, const std::string& directory,
                                                      std::uint64_t bytes_max) {
  SessionLog unopened(SessionFiles(disk, directory, kSessionsFileName));
  unopened.bytes_max_ = bytes_max;
  absl::Status damage;
  auto log = open_reader(std::move(unopened), damage);
  if (!damage.ok()) return damage;
  return log;
}

absl::StatusOr<SessionLog> SessionLog::open_damaged(Disk& disk, const std::string& directory,
                                                    absl::Status& damage) {
  return open_reader(SessionLog(SessionFiles(disk, directory, kSessionsFileName)), damage);
}

absl::StatusOr<SessionLog> SessionLog::open_reader(SessionLog log, absl::Status& damage) {
  absl::Status status = log.refresh();
  if (status.ok() && !log.files_.any_open()) {
    status = make_error(Errc::kNotFound,
                        absl::StrCat(log.files_.path(0),
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

absl::Status SessionLog::refresh() {
  absl::Status status;
  for (int reread = 0; reread <= kSessionRereads; ++reread) {
    status = files_.open_to_read();
    if (status.ok()) status = load();
    if (errc_of(status) != Errc::kDamaged) break;
  }
  return status;
}

absl::Status SessionLog::load() {
  absl::Status status = load_front();
  if (status.ok()) status = load_entries();
  return status.ok() && next_index_ == 0 ? files_.check_not_lost() : status;
}

// Checks row 0 for a shortened log. A reader that has already read beyond `through` keeps its rows.
absl::Status SessionLog::load_front() {
  SessionEntry rows[kCopies];
  const SessionEntry* head = nullptr;
  for (std::size_t copy = 0; copy < kCopies; ++copy) {
    const absl::Status status = files_.read(copy, 0, std::span(&rows[copy], 1));
    if (!status.ok()) return status;
    const bool is_head = state_of(rows[copy], 0) == EntryState::kValid &&
                         rows[copy].version >= kSessionVersion &&
                         rows[copy].version <= kMirrorSessionVersion &&
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

// Reads every entry from next_index_ on. Keeps the entries before a damaged one.
absl::Status SessionLog::load_entries() {
  const absl::StatusOr<std::uint64_t> bytes = files_.bytes();
  if (!bytes.ok()) return bytes.status();
  if (absl::Status fits = check_size(*bytes); !fits.ok()) return fits;
  std::vector<SessionEntry> chunks[kCopies];
  for (auto& chunk : chunks) chunk.resize(kSessionsPerRead);
  bool at_end = false;
  const std::uint64_t begin = next_index_;
  for (std::uint64_t index = begin; index * kSessionEntryBytes < *bytes; ++index) {
    if (index - first_row_ >= kSessionEntriesMax && !at_end) {
      return make_error(Errc::kLimit,
                        absl::StrCat(files_.path(0), ": more than ", kSessionEntriesMax,
                                     " entries; use another bus directory, or move the journal "
                                     "away"));
    }
    const std::size_t i = (index - begin) % kSessionsPerRead;
    for (std::size_t copy = 0; i == 0 && copy < kCopies; ++copy) {
      const absl::Status status = files_.read(copy, index, chunks[copy]);
      if (!status.ok()) return status;
    }
    const absl::Status status = take(index, chunks[0][i], chunks[1][i], at_end);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Refuses files that are too large. The zeros after the last entry are read as well, and a large
// hole that was never part of a log takes hours to read although it uses no disk space.
absl::Status SessionLog::check_size(std::uint64_t bytes) const {
  if (bytes > bytes_max_) {
    return make_error(Errc::kLimit, absl::StrCat(files_.path(0), " or its copy has ", bytes,
                                                 " bytes, but at most ", bytes_max_,
                                                 " are read from a file of another user"));
  }
  const std::uint64_t rows_max = first_row_ + kSessionEntriesMax + kSessionEntriesAhead;
  if (bytes / kSessionEntryBytes <= rows_max) return absl::OkStatus();
  return make_error(
      Errc::kDamaged,
      absl::StrCat(files_.path(0), " or its copy has ", bytes, " bytes; a log has at most ",
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
    return damaged_log(files_.where(index), "valid in neither copy");
  }
  if (at_end) return damaged_log(files_.where(index), "an entry after the end of the list");
  const bool both = states[0] == states[1];
  if (both && std::memcmp(&in_first, &in_copy, kSessionEntryBytes) != 0) {
    return damaged_log(files_.where(index), "the two copies contradict each other");
  }
  const std::size_t good = states[0] == EntryState::kValid ? 0 : 1;
  const SessionEntry& entry = good == 0 ? in_first : in_copy;
  if (entry.version < kSessionVersionMin || entry.version > kMirrorSessionVersion) {
    return make_error(Errc::kAbiMismatch,
                      absl::StrCat(files_.where(index), ": version ", entry.version,
                                   ", but this program reads versions ", kSessionVersionMin, " to ",
                                   kMirrorSessionVersion, ". Use the release that wrote it."));
  }
  if (entry.version != version_for(entry)) {
    return damaged_log(files_.where(index), "a row of another version than its journal's");
  }
  if (entry.version >= 2 && entry.previous_hash != last_row_hash_) {
    return damaged_log(files_.where(index), "it does not follow from the row before it");
  }
  const std::string defect = table_.defect(entry);
  if (!defect.empty()) return damaged_log(files_.where(index), defect);
  if (!both) copy_defects_.push_back({1 - good, index, states[1 - good] == EntryState::kEmpty});
  take_row(entry);
  return absl::OkStatus();
}

void SessionLog::take_row(const SessionEntry& entry) {
  last_row_hash_ = hash_of(entry);
  table_.add(entry, last_row_hash_);
  next_index_ = entry.index + 1;
}

// Syncs both copies even if they agree, because a killed writer may have left a page unsynced.
absl::Status SessionLog::heal() {
  for (const SessionCopyDefect& defect : copy_defects_) {
    const absl::Status status = files_.restore(defect.copy, defect.index);
    if (!status.ok()) return status;
  }
  const absl::Status synced = files_.sync();
  return synced.ok() && first_row_ > 0 ? files_.give_back_before(first_row_) : synced;
}

// All rows of a journal have the version of its first row. The first listed begin of the journal
// defines that version, so a row with another version is damaged.
std::uint32_t SessionLog::version_for(const SessionEntry& entry) const {
  const SessionRecord* const before = table_.last();
  if (before != nullptr && before->begin.journal_id == entry.journal_id) {
    return before->begin.version;
  }
  return entry.version;
}

absl::Status SessionLog::append(SessionEntry entry) {
  if (!failure_.ok()) return failure_;
  if (entry.version == 0) entry.version = version_;
  entry.version = version_for(entry);
  const std::string defect = table_.defect(entry);
  if (!defect.empty()) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat(files_.where(next_index_), ": ", defect));
  }
  // Any entry except an end leaves room for one more, the end.
  const std::uint64_t rows = next_index_ + (entry.kind == SessionEntryKind::kEnd ? 1 : 2);
  if (const absl::Status fits = check_rows(rows); !fits.ok()) return fits;
  const absl::Status room = files_.make_room(next_index_ + kSessionEntriesAhead, rows);
  if (!room.ok()) return room;
  entry.index = next_index_;
  if (entry.wall_ns == 0) entry.wall_ns = wall_ns();
  entry.previous_hash = last_row_hash_;
  if (entry.version == 1) {
    entry.source_fingerprint = entry.metadata_hash = entry.previous_hash = 0;
  }
  if (entry.version != kMirrorSessionVersion) entry.origin_row = entry.origin_hash = 0;
  entry.checksum = checksum_of(entry);
  failure_ = files_.write(entry);
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
  absl::Status read = files_.read(0, first_kept - 1, std::span(&before, 1));
  if (!read.ok()) return read;
  failure_ = write_front(first_kept, hash_of(before), sessions()[count].begin.version);
  if (!failure_.ok()) return failure_;
  table_.drop_front(count);
  return files_.give_back_before(first_row_);
}

absl::Status SessionLog::write_front(std::uint64_t first_row, std::uint64_t dropped_hash,
                                     std::uint32_t version) {
  SessionEntry head{};
  head.version = std::max(version, kSessionVersion);
  head.kind = SessionEntryKind::kShortened;
  head.through = first_row;
  head.wall_ns = wall_ns();
  head.previous_hash = dropped_hash;
  head.checksum = checksum_of(head);
  if (const absl::Status written = files_.write(head); !written.ok()) return written;
  first_row_ = first_row;
  dropped_hash_ = dropped_hash;
  return absl::OkStatus();
}

absl::Status SessionLog::copy_sessions(const SessionLog& from) {
  files_.begin_batch();
  absl::Status status = append_sessions(from);
  status.Update(files_.end_batch());
  if (status.ok()) status = files_.make_room(next_index_ + kSessionEntriesAhead, next_index_ + 1);
  return status.ok() ? files_.sync() : status;
}

absl::Status SessionLog::append_sessions(const SessionLog& from) {
  absl::Status status;
  if (from.first_row_ > 0) {
    const std::uint32_t version =
        from.sessions().empty() ? kSessionVersion : from.sessions().front().begin.version;
    status = write_front(from.first_row_, from.dropped_hash_, version);
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
    if (status.ok() && session.reserved_through != 0 && !session.begin.is_mirrored()) {
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
    row.origin_row = session.end->origin_row;
    row.origin_hash = session.end->origin_hash;
    status = append(row);
  }
  return status;
}

// If there is no session, returns an entry that the rules do not allow.
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

absl::Status SessionLog::check_rows(std::uint64_t rows) const {
  if (rows - first_row_ <= kSessionEntriesMax) return absl::OkStatus();
  return make_error(
      Errc::kLimit,
      absl::StrCat(files_.path(0), ": ", kSessionEntriesMax,
                   " entries, which is the maximum. Use another bus directory, or set "
                   "--retain-bytes: a start then drops the entries of sessions whose records "
                   "were removed."));
}

}  // namespace lapwing
