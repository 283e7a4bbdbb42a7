#include "snapshot/recovery/recovery.h"

#include <algorithm>
#include <cstring>
#include <ranges>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "proto/ring_words.h"
#include "proto/schema_label.h"
#include "proto/slot_stamp.h"
#include "proto/text_field.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/journal_proof.h"
#include "snapshot/journal/retention_file.h"
#include "snapshot/journal/sum_file.h"
#include "snapshot/journal/sum_walk.h"
#include "snapshot/recovery/obstacles.h"
#include "snapshot/recovery/settle_cut.h"
#include "snapshot/recovery/settle_decision.h"
#include "snapshot/recovery/settle_ring.h"

namespace lapwing {
namespace {

// The contents of page 1 of the ended session's ring.
struct RingWordsSeen {
  Sequence head = 0;
  Sequence durable = 0;
  JournalState journal = JournalState::kNone;
};

LogEntry described(Settlement how, const Id128& session_id, const EndOfSession& end) {
  LogEvent event = LogEvent::kJournalContinues;
  std::string line = absl::StrCat("session ", session_id.hex());
  if (how == Settlement::kContinued) {
    absl::StrAppend(&line, " had ended after sequence ", end.last);
  } else if (how == Settlement::kRecovered) {
    event = LogEvent::kJournalRecovered;
    absl::StrAppend(&line, " was killed; with what its ring file held it ends after sequence ",
                    end.last);
  } else {
    event = LogEvent::kJournalCut;
    absl::StrAppend(&line, " ended with a power cut, or its ring file is gone; cut after sequence ",
                    end.last);
  }
  LogEntry entry =
      log_entry(event, std::move(line), {{"session", session_id.hex()}, {"last", end.last}});
  if (end.void_last != 0) {
    absl::StrAppend(&entry.message, "; ", end.void_first, " to ", end.void_last,
                    " will never exist");
    entry.fields.push_back({"void_first", end.void_first});
    entry.fields.push_back({"void_last", end.void_last});
  }
  return entry;
}

class Settler {
 public:
  Settler(Disk& disk, const std::string& journal_root, SessionLog& sessions, const Id128& boot_id)
      : disk_(disk), journal_root_(journal_root), sessions_(sessions), boot_id_(boot_id) {}

  // Examines everything and changes nothing.
  absl::Status look(const RingOpener& open_ring);
  // Takes the action that the table requires.
  absl::StatusOr<Settled> act();
  // The first damage found, as an error.
  absl::Status refusal() const;

 private:
  absl::Status look_at_ring(const RingOpener& open_ring);
  absl::Status open_ring_of_session(const RingOpener& open_ring);
  absl::Status look_at_sums();
  void look_for_broken_promise(Sequence walked);
  absl::Status look_at_files();
  absl::Status look_at_tail();
  absl::Status look_for_obstacles();
  bool ring_is_ours(const RingHeader& header) const;
  bool ring_is_sane() const;

  absl::Status restore_lengths();
  absl::Status end_unused();
  absl::Status end_failed();
  Sequence published_in_ring() const;
  void record_published();
  absl::Status recover();
  absl::Status cut();

  Settled new_journal(Settlement how) const;
  absl::StatusOr<Settled> continued(Settlement how) const;

  Sequence first() const { return session_->first(); }
  std::string session_name() const {
    return absl::StrCat("session ", session_->begin.session_id.hex());
  }

  Disk& disk_;
  const std::string& journal_root_;
  SessionLog& sessions_;
  const Id128 boot_id_;

