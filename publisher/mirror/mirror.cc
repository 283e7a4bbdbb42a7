#include "publisher/mirror/mirror.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/ring_file.h"
#include "lapwing/error.h"
#include "os/deadline.h"
#include "os/file_lock.h"
#include "proto/schema_label.h"
#include "proto/text_field.h"
#include "publisher/mirror/given_session.h"
#include "publisher/mirror/mirror_run.h"
#include "publisher/mirror/mirror_set_up.h"
#include "publisher/mirror/mirrored_session.h"
#include "publisher/mirror/settle_mirror.h"
#include "publisher/mirror/slot_comparison.h"
#include "publisher/publisher_options.h"
#include "snapshot/journal/retention_file.h"
#include "snapshot/recovery/settle_cut.h"
#include "snapshot/recovery/settle_ring.h"

namespace lapwing {
namespace {

absl::Status out_of_order(std::string what) {
  return make_error(Errc::kInvalidArgument, std::move(what));
}

absl::Status closed() {
  return make_error(Errc::kClosed, "the mirror was closed");
}

// The options of the bus, without those of a session.
PublisherSetUp bus_options(const MirrorSetUp& given) {
  PublisherSetUp options;
  options.directory = given.directory;
  options.ring_directory = given.ring_directory;
  options.journal_directory = given.journal_directory;
  options.huge_pages = given.huge_pages;
  options.sync_interval = given.sync_interval;
  options.retain_bytes = given.retain_bytes;
  options.retain_age = given.retain_age;
  options.on_journal_failure = OnJournalFailure::kStop;
  options.group = given.group;
  options.threads = given.threads;
  options.log = given.log;
  options.take_over_ns = given.take_over_ns;
  options.make_disk = given.make_disk;
  options.make_queue = given.make_queue;
  options.on_step = given.on_step;
  if (given.on_flush_wanted) options.on_flush_wanted = given.on_flush_wanted;
  return options;
}

class Mirror final : public MirrorWriter {
 public:
  Mirror(MirrorSetUp set_up, PublisherSetUp options, Locked bus, std::shared_ptr<SessionLog> log,
         MirroredJournal journal)
      : set_up_(std::move(set_up)),
        options_(std::move(options)),
        bus_(std::move(bus)),
        log_(std::move(log)),
        journal_(std::move(journal)) {
    list_sessions();
  }
  ~Mirror() override { close(Deadline::now()).IgnoreError(); }

  const std::vector<RelaySession>& sessions() const override { return sessions_; }
  Sequence next() const override { return run_ ? run_->head() + 1 : journal_.next; }
  Sequence durable() const override {
    return run_ ? run_->durable() : journal_.next - std::min<Sequence>(journal_.next, 1);
  }

  absl::Status begin(const MirrorBegin& begin) override;
  absl::Status put(Sequence first, std::span<const std::byte> records, std::uint64_t time_ns,
                   Deadline deadline) override;
  absl::Status put_absent(Sequence first, Sequence last, GapCause cause,
                          Deadline deadline) override;
  absl::Status end(const RelaySession& session, Deadline deadline) override;
  void set_origin(const MirrorOrigin& origin) override;
  absl::Status flush(Sequence through, Deadline deadline) override;
  absl::Status close(Deadline deadline) override;

 private:
  // A session that was begun and not ended. Its ring exists, except if it could not be made, or if
  // no more of its records will come.
  struct Current {
    GivenSession given;
    OriginState origin;
  };

  std::string journal_root() const { return bus_.places.journal_root(); }
  const RelaySession& session() const { return current_->given.session(); }
  JournalFiles files() const { return current_->given.files(*bus_.disk, journal_root()); }

  void list_sessions();
  absl::Status list(const GivenSession& given);
  absl::Status resume(const SessionRecord& listed, const RelaySession& session) const;
  absl::Status start_run();
  PublisherSetUp run_options() const;
  absl::StatusOr<SettledBus> bus_of_run() const;
  absl::Status end_run(bool was_closed);
  void apply_origin();
  void fail(const absl::Status& why);

  absl::Status check_order(Sequence first, std::uint64_t count) const;
  absl::Status compare(Sequence first, std::span<const std::byte> records) const;

  absl::Status check_end(const RelaySession& session) const;
  absl::Status finish_session(const RelaySession& session, Deadline deadline);
  absl::Status prove_part_of(const RelaySession& session);

