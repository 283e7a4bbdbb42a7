#include "subscribers/stream.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "subscribers/liveness.h"

namespace lapwing {

Stream::Stream(const SubscriberOptions& all_options, ReadCursor& read_cursor)
    : options(all_options),
      live_upkeep_records(Liveness(options).records_between_looks(kUpkeepRecords)),
      cursor(read_cursor),
      watch(options.stale_after),
      backlog(options) {
  cursor.behind_records = options.behind_records;
  if (!options.instruments.empty()) filter.emplace(options.instruments);
}

void Stream::renew_due() {
  cursor.attention = cursor.due = 0;
  if (!cursor.reads() || !outbox.empty()) return;
  // A subscriber becomes live only when it reads the ring.
  const bool is_live = cursor.phase == Phase::kLive;
  cursor.due = std::min({cursor.next + (is_live ? live_upkeep_records : kUpkeepRecords),
                         trail.next_first(), backlog.next_due()});
  cursor.attention = filter ? std::min(cursor.due, Sequence{1}) : cursor.due;
}

// An equal description stays the same object, because programs compare pointers.
void Stream::attach(Attachment found) {
  attachment.emplace(std::move(found));
  session_id = first_session = attachment->session_id();
  follows_journal = attachment->follows_journal();
  watch.attach(attachment->has_publisher());
  cursor.set_ring(attachment->ring());
  cursor.record_bytes = attachment->record_bytes();
  const RecordIdentity before = std::exchange(records, attachment->records());
  if (before.description != nullptr && records.description != nullptr &&
      *before.description == *records.description) {
    records.description = before.description;
  }
}

void Stream::detach() {
  durable_when_left = durable();
  cursor.set_ring(nullptr);
  attachment.reset();
  cursor.phase = Phase::kSeeking;
  cursor.attention = 0;
}

absl::Status Stream::choose_instruments(const RecordIdentity& of, const Id128& session) {
  return filter ? filter->begin(options.directory, of.description.get(), session)
                : absl::OkStatus();
}

absl::Status Stream::begin_history(Sequence next) {
  cursor.next = next;
  trail.start(attachment->journal_id(), attachment->sessions(), next);
  return choose_instruments(records, trail.current());
}

bool Stream::may_be_filled(Sequence first, Sequence last, GapCause cause) const {
  if (journal() == nullptr) return false;
  const JournalBounds bounds = attachment->bounds();
  if (first < bounds.oldest) return false;
  return last <= bounds.archived ||
         (cause == GapCause::kLapped && !watch.ended() && attachment->archiving());
}

bool Stream::begins_with_oldest() const {
  return options.start.kind == Start::Kind::kOldest && !backlog.caught_up() && !filter &&
         cursor.ledger.counters().records == 0;
}

void Stream::pass_void() {
  const Sequence held = cursor.ledger.held();
  Sequence first = 0;
  Sequence last = 0;
  if (held == kNoSequence) return;
  if (!journal()->sessions().in_void(trail.journal_id(), cursor.next - 1, first, last)) return;
  if (last != cursor.next - 1 || held < first) return;
  const Gap nothing_lost{cursor.next, last, cursor.next, GapCause::kVoid, false};
  post(EventKind::kLost, cursor.next, void_text(first, last), nothing_lost);
}

std::string Stream::void_text(Sequence first, Sequence last) const {
  Sequence void_first = first;
  Sequence void_last = last;
  journal()->sessions().in_void(trail.journal_id(), last, void_first, void_last);
  std::string text = absl::StrCat("sequences ", void_first, " to ", void_last,
                                  " were lost in a crash and will never exist");
  const Sequence held = cursor.ledger.held();
  if (held >= void_first) {
    absl::StrAppend(&text, "; this subscriber holds ", void_first, " to ", held,
                    ", which the journal does not");
  }
  return text;
}

StoredPosition Stream::position() const {
  if (outbox.has_beginning()) return before_beginning;
  if (trail.empty()) return options.start.position.value_or(StoredPosition{});
  return trail.position(outbox.gap_is_first() ? outbox.first_gap().first : cursor.next);
}

// A session that has ended keeps its final `durable`. Records that a cut removed are never durable,
// although the next session's `durable` is beyond them.
Sequence Stream::durable() const {
  if (!attachment || outbox.has_beginning()) return durable_when_left;
  if (journal() == nullptr || trail.empty()) return 0;
  const Sequence durable = attachment->bounds().durable;
  const SessionRecord* const session = journal()->sessions().find(trail.current());
  return session != nullptr && session->end ? std::min(durable, session->end->last) : durable;
}

}  // namespace lapwing
