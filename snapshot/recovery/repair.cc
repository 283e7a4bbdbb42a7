#include "snapshot/recovery/repair.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/whole_file.h"
#include "snapshot/bus_directory.h"
#include "snapshot/journal/index_file.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/journal_proof.h"
#include "snapshot/journal/retention_file.h"
#include "snapshot/journal/session_log.h"
#include "snapshot/journal/sum_walk.h"
#include "snapshot/recovery/obstacles.h"
#include "snapshot/recovery/session_rebuild.h"
#include "snapshot/schema/kept_schemas.h"

namespace lapwing {
namespace {

constexpr char kRebuiltName[] = "sessions.rebuilt";
constexpr std::size_t kCopyChunkBytes = 64 * 1024;

bool is_zero(std::span<const std::byte> bytes) {
  return bytes.empty() || (bytes.front() == std::byte{0} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

class Repairer {
 public:
  Repairer(Disk& disk, const RepairRequest& request) : disk_(disk), request_(request) {}

  absl::Status run();
  RepairReport take_report() { return std::move(report_); }

 private:
  absl::Status check_unused();
  absl::Status check_not_mirror();
  absl::Status check_start();
  absl::Status rebuild_sessions(const SessionLog& valid);
  absl::Status append_unlisted(SessionLog& rebuilt, const UnlistedJournals& unlisted);
  void say_rebuilt(const SessionLog& valid, const UnlistedJournals& unlisted);
  absl::Status heal_sessions();
  absl::Status remove_obstacles(const absl::StatusOr<std::vector<Obstacle>>& found);
  absl::Status remove_obstacles_of_journals();
  absl::StatusOr<bool> restore_description();
  absl::Status rewrite_indexes();
  absl::Status rewrite_indexes_of(const SessionBegin& begin);
  absl::StatusOr<bool> record_missing_front();
  absl::Status end_journal(SessionLog& sessions);
  absl::Status end_open_session(SessionLog& sessions, const SessionRecord& session);
  absl::Status end_with_empty_session(SessionLog& sessions, const SessionRecord& before);
  absl::Status copy_aside(const std::string& suffix);

  std::string path(const std::string& name) const {
    return absl::StrCat(request_.journal_root, "/", name);
  }
  void say(std::string line) { report_.done.push_back(std::move(line)); }

  Disk& disk_;
  const RepairRequest& request_;
  std::optional<SessionLog> sessions_;
  RepairReport report_;
};

absl::Status Repairer::run() {
  absl::Status status = check_unused();
  if (status.ok()) status = check_not_mirror();
  if (!status.ok()) return status;
  status = remove_obstacles(find_root_obstacles(disk_, request_.journal_root));
  if (!status.ok()) return status;
  absl::Status damage;
  const auto valid = SessionLog::open_damaged(disk_, request_.journal_root, damage);
  if (!valid.ok()) return valid.status();
  status = damage.ok() ? absl::OkStatus() : rebuild_sessions(*valid);
  if (status.ok()) status = heal_sessions();
  if (status.ok()) status = remove_obstacles_of_journals();
  if (status.ok()) status = rewrite_indexes();
  if (!status.ok()) return status;
  const auto described = restore_description();
  if (!described.ok()) return described.status();
  if (!*described) return end_journal(*sessions_);
  status = check_start();
  if (errc_of(status) == Errc::kDamaged) {
    const auto recorded = record_missing_front();
    if (!recorded.ok()) return recorded.status();
    if (*recorded) status = check_start();
  }
  return errc_of(status) == Errc::kDamaged ? end_journal(*sessions_) : status;
}

// The error with which the next publisher would refuse to start.
absl::Status Repairer::check_start() {
  return check_settle(disk_, request_.journal_root, *sessions_, request_.boot_id,
                      request_.open_ring);
}

// A running publisher has locked `sessions`, even if its lock file was removed.
absl::Status Repairer::check_unused() {
  for (const char* const suffix : {"", kCopySuffix}) {
    const auto file =
        open_file(disk_, absl::StrCat(path(kSessionsFileName), suffix), {OpenMode::kReadWrite});
    const Errc code = errc_of(file.status());
    if (code == Errc::kNotFound || code == Errc::kNotALapwingFile) continue;
    if (!file.ok()) return file.status();
    const absl::Status locked = disk_.lock(file->get(), 0);
    if (!locked.ok()) return locked;
  }
  return absl::OkStatus();
}

// A mirror gets damaged parts from its origin. Ending its journal would contradict the origin.
absl::Status Repairer::check_not_mirror() {
  absl::Status damage;
  const auto log = SessionLog::open_damaged(disk_, request_.journal_root, damage);
  if (!log.ok() || !log->is_mirror()) return absl::OkStatus();
  return make_error(Errc::kInUse,
                    absl::StrCat(path(kSessionsFileName),
                                 ": this is the mirror of a bus on another host, and only that bus "
                                 "can be repaired. `lapwing relay check --mend` fetches damaged "
                                 "parts of the mirror again."));
}

// The new log is complete, including the journal's end, before it replaces the damaged one. So a
// publisher can never continue a journal whose sessions were forgotten.
absl::Status Repairer::rebuild_sessions(const SessionLog& valid) {
  const auto unlisted = find_unlisted_journals(disk_, request_.journal_root, valid);
  if (!unlisted.ok()) return unlisted.status();
  const bool hopeless = valid.sessions().empty() && unlisted->journals.empty();
  if (hopeless && !unlisted->left_aside.empty()) {
    return make_error(Errc::kDamaged,
                      absl::StrCat(path(kSessionsFileName),
                                   " is gone and cannot be rebuilt: ", unlisted->left_aside.front(),
                                   "; move ", request_.journal_root, " aside"));
  }
  absl::Status status;
  for (const char* const suffix : {"", kCopySuffix}) {
    if (status.ok()) status = copy_aside(suffix);
    if (status.ok()) status = remove_if_there(disk_, absl::StrCat(path(kRebuiltName), suffix));
  }
  if (status.ok()) status = disk_.sync_directory(request_.journal_root);
  if (!status.ok()) return status;
  auto rebuilt = SessionLog::open(disk_, request_.journal_root, kRebuiltName);
  if (!rebuilt.ok()) return rebuilt.status();
  status = rebuilt->copy_sessions(valid);
  if (status.ok()) status = end_journal(*rebuilt);
  if (status.ok()) status = append_unlisted(*rebuilt, *unlisted);
  for (const char* const suffix : {"", kCopySuffix}) {
    if (!status.ok()) break;
    status = disk_.rename(absl::StrCat(path(kRebuiltName), suffix),
                          absl::StrCat(path(kSessionsFileName), suffix));
    if (status.ok()) status = disk_.sync_directory(request_.journal_root);
  }
  if (status.ok()) say_rebuilt(valid, *unlisted);
  return status;
}

absl::Status Repairer::append_unlisted(SessionLog& rebuilt, const UnlistedJournals& unlisted) {
  Id128 session_id = request_.fresh_id;
  for (const UnlistedJournal& journal : unlisted.journals) {
    for (std::size_t i = 0; i < session_id.bytes.size() && ++session_id.bytes[i] == 0;) ++i;
    const bool is_of_bus = journal.journal_id == request_.bus_journal_id &&
                           !request_.bus_session_id.is_zero() &&
                           rebuilt.find(request_.bus_session_id) == nullptr;
    const absl::Status status = append_failed_session(
        rebuilt, journal, is_of_bus ? request_.bus_session_id : session_id, request_.boot_id);
    if (!status.ok()) return status;
    report_.journal_ended = true;
  }
  return absl::OkStatus();
}

void Repairer::say_rebuilt(const SessionLog& valid, const UnlistedJournals& unlisted) {
  if (valid.entry_count() > 0 || unlisted.journals.empty()) {
    say(absl::StrCat(path(kSessionsFileName), " is reset to its first ", valid.entry_count(),
                     " entries; its old content is kept in ", path(kSessionsFileName), ".damaged-",
                     request_.fresh_id.hex()));
  } else {
    say(absl::StrCat(path(kSessionsFileName),
                     " and its copy were gone, empty or damaged: ", "rebuilt from the segments"));
  }
  for (const UnlistedJournal& journal : unlisted.journals) {
    say(absl::StrCat("journal ", journal.journal_id.hex(), ": ", journal.segments,
                     " segments, sequences ", journal.oldest, " to ", journal.proven,
                     " as far as their sums prove; ended as failed, the next publisher begins a "
                     "new journal at sequence 1"));
  }
  for (const std::string& line : unlisted.left_aside) say(line);
  if (unlisted.journals.empty()) return;
  say("the segments do not record where sessions ended and which sequences were voids (they are "
      "now damaged). They do not record how far a feed had been read (--resume begins at its "
      "start), or what was written beyond the last sum");
}

absl::Status Repairer::copy_aside(const std::string& suffix) {
  const auto from =
      open_file(disk_, absl::StrCat(path(kSessionsFileName), suffix), {OpenMode::kRead});
  if (errc_of(from.status()) == Errc::kNotFound) return absl::OkStatus();
  if (!from.ok()) return from.status();
  const auto to = open_file(
      disk_, absl::StrCat(path(kSessionsFileName), suffix, ".damaged-", request_.fresh_id.hex()),
      {OpenMode::kCreate});
  if (!to.ok()) return to.status();
  const auto chunk = std::make_unique<std::byte[]>(kCopyChunkBytes);
  std::uint64_t offset = 0;
  for (;;) {
    const auto read = disk_.read_at(from->get(), offset, std::span(chunk.get(), kCopyChunkBytes));
    if (!read.ok()) return read.status();
    if (*read == 0) break;
    const std::span<const std::byte> bytes(chunk.get(), *read);
    absl::Status status;  // keep holes: a shortened log may have gigabytes of them
    if (!is_zero(bytes)) status = disk_.write_at(to->get(), offset, bytes);
    if (!status.ok()) return status;
    offset += *read;
  }
  const absl::Status sized = disk_.truncate(to->get(), offset);
  return sized.ok() ? disk_.sync(to->get()) : sized;
}

// Opening the log for writing heals it.
absl::Status Repairer::heal_sessions() {
  auto sessions = SessionLog::open(disk_, request_.journal_root);
  if (!sessions.ok()) return sessions.status();
  sessions_ = *std::move(sessions);
  if (!sessions_->copy_defects().empty()) {
    say(absl::StrCat(sessions_->copy_defects().size(), " entries of ", path(kSessionsFileName),
                     " restored from its copy, or in the copy from it"));
  }
  return absl::OkStatus();
}

absl::Status Repairer::remove_obstacles(const absl::StatusOr<std::vector<Obstacle>>& found) {
  if (!found.ok()) return found.status();
  for (const Obstacle& obstacle : *found) {
    const absl::Status removed = remove_obstacle(disk_, obstacle, request_.fresh_id);
    if (!removed.ok()) return removed;
    const bool is_length = obstacle.kind == Obstacle::Kind::kWrongLength;
    say(absl::StrCat(obstacle.path, ": ", obstacle.what(),
                     is_length ? "; its length is restored"
                               : absl::StrCat("; renamed to ", obstacle.path, ".aside-",
                                              request_.fresh_id.hex())));
  }
  return absl::OkStatus();
}

absl::Status Repairer::remove_obstacles_of_journals() {
  const Id128* journal = nullptr;  // the previous one; sessions of a journal are adjacent
  for (const SessionRecord& session : sessions_->sessions()) {
    if (journal != nullptr && *journal == session.begin.journal_id) continue;
    journal = &session.begin.journal_id;
    const absl::Status status = remove_obstacles(
        find_obstacles(journal_files_of(disk_, request_.journal_root, session.begin)));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Returns false if the description is lost, so that the journal cannot be continued.
absl::StatusOr<bool> Repairer::restore_description() {
  const auto lost = find_lost_description(disk_, request_.journal_root, *sessions_);
  if (!lost) return true;
  const auto text = parse_with_hash(request_.bus_description, lost->hash, kBusFileName);
  if (!text.ok()) {
    say(absl::StrCat(lost->path, ": ", lost->what, "; ", kBusFileName,
                     " does not have it either, so this journal ends"));
    return false;
  }
  const absl::Status kept = keep_schema(disk_, request_.journal_root, *text);
  if (!kept.ok()) return kept;
  say(absl::StrCat(lost->path, ": ", lost->what, "; restored from ", kBusFileName));
  return true;
}

absl::Status Repairer::rewrite_indexes() {
  const Id128* journal = nullptr;  // the previous one; sessions of a journal are adjacent
  for (const SessionRecord& session : sessions_->sessions()) {
    if (journal != nullptr && *journal == session.begin.journal_id) continue;
    journal = &session.begin.journal_id;
    const absl::Status status = rewrite_indexes_of(session.begin);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Repairer::rewrite_indexes_of(const SessionBegin& begin) {
  const JournalFiles files = journal_files_of(disk_, request_.journal_root, begin);
  const auto segments = list_segments(files);
  if (!segments.ok()) return segments.status();
  for (const std::uint64_t segment : *segments) {
    const auto index = inspect_index(files, segment);
    if (!index.ok()) return index.status();
    if (index->is_right()) continue;
    const absl::Status status = rewrite_index(files, segment);
    if (!status.ok()) return status;
    say(absl::StrCat(files.path(segment, "idx"), " rebuilt from ", index->entries,
                     " valid entries"));
  }
  return absl::OkStatus();
}

// If segments were removed at the front, the publisher can continue after them. From now on they
// count as removed by retention. Returns false if no segment with records is missing at the front.
absl::StatusOr<bool> Repairer::record_missing_front() {
  const SessionBegin& begin = sessions_->last()->begin;
  const JournalFiles files = journal_files_of(disk_, request_.journal_root, begin);
  const auto retained = list_retained(files);
  if (!retained.ok()) return retained.status();
  if (retained->segments.empty()) return false;
  const Sequence there = files.geometry.segment_first(retained->segments.front());
  const SequenceRange missing{retained->oldest, there - 1};
  const auto ranges = record_ranges(*sessions_, begin.journal_id, kSequenceMax);
  if (std::ranges::all_of(ranges, [&](const SequenceRange& range) {
        return intersect(range, missing).is_empty();
      })) {
    return false;
  }
  auto file = RetentionFile::open(files);
  if (!file.ok()) return file.status();
  absl::Status status = file->write(there);
  if (status.ok()) status = disk_.sync(file->get());
  if (!status.ok()) return status;
  say(absl::StrCat("journal ", begin.journal_id.hex(), ": the segments of sequences ",
                   missing.first, " to ", missing.last,
                   " are gone, and retention had not removed them. They are recorded as removed, "
                   "and the journal continues with the remaining segments"));
  return true;
}

absl::Status Repairer::end_journal(SessionLog& sessions) {
  const SessionRecord* const last = sessions.last();
  if (last == nullptr || (last->end && last->end->how == SessionEnd::kFailed)) {
    return absl::OkStatus();
  }
  const SessionRecord session = *last;
  const absl::Status status =
      session.end ? end_with_empty_session(sessions, session) : end_open_session(sessions, session);
  if (!status.ok()) return status;
  report_.journal_ended = true;
  say(absl::StrCat("journal ", session.begin.journal_id.hex(), " ended after sequence ",
                   sessions.last()->end->last,
                   "; its files stay, the next publisher begins a new journal at sequence 1"));
  return absl::OkStatus();
}

// Ends a killed session at the last sequence that its sums prove.
absl::Status Repairer::end_open_session(SessionLog& sessions, const SessionRecord& session) {
  const JournalFiles files = journal_files_of(disk_, request_.journal_root, session.begin);
  const auto segments = list_segments(files);
  if (!segments.ok()) return segments.status();
  const auto walk = walk_sums(files, *segments, session.first(), session.reserved_through);
  if (!walk.ok()) return walk.status();
  return sessions.append_end(SessionEnd::kFailed, walk->durable);
}

// Ends a journal whose last session already has an end: appends a session without records that ends
// as failed.
absl::Status Repairer::end_with_empty_session(SessionLog& sessions, const SessionRecord& before) {
  SessionEntry begin = before.begin.row();
  begin.session_id = request_.fresh_id;
  begin.boot_id = request_.boot_id;
  begin.first = before.end->next();
  begin.source_id = begin.source_fingerprint = begin.source_offset = 0;
  begin.wall_ns = 0;
  const absl::Status begun = sessions.append(begin);
  return begun.ok() ? sessions.append_end(SessionEnd::kFailed, begin.first - 1) : begun;
}

}  // namespace

absl::StatusOr<RepairReport> repair_journal(Disk& disk, const ExclusiveLock&,
                                            const RepairRequest& request,
                                            const VerifyProgress& progress) {
  disk.anchor(request.journal_root);
  Repairer repairer(disk, request);
  const absl::Status repaired = repairer.run();
  if (!repaired.ok()) return repaired;
  RepairReport report = repairer.take_report();
  auto remaining =
      verify_journal(disk, request.journal_root, progress, {request.boot_id, request.open_ring});
  if (!remaining.ok()) return remaining.status();
  report.remaining = *std::move(remaining);
  return report;
}

}  // namespace lapwing