  const MirrorSetUp set_up_;
  const PublisherSetUp options_;
  Locked bus_;
  std::shared_ptr<SessionLog> log_;
  MirroredJournal journal_;  // without the records of the run
  std::vector<RelaySession> sessions_;
  MirrorOrigin origin_;
  std::unique_ptr<Current> current_;
  std::unique_ptr<MirrorRun> run_;  // destroyed before `current_`, from which it borrows
  absl::Status failure_;            // final
  bool is_closed_ = false;
};

void Mirror::list_sessions() {
  sessions_.clear();
  for (const SessionRecord& listed : log_->sessions()) {
    sessions_.push_back(mirrored_session(listed));
  }
}

absl::Status Mirror::begin(const MirrorBegin& begin) {
  if (is_closed_) return closed();
  if (!failure_.ok()) return failure_;
  absl::StatusOr<GivenSession> given = GivenSession::check(begin);
  if (!given.ok()) return given.status();
  const SessionRecord* const listed = log_->find(begin.session.session_id);
  if (listed != nullptr) {
    if (absl::Status same = resume(*listed, begin.session); !same.ok()) return same;
  } else if (log_->last() != nullptr && !log_->last()->end) {
    return out_of_order(absl::StrCat("session ", log_->last()->begin.session_id.hex(),
                                     " has not ended: end it first"));
  } else {
    if (absl::Status ended = end_run(false); !ended.ok()) return ended;
    current_.reset();
    if (absl::Status done = list(*given); !done.ok()) return done;
  }
  if (current_ != nullptr) {
    current_->given = *std::move(given);  // the session may have ended since
  } else {
    current_.reset(new Current{*std::move(given), OriginState(journal_.absent)});
  }
  apply_origin();
  return start_run();
}

// Whether a listed session may be begun again.
absl::Status Mirror::resume(const SessionRecord& listed, const RelaySession& session) const {
  const std::string difference = session_difference(mirrored_session(listed), session);
  if (!difference.empty()) return contradiction(session.session_id, difference);
  if (!listed.end) return absl::OkStatus();
  return out_of_order(absl::StrCat("session ", session.session_id.hex(), " has ended: begin the ",
                                   "next session of the origin"));
}

// Writes the session's files, and then its row.
absl::Status Mirror::list(const GivenSession& given) {
  set_up_.on_step("list-session");
  const JournalFiles files = given.files(*bus_.disk, journal_root());
  const bool is_new = log_->sessions_of(files.journal_id).empty();
  if (absl::Status kept = given.keep(*bus_.disk, journal_root(), is_new); !kept.ok()) return kept;
  const absl::Status listed = log_->append(mirrored_begin(given.session()));
  if (!listed.ok()) return listed;
  list_sessions();
  absl::StatusOr<MirroredJournal> journal = look_at_mirror(*bus_.disk, journal_root(), *log_);
  if (!journal.ok()) return journal.status();
  journal_ = *std::move(journal);
  return absl::OkStatus();
}

PublisherSetUp Mirror::run_options() const {
  PublisherSetUp options = options_;
  current_->given.describe(options, set_up_.capacity);
  options.log = options.log_mark.around(std::move(options.log));
  return options;
}

absl::StatusOr<SettledBus> Mirror::bus_of_run() const {
  absl::StatusOr<Roster> roster = new_roster(options_.directory, session().session_id);
  if (!roster.ok()) return roster.status();
  const absl::StatusOr<Id128> boot = boot_id();
  if (!boot.ok()) return boot.status();
  SettledBus bus(Locked(bus_, run_options()));
  bus.begin = mirrored_begin(session());
  bus.begin.boot_id = *boot;  // of the ring
  bus.begin.first = journal_.next;
  bus.schema = current_->given.schema();
  bus.sessions = log_;
  bus.origin = &current_->origin;
  const auto retained = list_retained(files());
  if (!retained.ok()) return retained.status();
  bus.settled.oldest = std::min(retained->oldest, journal_.next);
  bus.settled.next = journal_.next;
  bus.roster = *std::move(roster);
  return bus;
}

// Makes a ring for the records that the current session still lacks, if there can be any.
absl::Status Mirror::start_run() {
  const bool is_complete = has_ended(session()) && journal_.next > session().last;
  if (run_ != nullptr || is_complete) return absl::OkStatus();
  apply_origin();
  absl::StatusOr<SettledBus> bus = bus_of_run();
  if (!bus.ok()) return bus.status();
  absl::StatusOr<StartedSession> started = start_settled(*std::move(bus));
  if (!started.ok()) return started.status();
  run_ = std::make_unique<MirrorRun>(*std::move(started), current_->origin);
  if (absl::Status status = run_->start(); !status.ok()) {
    run_.reset();
    return status;
  }
  apply_origin();
  return absl::OkStatus();
}

// Ends archiving and removes the ring. What is not durable then is given again.
absl::Status Mirror::end_run(bool was_closed) {
  if (run_ == nullptr) return absl::OkStatus();
  absl::Status status = run_->end_journal();
  if (!status.ok()) fail(status);
  journal_.next = std::max(journal_.next, run_->durable() + 1);
  status.Update(run_->end_ring(was_closed));
  run_.reset();
  return status;
}

// A failed write or sync is not repeated: a later sync may succeed without the lost bytes.
void Mirror::fail(const absl::Status& why) {
  if (!failure_.ok()) return;
  failure_ =
      make_error(Errc::kJournalFailed, absl::StrCat("the mirror has failed: ", why.message()));
}

void Mirror::set_origin(const MirrorOrigin& origin) {
  origin_ = origin;
  if (current_ != nullptr) apply_origin();
}

void Mirror::apply_origin() {
  const bool is_newest = origin_.session_id == session().session_id;
  Sequence durable = is_newest ? origin_.durable : 0;
  if (has_ended(session())) durable = session().last;
  if (run_ == nullptr) return current_->origin.raise_durable(durable);
  run_->raise_origin_durable(durable);
  if (is_newest && origin_.publisher == RelayPublisherState::kDead) run_->leave_readers();
}

absl::Status Mirror::put(Sequence first, std::span<const std::byte> records, std::uint64_t time_ns,
                         Deadline deadline) {
  if (!failure_.ok()) return failure_;
  if (current_ == nullptr) return out_of_order("records were given before their session");
  const std::uint32_t record_bytes = session().record_bytes;
  if (records.empty() || records.size() % record_bytes != 0) {
    return make_error(
        Errc::kRecordSize,
        absl::StrCat(records.size(), " bytes are not whole records of ", record_bytes, " bytes"));
  }
  const std::uint64_t count = records.size() / record_bytes;
  if (absl::Status order = check_order(first, count); !order.ok()) return order;
  const std::uint64_t known = std::min(count, next() - first);
  const absl::Status same = compare(first, records.first(known * record_bytes));
  if (!same.ok() || known == count) return same;
  if (absl::Status started = start_run(); !started.ok()) return started;
  current_->origin.note_time(first + count - 1, time_ns);
  return run_->put(records.subspan(known * record_bytes), deadline);
}

absl::Status Mirror::check_order(Sequence first, std::uint64_t count) const {
  if (first < 1 || first > next()) {
    return out_of_order(absl::StrCat("the records from ", first, " do not continue the mirror, ",
                                     "which needs ", next(), " next"));
  }
  const Sequence last = first + count - 1;
  const bool is_live = run_ != nullptr && log_->last()->end.has_value();  // the journal has failed
  const bool fits = !has_ended(session()) || last <= session().last;      // a void has no records
  if (is_live || last < next() || fits) return absl::OkStatus();
  return contradiction(
      session().session_id,
      absl::StrCat("record ", last, " is behind the end of the session, ", session().last));
}

// Compares records that the mirror has, in the ring or on disk.
absl::Status Mirror::compare(Sequence first, std::span<const std::byte> records) const {
  if (records.empty()) return absl::OkStatus();
  const std::uint32_t record_bytes = session().record_bytes;
  SlotComparison comparison(files());
  std::vector<std::byte> ours(record_bytes);
  for (std::size_t at = 0; at < records.size(); at += record_bytes, ++first) {
    const std::span<const std::byte> theirs = records.subspan(at, record_bytes);
    const bool in_ring = run_ != nullptr && run_->load(first, ours.data());
    const absl::StatusOr<bool> same =
        in_ring ? std::ranges::equal(ours, theirs) : comparison.is_same(first, theirs);
    if (!same.ok()) return same.status();
    if (!*same) {
      return contradiction(session().session_id,
                           absl::StrCat("record ", first, " differs from the origin's"));
    }
  }
  return absl::OkStatus();
}

absl::Status Mirror::put_absent(Sequence first, Sequence last, GapCause cause, Deadline deadline) {
  if (!failure_.ok()) return failure_;
  if (current_ == nullptr) return out_of_order("an absence was given before its session");
  if (log_->last()->end) return out_of_order("the origin's journal has failed: it has no absences");
  const Sequence session_last = last_used(session());
  const bool is_whole = last % files().geometry.block_slots() == 0 || last == session_last;
  if (first != next() || last < first || last > session_last || !is_whole) {
    return out_of_order(absl::StrCat("an absence from ", first, " to ", last,
                                     " does not continue the mirror, which needs ", next(),
                                     " next, up to the end of a block or of the session"));
  }
  const bool is_newest = origin_.session_id == session().session_id;
  if (is_newest && !has_ended(session()) && last > origin_.head) {
    return make_error(Errc::kTimedOut,
                      absl::StrCat("an absence up to ", last, " ends behind the origin's newest ",
                                   "record, ", origin_.head, ": try again when there are more"));
  }
  if (run_ != nullptr && first > run_->first()) {
    if (absl::Status durable = run_->flush(first - 1, deadline); !durable.ok()) return durable;
  }
  if (absl::Status ended = end_run(false); !ended.ok()) return ended;
  absl::StatusOr<AbsentFile> file = AbsentFile::open(files());
  if (!file.ok()) return file.status();
  const AbsentRange range{first, last, cause};
  if (absl::Status added = file->append(range, session_last); !added.ok()) {
    // The row may be on disk or not. So its sequences must get no records.
    if (errc_of(added) != Errc::kNoSpace) fail(added);
    return added;
  }
  journal_.absent.push_back(range);
  journal_.next = last + 1;
  current_.reset(new Current{std::move(current_->given), OriginState(journal_.absent)});
  // The absence is recorded. If the new ring cannot be made, put() tries again.
  const absl::Status started = start_run();
  if (!started.ok()) {
    options_.log(log_entry(
        LogEvent::kJournalTrouble,
        absl::StrCat("the ring behind an absence cannot be made yet: ", started.message())));
  }
  return absl::OkStatus();
}

absl::Status Mirror::check_end(const RelaySession& session) const {
  if (!has_ended(session) || session.end_hash == 0) {
    return out_of_order(absl::StrCat("session ", session.session_id.hex(), " has no end to adopt"));
  }
  if (session.last + 1 > next()) {
    return out_of_order(absl::StrCat("session ", session.session_id.hex(), " ends at ",
                                     session.last, ", and the mirror needs ", next(), " next"));
  }
  const bool may_lose = session.how == SessionEnd::kCut || session.how == SessionEnd::kFailed ||
                        session.how == SessionEnd::kUpstream;
  const bool has_records = run_ != nullptr && run_->head() >= run_->first();
  if (!has_records || run_->head() <= session.last) return absl::OkStatus();
  // Proven records cannot be taken back.
  if (may_lose && run_->durable() <= session.last) return absl::OkStatus();
  return contradiction(session.session_id, absl::StrCat("it ended at ", session.last,
                                                        ", and the mirror has ", run_->head()));
}

absl::Status Mirror::end(const RelaySession& session, Deadline deadline) {
  if (is_closed_) return closed();
  if (!failure_.ok()) return failure_;
  const SessionRecord* const listed = log_->find(session.session_id);
  if (listed == nullptr) {
    return out_of_order(absl::StrCat("session ", session.session_id.hex(), " was not begun"));
  }
  const std::string difference = session_difference(mirrored_session(*listed), session);
  if (!difference.empty()) return contradiction(session.session_id, difference);
  if (listed->end) return absl::OkStatus();
  if (absl::Status fits = check_end(session); !fits.ok()) return fits;
  absl::Status status = finish_session(session, deadline);
  if (status.ok()) status = log_->append(mirrored_end(session));
  if (!status.ok()) return status;
  list_sessions();
  if (run_ != nullptr && session.how == SessionEnd::kFailed) {
    run_->continue_without_journal(static_cast<int>(session.sys_errno));
    return absl::OkStatus();
  }
  status = end_run(session.how == SessionEnd::kClosed);
  current_.reset();
  journal_.next = log_->last()->end->next();
  if (!status.ok()) {
    options_.log(log_entry(LogEvent::kCloseFailed, std::string(status.message())));
  }
  return absl::OkStatus();
}

// Makes everything up to the end of the session durable, and nothing behind it.
absl::Status Mirror::finish_session(const RelaySession& session, Deadline deadline) {
  if (run_ == nullptr) return absl::OkStatus();
  run_->raise_origin_durable(session.last);
  if (run_->first() > session.last + 1) return run_->end_journal();  // an absence ended there
  const bool is_ahead = run_->head() > session.last;
  const Sequence whole = files().geometry.floor_block(session.last);
  absl::Status status = run_->flush(is_ahead ? whole : session.last, deadline);
  if (status.ok()) status = run_->end_journal();
  if (status.ok() && is_ahead) status = prove_part_of(session);
  return status;
}

// The mirror has more than the session. Keeps what the origin lost in a power cut, and proves the
// part of the last block that belongs to the session: its sum must not cover more.
absl::Status Mirror::prove_part_of(const RelaySession& session) {
  const JournalFiles journal = files();
  const SessionRecord& listed = *log_->last();
  std::vector<LogEntry> log;
  absl::Status status;
  if (session.how != SessionEnd::kFailed) {
    run_->leave_readers();  // before records are zeroed, which they would report as damaged
    status =
        cut_journal(journal, {listed.first(), session.last, session.last, session.session_id}, log);
  }
  for (const LogEntry& entry : log) options_.log(entry);
  if (!status.ok()) return status;
  const RingFile& ring = *run_->session().ring;
  const RingImage image{ring.header(), &ring.words(), ring.slots()};
  return RingTail(journal, image, journal_.absent)
      .write(run_->durable(), session.last, get_schema(mirrored_begin(session)),
             listed.begin.wall_ns);
}

absl::Status Mirror::flush(Sequence through, Deadline deadline) {
  if (through >= next()) {
    return out_of_order(absl::StrCat("sequence ", through, " was not given yet"));
  }
  if (run_ == nullptr || through < run_->first()) return absl::OkStatus();
  if (log_->last()->end && through > log_->last()->end->last) {
    return make_error(
        Errc::kJournalFailed,
        absl::StrCat("the origin's journal has failed after sequence ", log_->last()->end->last));
  }
  return run_->flush(through, deadline);
}

absl::Status Mirror::close(Deadline deadline) {
  if (std::exchange(is_closed_, true)) return absl::OkStatus();
  if (run_ != nullptr) {
    const Sequence durable = current_->origin.durable();
    const Sequence provable =
        run_->head() <= durable ? run_->head() : files().geometry.floor_block(durable);
    run_->flush(provable, deadline).IgnoreError();
  }
  const absl::Status status = end_run(false);
  current_.reset();
  // As in SessionCloser: the kernel, or a child that was just forked, may still have descriptors.
  for (const FileHandle file : log_->held_files()) unlock_whole_file(file);
  for (const ExclusiveLock& lock : *bus_.locks) lock.give_up();
  bus_.locks->clear();
  return status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<MirrorWriter>> open_mirror(MirrorOptions options) {
  return open_mirror_with_seams({std::move(options)});
}

absl::StatusOr<std::unique_ptr<MirrorWriter>> open_mirror_with_seams(MirrorSetUp set_up) {
  PublisherSetUp options = bus_options(set_up);
  if (absl::Status valid = settle_options(options); !valid.ok()) return valid;
  absl::StatusOr<Locked> bus = lock_directories(options);
  if (!bus.ok()) return bus.status();
  const std::string root = bus->places.journal_root();
  absl::StatusOr<SessionLog> opened =
      SessionLog::open_mirror(*bus->disk, root, set_up.take_over_ns);
  if (!opened.ok()) return opened.status();
  auto log = std::make_shared<SessionLog>(*std::move(opened));
  // The ring first, so that no reader finds it while its records are zeroed.
  absl::Status removed = bus->left_rings.remove_all_but("", "", LeftRings::Foreign::kIgnore);
  if (!removed.ok()) return removed;
  options.on_step("settle");
  std::vector<LogEntry> done;
  absl::StatusOr<MirroredJournal> journal = settle_mirror(*bus->disk, root, *log, done);
  for (const LogEntry& entry : done) options.log(entry);
  if (!journal.ok()) return journal.status();
  return std::make_unique<Mirror>(std::move(set_up), std::move(options), *std::move(bus),
                                  std::move(log), *std::move(journal));
}

}  // namespace lapwing
