#include "snapshot/recovery/verify.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "snapshot/journal/absent_ranges.h"
#include "snapshot/journal/index_file.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/journal_proof.h"
#include "snapshot/journal/retention_file.h"
#include "snapshot/journal/session_log.h"
#include "snapshot/journal/sum_walk.h"
#include "snapshot/recovery/obstacles.h"

namespace lapwing {
namespace {

constexpr char kRepairHeals[] = "`lapwing repair` or the next start restores it";
constexpr char kRepairRewrites[] =
    "`lapwing repair` rebuilds it; until then joins by time are less exact";
constexpr char kRestoreOrEnd[] =
    "restore the file from a copy; if a publisher refuses to start, run `lapwing repair`: it "
    "records segments missing at the front as removed, or else ends this journal; readers get the "
    "rest of it";
constexpr char kRepairGoesBack[] =
    "`lapwing repair` keeps the sessions before it and ends their journal";
constexpr char kRepairRebuilds[] = "`lapwing repair` rebuilds its session from the segments";
constexpr char kRepairRestoresLength[] = "`lapwing repair` restores the length";
constexpr char kRepairSetsAside[] = "`lapwing repair` renames it";
constexpr char kRepairRestoresDescription[] =
    "`lapwing repair` restores it from bus.json, or else ends this journal; a publisher with the "
    "same description also restores it";
constexpr char kRepairEnds[] =
    "`lapwing repair` ends this journal if it cannot be continued; readers get all of it";
constexpr char kMirrorFetches[] =
    "`lapwing relay check --mend` fetches it again, if the origin still has it";
constexpr char kMirrorRestores[] =
    "the next start of the mirror restores it; move a path that is not a file away before";
constexpr char kMoveAway[] = "move the directory away if you do not need it";

// A journal, its expected contents and the results.
struct Task {
  JournalFiles files;
  RetainedSegments retained;
  std::vector<AbsentRange> absent;    // with voids
  std::vector<SequenceRange> ranges;  // of records
  VerifiedJournal summary;
};

class Verifier {
 public:
  Verifier(Disk& disk, const std::string& journal_root, const VerifyProgress& progress,
           const VerifyStart& start)
      : disk_(disk), journal_root_(journal_root), progress_(progress), start_(start) {}

  absl::StatusOr<VerifyReport> run();

 private:
  void note_sessions(const SessionLog& sessions, const absl::Status& damage);
  absl::StatusOr<Task> plan(const SessionLog& sessions, const SessionBegin& begin);
  absl::Status plan_absent(Task& task, const SessionLog& sessions);
  absl::Status plan_open_session(Task& task, const SessionRecord& session);
  absl::Status verify_records(Task& task);
  absl::Status verify_indexes(const Task& task);
  absl::Status note_obstacles(const absl::StatusOr<std::vector<Obstacle>>& found);
  absl::Status verify_start(SessionLog& sessions);
  absl::Status find_strays(const std::vector<Task>& tasks);
  absl::StatusOr<bool> was_pruned_meanwhile(const Task& task, Sequence n) const;
  void add(JournalDamage damage, bool loses_records, const char* remedy);