  SettleFacts facts_;
  std::optional<SessionRecord> session_;  // the last session, as found
  JournalFiles files_;
  Sequence oldest_ = 1;                // the oldest sequence that retention keeps
  Sequence durable_ = 0;               // by sums, or by the session's end
  std::vector<SequenceRange> ranges_;  // of records, up to durable_
  std::optional<RingImage> ring_;
  RingWordsSeen words_;
  Sequence recovered_last_ = 0;
  std::optional<JournalDamage> damage_;
  std::vector<Obstacle> wrong_lengths_;
  std::optional<std::pair<Sequence, Sequence>> new_void_;
  std::vector<LogEntry> log_;
};

absl::Status Settler::look(const RingOpener& open_ring) {
  const SessionRecord* const last = sessions_.last();
  if (last == nullptr) return absl::OkStatus();
  session_ = *last;
  facts_.has_session = true;
  facts_.has_reservation = last->reserved_through != 0;
  facts_.end = last->end ? last->end->how : SessionEnd::kNone;
  files_ = journal_files_of(disk_, journal_root_, last->begin);
  if (facts_.end == SessionEnd::kFailed) {
    // The ring is needed only to show how far live delivery got.
    open_ring_of_session(open_ring).IgnoreError();
    return absl::OkStatus();
  }
  absl::Status status = look_at_ring(open_ring);
  if (!status.ok() || (facts_.same_boot && facts_.ring_failed)) return status;
  status = look_at_sums();
  if (status.ok() && !damage_) status = look_at_files();
  if (status.ok() && !damage_ && facts_.has_ring) status = look_at_tail();
  facts_.damaged = damage_.has_value();
  return status.ok() && !damage_ ? look_for_obstacles() : status;
}

// Searches the segments in which the journal continues. Their records are verified by now.
absl::Status Settler::look_for_obstacles() {
  auto found = find_obstacles(files_, files_.geometry.segment_of(std::max(durable_, Sequence{1})));
  if (!found.ok()) return found.status();
  for (Obstacle& obstacle : *found) {
    if (obstacle.kind == Obstacle::Kind::kNotAFile) return obstacle.refusal();
    wrong_lengths_.push_back(std::move(obstacle));
  }
  return absl::OkStatus();
}

bool Settler::ring_is_ours(const RingHeader& header) const {
  const SessionBegin& begin = session_->begin;
  return header.session_id == begin.session_id && header.journal_id == begin.journal_id &&
         header.slot_bytes == begin.slot_bytes && header.record_bytes == begin.record_bytes;
}

// A session with an end does not need a ring. Another session's ring has published nothing.
absl::Status Settler::look_at_ring(const RingOpener& open_ring) {
  facts_.same_boot = session_->begin.boot_id == boot_id_;
  return session_->end ? absl::OkStatus() : open_ring_of_session(open_ring);
}

absl::Status Settler::open_ring_of_session(const RingOpener& open_ring) {
  facts_.same_boot = session_->begin.boot_id == boot_id_;
  const std::string& path = sessions_.ring_path();
  if (!facts_.same_boot || path.empty()) return absl::OkStatus();
  auto ring = open_ring(path);
  if (errc_of(ring.status()) == Errc::kInUse) return ring.status();
  if (!ring.ok()) {
    return make_error(
        errc_of(ring.status()),
        absl::StrCat("the ring file of the killed ", session_name(),
                     " cannot be read: ", std::string(ring.status().message()), "; with ", path,
                     " moved away the journal is cut at what is durable"));
  }
  if (!ring->has_value() || !ring_is_ours((*ring)->header)) return absl::OkStatus();
  ring_ = *std::move(ring);
  words_ = {load_head(*ring_->words), load_durable(*ring_->words),
            load_journal_condition(*ring_->words).state};
  facts_.has_ring = true;
  facts_.ring_failed =
      words_.journal == JournalState::kFailed || words_.journal == JournalState::kShed;
  return absl::OkStatus();
}

absl::Status Settler::look_at_sums() {
  const auto retained = list_retained(files_);
  if (!retained.ok()) return retained.status();
  const Sequence through = session_->end ? session_->end->last : session_->reserved_through;
  const auto walk = walk_sums(files_, retained->segments, first(), through);
  if (!walk.ok()) return walk.status();
  damage_ = walk->damage;
  durable_ = session_->end ? session_->end->last : walk->durable;
  oldest_ = retained->oldest;
  if (!damage_) look_for_broken_promise(walk->durable);
  return absl::OkStatus();
}

// The session's end, or page 1 of the ring, states what was durable. Checks that the sums cover all
// of it, and that retention, which removes only whole durable segments, has kept the rest.
void Settler::look_for_broken_promise(Sequence walked) {
  const Sequence promised = session_->end ? session_->end->last : words_.durable;
  const JournalGeometry& geometry = files_.geometry;
  if (walked < promised && oldest_ <= promised) {
    const std::uint64_t block = geometry.block_of(walked + 1);
    damage_ = JournalDamage{files_.path(geometry.segment_of(walked + 1), "sum"),
                            sum_offset(geometry, block), walked + 1, promised,
                            "the sums of what was announced as durable are missing"};
  }
  if (facts_.has_ring && oldest_ > promised + 1) {
    damage_ = JournalDamage{files_.path(geometry.segment_of(promised + 1), "jnl"), 0, promised + 1,
                            oldest_ - 1, "the segment is missing"};
  }
}

absl::Status Settler::look_at_files() {
  const JournalGeometry& geometry = files_.geometry;
  ranges_ = record_ranges(sessions_, files_.journal_id, durable_);
  if (ranges_.empty()) return absl::OkStatus();
  const DamageSink first_damage = [this](const JournalDamage& damage) {
    damage_ = damage;
    return false;
  };
  // The blocks that are rewritten from the ring, and the very last block, are verified completely.
  Sequence tail = ranges_.back().last;
  if (facts_.has_ring) tail = std::min(tail, words_.durable + 1);
  const SequenceRange journal{oldest_, durable_};
  const SequenceRange session{std::max(oldest_, first()), durable_};
  const SequenceRange tail_segments{
      std::max(oldest_, geometry.segment_first(geometry.segment_of(tail))), durable_};
  absl::Status status = prove(files_, ranges_, journal, ProofDepth::kNames, first_damage);
  if (status.ok() && !damage_) {
    status = prove(files_, ranges_, session, ProofDepth::kHeaders, first_damage);
  }
  if (status.ok() && !damage_) {
    status = prove(files_, ranges_, tail_segments, ProofDepth::kRecords, first_damage);
  }
  return status;
}

bool Settler::ring_is_sane() const {
  return words_.durable + 1 >= first() && words_.durable <= words_.head;
}

absl::Status Settler::look_at_tail() {
  if (!ring_is_sane()) return absl::OkStatus();
  RingTail tail(files_, *ring_);
  const auto last = tail.find_end(words_.durable);
  if (!last.ok()) return last.status();
  recovered_last_ = *last;
  facts_.tail_is_whole = *last >= std::max(words_.head, durable_) &&
                         (*last < first() || *last <= session_->reserved_through);
  return absl::OkStatus();
}

absl::StatusOr<Settled> Settler::act() {
  const auto then = [this](const absl::Status& done, Settlement how) -> absl::StatusOr<Settled> {
    if (!done.ok()) return done;
    return how == Settlement::kReset ? new_journal(how) : continued(how);
  };
  const SettleRow row = decide(facts_);
  if (row != SettleRow::kFail) {  // kFail does not change its journal; kRefuse and kFresh have none
    if (absl::Status restored = restore_lengths(); !restored.ok()) return restored;
  }
  switch (row) {
    case SettleRow::kRefuse:
      return refusal();
    case SettleRow::kFresh:
      return new_journal(Settlement::kFresh);
    case SettleRow::kReset:
      record_published();
      return new_journal(Settlement::kReset);
    case SettleRow::kContinue:
      return continued(Settlement::kContinued);
    case SettleRow::kFail:
      return then(end_failed(), Settlement::kReset);
    case SettleRow::kUnused:
      return then(end_unused(), Settlement::kRecovered);
    case SettleRow::kRecover:
      return then(recover(), Settlement::kRecovered);
    case SettleRow::kCut:
      return then(cut(), Settlement::kCut);
  }
  return make_error(Errc::kSystem, "the recovery table has no such row");
}

absl::Status Settler::refusal() const {
  if (!damage_) return absl::OkStatus();
  return make_error(Errc::kDamaged,
                    absl::StrCat(damage_->text(), ", `lapwing repair` repairs what it can"));
}

// Corrects files that copying truncated or extended. Records are not affected.
absl::Status Settler::restore_lengths() {
  for (const Obstacle& obstacle : wrong_lengths_) {
    const absl::Status restored = remove_obstacle(disk_, obstacle, {});
    if (!restored.ok()) return restored;
    log_.push_back(log_entry(LogEvent::kJournalTrouble,
                             absl::StrCat(obstacle.path, ": ", obstacle.what(),
                                          "; its records are intact, and its length is restored"),
                             {{"path", obstacle.path}}));
  }
  return absl::OkStatus();
}

absl::Status Settler::end_unused() {
  return sessions_.append_end(SessionEnd::kRecovered, first() - 1);
}

// Ends the session at the last record that was announced as durable before the failure. Later
// records are uncertain.
absl::Status Settler::end_failed() {
  const Sequence reserved = std::max(session_->reserved_through, first() - 1);
  const absl::Status ended =
      sessions_.append_end(SessionEnd::kFailed, std::clamp(words_.durable, first() - 1, reserved));
  if (ended.ok()) record_published();
  return ended;
}

// Head, plus any records of a batch that head does not cover yet.
Sequence Settler::published_in_ring() const {
  const RingHeader& header = ring_->header;
  Sequence last = words_.head;
  for (std::uint64_t beyond = 0; beyond < header.capacity; ++beyond) {
    Word stamp;
    std::memcpy(&stamp, ring_->slots + last % header.capacity * header.slot_bytes, sizeof stamp);
    if (stamp != ready_stamp(last + 1)) break;
    ++last;
  }
  return last;
}

// Stores the newest published sequence according to the ring, because the start later removes the
// ring. Later readers report the missing records as lost. If it fails, the start continues.
void Settler::record_published() {
  if (!ring_ || published_in_ring() <= sessions_.last()->end->last) return;
  absl::StatusOr<RetentionFile> file = RetentionFile::open(files_);
  absl::Status status = file.ok() ? file->write_published(published_in_ring()) : file.status();
  if (status.ok()) status = disk_.sync(file->get());
  if (!status.ok()) {
    log_.push_back(
        log_entry(LogEvent::kJournalTrouble,
                  absl::StrCat("later readers will not report records up to ", published_in_ring(),
                               " as lost, because the last published record could not be stored: ",
                               status.message())));
  }
}

absl::Status Settler::recover() {
  RingTail tail(files_, *ring_);
  const absl::Status status = tail.write(words_.durable, recovered_last_,
                                         get_schema(session_->begin), session_->begin.wall_ns);
  return status.ok() ? sessions_.append_end(SessionEnd::kRecovered, recovered_last_) : status;
}

absl::Status Settler::cut() {
  const Cut what{first(), durable_, ranges_.empty() ? 0 : ranges_.back().last,
                 session_->begin.session_id};
  const absl::Status status = cut_journal(files_, what, log_);
  if (!status.ok()) return status;
  const Sequence reserved = session_->reserved_through;
  if (durable_ == reserved) return sessions_.append_end(SessionEnd::kCut, durable_);
  new_void_ = {durable_ + 1, reserved};
  return sessions_.append_end(SessionEnd::kCut, durable_, reserved);
}

Settled Settler::new_journal(Settlement how) const {
  Settled settled;
  settled.how = how;
  if (!session_) {
    settled.log = {
        log_entry(LogEvent::kJournalBegins, "no journal yet: a new one begins at sequence 1")};
    return settled;
  }
  settled.ring_path = sessions_.ring_path();
  const std::string journal = session_->begin.journal_id.hex();
  const Sequence last = sessions_.last()->end->last;
  settled.log = log_;
  settled.log.push_back(
      log_entry(LogEvent::kJournalAbandoned,
                absl::StrCat("journal ", journal, " ended as failed after sequence ", last,
                             ": a new journal begins at sequence 1, and readers get the old one "
                             "first"),
                {{"journal", journal}, {"last", last}}));
  return settled;
}

absl::StatusOr<Settled> Settler::continued(Settlement how) const {
  const EndOfSession& end = *sessions_.last()->end;
  Settled settled;
  settled.how = how;
  settled.journal_id = files_.journal_id;
  settled.geometry = files_.geometry;
  settled.next = end.next();
  settled.ring_path = sessions_.ring_path();
  settled.new_void = new_void_;
  const auto retained = list_retained(files_);
  if (!retained.ok()) return retained.status();
  settled.oldest = std::min(retained->oldest, settled.next);
  const auto ranges = record_ranges(sessions_, files_.journal_id, end.last);
  if (!ranges.empty() && ranges.back().last >= settled.oldest) {
    settled.last_present = ranges.back().last;
  }
  for (const SessionRecord& session : sessions_.sessions_of(files_.journal_id)) {
    settled.last_void = std::max(settled.last_void, session.end->void_last);
  }
  settled.log = log_;
  settled.log.push_back(described(how, session_->begin.session_id, end));
  return settled;
}

}  // namespace

absl::StatusOr<Settled> settle(Disk& disk, const std::string& journal_root, SessionLog& sessions,
                               const Id128& boot_id, const RingOpener& open_ring) {
  Settler settler(disk, journal_root, sessions, boot_id);
  const absl::Status looked = settler.look(open_ring);
  if (!looked.ok()) return looked;
  return settler.act();
}

absl::Status check_settle(Disk& disk, const std::string& journal_root, SessionLog& sessions,
                          const Id128& boot_id, const RingOpener& open_ring) {
  Settler settler(disk, journal_root, sessions, boot_id);
  const absl::Status looked = settler.look(open_ring);
  return looked.ok() ? settler.refusal() : looked;
}

std::optional<SourceProgress> find_source(const SessionLog& sessions, std::uint64_t source_id,
                                          std::uint64_t fingerprint) {
  std::optional<SourceProgress> found;
  for (const SessionRecord& session : std::views::reverse(sessions.sessions())) {
    const SessionBegin& begin = session.begin;
    const bool by_content = begin.source_fingerprint != 0 && fingerprint != 0;
    const bool is_of_source = by_content ? begin.source_fingerprint == fingerprint
                                         : begin.source_id == source_id && source_id != 0;
    if (!is_of_source) continue;
    const std::uint64_t records = session.end ? session.end->last + 1 - session.first() : 0;
    if (!found) found = {by_content, begin.source_offset, records, begin.journal_id, kNoSequence};
    // Skip sessions that published nothing.
    if (begin.source_offset + records != found->offset + found->records) break;
    if (records == 0) continue;
    found->journal_id = begin.journal_id;
    found->last = session.end->last;
    break;
  }
  return found;
}

}  // namespace lapwing
