#include "publisher/mirror/settle_mirror.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/page.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/retention_file.h"
#include "snapshot/journal/sum_file.h"
#include "snapshot/journal/sum_walk.h"
#include "snapshot/recovery/settle_cut.h"

namespace lapwing {
namespace {

bool is_absent(const MirroredJournal& journal, Sequence n) {
  return std::ranges::any_of(journal.absent,
                             [n](const AbsentRange& range) { return range.contains(n); });
}

// The first sequence that the open session may contain: behind the newest absence, and not pruned.
Sequence first_possible(const MirroredJournal& journal, const SessionRecord& session) {
  const Sequence behind = journal.absent.empty() ? 1 : journal.absent.back().last + 1;
  return std::max({session.first(), behind, journal.oldest});
}

// The newest sequence below `next` that has a record; 0 if there is none.
Sequence last_present(const SessionLog& sessions, const MirroredJournal& journal) {
  const Id128& id = sessions.last()->begin.journal_id;
  Sequence n = journal.next - 1;
  for (bool moved = true; moved && n >= journal.oldest;) {
    Sequence first = 0;
    Sequence last = 0;
    moved = sessions.in_void(id, n, first, last);
    for (const AbsentRange& range : journal.absent) {
      if (!range.contains(n)) continue;
      moved = true;
      first = range.first;
    }
    if (moved) n = first - 1;
  }
  return n >= journal.oldest ? n : 0;
}

// Checks the block in which the journal continues, because a rewrite would give damage a new sum.
class TailBlock {
 public:
  TailBlock(const JournalFiles& files, const MirroredJournal& journal)
      : files_(files),
        journal_(journal),
        block_(files.geometry.block_of(journal.next)),
        first_(files.geometry.block_first(block_)) {}

  Sequence first() const { return first_; }

  // Whether every record before `next` in the block is proven.
  absl::StatusOr<bool> is_sound() const {
    if (first_ == journal_.next) return true;
    const absl::StatusOr<Sequence> proven = proven_through();
    if (!proven.ok()) return proven.status();
    for (Sequence n = *proven + 1; n < journal_.next; ++n) {
      if (!is_absent(journal_, n)) return false;
    }
    return true;
  }

  absl::Status damage() const {
    return make_error(
        Errc::kDamaged,
        absl::StrCat(files_.path(files_.geometry.segment_of(first_), "jnl"), ", offset ",
                     files_.geometry.offset_of(first_), ": the records ", first_, " to ",
                     journal_.next - 1,
                     " are damaged, and the mirror would continue behind them. Run `lapwing relay "
                     "check --mend`, which fetches them again."));
  }

 private:
  absl::StatusOr<Sequence> proven_through() const {
    const JournalGeometry& geometry = files_.geometry;
    const std::uint64_t segment = geometry.segment_of(first_);
    SumEntry sum{};
    absl::Status read = this->read(segment, "sum", sum_offset(geometry, block_),
                                   std::as_writable_bytes(std::span(&sum, 1)));
    if (!read.ok()) return read;
    if (check_sum_entry(files_.journal_id, block_, sum, geometry) != SumState::kValid) {
      return first_ - 1;
    }
    Page page{};
    read = this->read(segment, "jnl", geometry.offset_of(first_), page.bytes);
    if (!read.ok()) return read;
    return sum_matches(sum, page.bytes, geometry) ? first_ + sum.count - 1 : first_ - 1;
  }

  // Leaves zeros where the file is missing or ends.
  absl::Status read(std::uint64_t segment, const char* suffix, std::uint64_t offset,
                    std::span<std::byte> out) const {
    const auto file = open_file(*files_.disk, files_.path(segment, suffix), {OpenMode::kRead});
    if (errc_of(file.status()) == Errc::kNotFound) return absl::OkStatus();
    if (!file.ok()) return file.status();
    return files_.disk->read_at(file->get(), offset, out).status();
  }

  const JournalFiles& files_;
  const MirroredJournal& journal_;
  const std::uint64_t block_;
  const Sequence first_;
};

absl::Status check_tail(const JournalFiles& files, const SessionRecord& session,
                        MirroredJournal& journal, std::vector<LogEntry>& log) {
  const TailBlock tail(files, journal);
  const absl::StatusOr<bool> is_sound = tail.is_sound();
  if (!is_sound.ok()) return is_sound.status();
  if (*is_sound) return absl::OkStatus();
  if (tail.first() < first_possible(journal, session)) return tail.damage();
  log.push_back(log_entry(LogEvent::kJournalTrouble, std::string(tail.damage().message())));
  journal.next = tail.first();
  return absl::OkStatus();
}

LogEntry settled(const SessionRecord& session, Sequence next) {
  return log_entry(LogEvent::kJournalContinues,
                   absl::StrCat("session ", session.begin.session_id.hex(),
                                " of the origin continues at sequence ", next),
                   {{"session", session.begin.session_id.hex()}, {"next", next}});
}

}  // namespace

absl::StatusOr<MirroredJournal> look_at_mirror(Disk& disk, const std::string& journal_root,
                                               const SessionLog& sessions) {
  MirroredJournal journal;
  const SessionRecord* const session = sessions.last();
  if (session == nullptr) return journal;
  const JournalFiles files = journal_files_of(disk, journal_root, session->begin);
  const auto retained = list_retained(files);
  if (!retained.ok()) return retained.status();
  auto absent = read_absent(files);
  if (!absent.ok()) return absent.status();
  journal.oldest = retained->oldest;
  journal.absent = *std::move(absent);
  if (session->end) {
    journal.next = session->end->next();
    return journal;
  }
  const auto walk = walk_open_session(files, *retained, *session, journal.absent);
  if (!walk.ok()) return walk.status();
  journal.next = walk->durable + 1;
  return journal;
}

absl::StatusOr<MirroredJournal> settle_mirror(Disk& disk, const std::string& journal_root,
                                              const SessionLog& sessions,
                                              std::vector<LogEntry>& log) {
  absl::StatusOr<MirroredJournal> journal = look_at_mirror(disk, journal_root, sessions);
  const SessionRecord* const session = sessions.last();
  if (!journal.ok() || session == nullptr || session->end) return journal;
  const JournalFiles files = journal_files_of(disk, journal_root, session->begin);
  absl::Status status = check_tail(files, *session, *journal, log);
  if (!status.ok()) return status;
  const Cut cut{session->first(), journal->next - 1, last_present(sessions, *journal),
                session->begin.session_id, Beyond::kDiscard};
  status = cut_journal(files, cut, log);
  if (!status.ok()) return status;
  log.push_back(settled(*session, journal->next));
  return journal;
}

}  // namespace lapwing