  Disk& disk_;
  const std::string& journal_root_;
  const VerifyProgress& progress_;
  const VerifyStart& start_;
  VerifyReport report_;
  bool log_is_lost_ = false;  // there is damage, and no valid entry before it
  bool is_mirror_ = false;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
};

void Verifier::add(JournalDamage damage, bool loses_records, const char* remedy) {
  report_.loses_records |= loses_records;
  if (report_.findings.size() >= kFindingsMax) {
    ++report_.findings_left_off;
    return;
  }
  if (is_mirror_) remedy = loses_records ? kMirrorFetches : kMirrorRestores;
  report_.findings.push_back({std::move(damage), loses_records, remedy});
}

absl::StatusOr<VerifyReport> Verifier::run() {
  absl::Status damage;
  auto sessions = SessionLog::open_damaged(disk_, journal_root_, damage);
  if (!sessions.ok()) return sessions.status();
  is_mirror_ = sessions->is_mirror();
  absl::Status noted = note_obstacles(find_root_obstacles(disk_, journal_root_));
  if (!noted.ok()) return noted;
  note_sessions(*sessions, damage);
  std::vector<Task> tasks;
  for (const SessionRecord& session : sessions->sessions()) {
    const Id128& journal_id = session.begin.journal_id;
    if (!tasks.empty() && tasks.back().files.journal_id == journal_id) continue;
    auto task = plan(*sessions, session.begin);
    if (!task.ok()) return task.status();
    total_ += task->summary.records;
    tasks.push_back(*std::move(task));
  }
  for (Task& task : tasks) {
    absl::Status status = verify_records(task);
    if (status.ok()) status = verify_indexes(task);
    if (status.ok()) status = note_obstacles(find_obstacles(task.files));
    if (!status.ok()) return status;
    report_.journals.push_back(task.summary);
  }
  absl::Status status = find_strays(tasks);
  if (status.ok() && damage.ok()) status = verify_start(*sessions);
  if (!status.ok()) return status;
  return std::move(report_);
}

absl::Status Verifier::note_obstacles(const absl::StatusOr<std::vector<Obstacle>>& found) {
  if (!found.ok()) return found.status();
  for (const Obstacle& obstacle : *found) {
    const bool is_length = obstacle.kind == Obstacle::Kind::kWrongLength;
    add({obstacle.path, 0, kNoSequence, kNoSequence, obstacle.what()}, false,
        is_length ? kRepairRestoresLength : kRepairSetsAside);
  }
  return absl::OkStatus();
}

// Checks everything else that would prevent a start, using the function that a start uses.
absl::Status Verifier::verify_start(SessionLog& sessions) {
  if (const auto lost = find_lost_description(disk_, journal_root_, sessions)) {
    add({lost->path, 0, kNoSequence, kNoSequence, lost->what}, false, kRepairRestoresDescription);
  }
  // No publisher starts on a mirror.
  if (!start_.open_ring || !report_.is_clean() || is_mirror_) return absl::OkStatus();
  const absl::Status refused =
      check_settle(disk_, journal_root_, sessions, start_.boot_id, start_.open_ring);
  // Other errors concern this process or a running publisher, not the journal.
  const Errc code = errc_of(refused);
  if (code != Errc::kDamaged && code != Errc::kNotALapwingFile && code != Errc::kAbiMismatch) {
    return absl::OkStatus();
  }
  add({absl::StrCat(journal_root_, "/", kSessionsFileName), 0, kNoSequence, kNoSequence,
       absl::StrCat("a publisher cannot start: ", refused.message())},
      false, kRepairEnds);
  return absl::OkStatus();
}

void Verifier::note_sessions(const SessionLog& sessions, const absl::Status& damage) {
  for (const SessionCopyDefect& defect : sessions.copy_defects()) {
    // The newest entry may not have reached the copy yet.
    if (defect.missing && defect.index + 1 == sessions.entry_count()) continue;
    const char* const suffix = defect.copy == 0 ? "" : kCopySuffix;
    add({absl::StrCat(journal_root_, "/", kSessionsFileName, suffix),
         defect.index * kSessionEntryBytes, kNoSequence, kNoSequence,
         defect.missing ? "an entry is missing" : "an entry is damaged"},
        false, kRepairHeals);
  }
  if (damage.ok()) return;
  log_is_lost_ = sessions.entry_count() == 0;
  add({absl::StrCat(journal_root_, "/", kSessionsFileName),
       sessions.entry_count() * kSessionEntryBytes, kNoSequence, kNoSequence,
       std::string(damage.message())},
      true, log_is_lost_ ? kRepairRebuilds : kRepairGoesBack);
}

absl::StatusOr<Task> Verifier::plan(const SessionLog& sessions, const SessionBegin& begin) {
  Task task;
  task.files = journal_files_of(disk_, journal_root_, begin);
  auto retained = list_retained(task.files);
  if (!retained.ok()) return retained.status();
  task.retained = *std::move(retained);
  if (absl::Status planned = plan_absent(task, sessions); !planned.ok()) return planned;
  VerifiedJournal& summary = task.summary;
  summary.oldest = task.retained.oldest;
  summary.journal_id = begin.journal_id;
  summary.segments = task.retained.segments.size();
  for (const SessionRecord& session : sessions.sessions_of(begin.journal_id)) {
    ++summary.sessions;
    if (!session.end) {
      const absl::Status status = plan_open_session(task, session);
      if (!status.ok()) return status;
      continue;
    }
    summary.durable = session.end->last;
  }
  for (const AbsentRange& range : task.absent) {
    const bool is_void = range.cause == GapCause::kVoid;
    ++(is_void ? summary.voids : summary.absent);
    (is_void ? summary.void_records : summary.absent_records) += range.last - range.first + 1;
  }
  for (const SequenceRange& range :
       record_ranges(sessions, begin.journal_id, summary.durable, task.absent)) {
    const SequenceRange kept = intersect(range, {summary.oldest, summary.durable});
    if (kept.is_empty()) continue;
    task.ranges.push_back(kept);
    summary.records += kept.last - kept.first + 1;
  }
  return task;
}

absl::Status Verifier::plan_absent(Task& task, const SessionLog& sessions) {
  const bool is_mirrored = sessions.sessions_of(task.files.journal_id).front().begin.is_mirrored();
  absl::StatusOr<AbsentContents> contents = AbsentContents{};
  if (is_mirrored) contents = inspect_absent(task.files);
  if (!contents.ok()) return contents.status();
  if (contents->damage) add(*contents->damage, true, kMirrorFetches);
  for (const AbsentCopyDefect& defect : contents->copy_defects) {
    // The newest entry may still be on its way from the first file to the copy.
    if (defect.index + 1 == contents->entries) continue;
    add({absent_path(task.files, defect.copy), defect.index * sizeof(AbsentEntry), kNoSequence,
         kNoSequence, "an entry is missing or damaged"},
        false, kMirrorRestores);
  }
  task.absent = with_voids(sessions, task.files.journal_id, contents->ranges);
  return absl::OkStatus();
}

// Plans a session that is running or not settled yet. Its sums show up to where it is durable.
absl::Status Verifier::plan_open_session(Task& task, const SessionRecord& session) {
  const auto walk = walk_open_session(task.files, task.retained, session, task.absent);
  if (!walk.ok()) return walk.status();
  task.summary.durable = walk->durable;
  // Damage up to durable is found again, block by block.
  if (walk->damage && walk->damage->first > walk->durable) add(*walk->damage, true, kRestoreOrEnd);
  return absl::OkStatus();
}

absl::StatusOr<bool> Verifier::was_pruned_meanwhile(const Task& task, Sequence n) const {
  const auto retained = list_retained(task.files);
  if (!retained.ok()) return retained.status();
  return n < retained->oldest;
}

absl::Status Verifier::verify_records(Task& task) {
  absl::Status failure;
  const DamageSink sink = [&](const JournalDamage& damage) {
    const auto pruned = was_pruned_meanwhile(task, damage.first);
    if (!pruned.ok()) {
      failure = pruned.status();
    } else if (!*pruned) {
      task.summary.damaged += damage.last - damage.first + 1;
      add(damage, true, kRestoreOrEnd);
    }
    return failure.ok();
  };
  const ProofProgress count = [&](std::uint64_t records) {
    done_ += records;
    if (progress_) progress_(done_, total_);
  };
  const SequenceRange all{task.summary.oldest, task.summary.durable};
  const absl::Status status =
      prove(task.files, task.ranges, all, ProofDepth::kRecords, sink, count);
  return status.ok() ? failure : status;
}

absl::Status Verifier::verify_indexes(const Task& task) {
  for (const std::uint64_t segment : task.retained.segments) {
    const auto index = inspect_index(task.files, segment);
    if (!index.ok()) return index.status();
    if (index->is_right()) continue;
    add({task.files.path(segment, "idx"), 0, kNoSequence, kNoSequence,
         index->missing ? std::string("the file is missing")
                        : absl::StrCat(index->invalid, " entries do not check")},
        false, kRepairRewrites);
  }
  return absl::OkStatus();
}

// Finds journals that are not in `sessions`: their entries were lost, or a start was killed before
// its first one.
absl::Status Verifier::find_strays(const std::vector<Task>& tasks) {
  const auto journals = list_journals(disk_, journal_root_);
  if (!journals.ok()) return journals.status();
  for (const JournalDirectory& journal : *journals) {
    const bool known = std::any_of(tasks.begin(), tasks.end(), [&](const Task& task) {
      return task.files.journal_id == journal.journal_id;
    });
    if (known) continue;
    add({journal.path, 0, kNoSequence, kNoSequence,
         absl::StrCat("no session names this journal of ", journal.segments.size(), " segments")},
        false, log_is_lost_ ? kRepairRebuilds : kMoveAway);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<VerifyReport> verify_journal(Disk& disk, const std::string& journal_root,
                                            const VerifyProgress& progress,
                                            const VerifyStart& start) {
  disk.anchor(journal_root);
  return Verifier(disk, journal_root, progress, start).run();
}

}  // namespace lapwing
