// The stream that a subscriber reads: the attached session, the position in its journal, and the
// events due before the next record.
//
// Invariants
//  1. While an event is due, the cursor's attention is 0: no record is delivered before it.
//  2. position() stays before a reset, a state or a gap until its event has been delivered. A
//     program that stores the position before that gets the event again.
//  3. There is an attachment in kFlushing, kSnapshot, kCatchUp and kLive.
//
// A filter keeps all records off the read path: the attention is at most 1, and no sequence is
// below 1. The path is still open, because live() interprets a limit of 0 as a closed path.
//
// Thread safety: one thread. Owns the attachment, borrows the options and the cursor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "lapwing/subscriber.h"
#include "subscribers/attachment.h"
#include "subscribers/backlog.h"
#include "subscribers/instrument_filter.h"
#include "subscribers/outbox.h"
#include "subscribers/publisher_watch.h"
#include "subscribers/read_cursor.h"

namespace lapwing {

inline constexpr std::uint64_t kUpkeepRecords = 4096;  // maximum delivered between two upkeeps

struct Stream {
  Stream(const SubscriberOptions& all_options, ReadCursor& read_cursor);

  // Adds an event that is due before the next record.
  void post(EventKind kind, Sequence sequence, std::string text = {}, const Gap& gap = {}) {
    post({.kind = DueKind::kEvent, .sequence = sequence, .event = kind}, std::move(text), gap);
  }
  // Adds an event, a state entry, or the end.
  void post(const Due& due, std::string text = {}, const Gap& gap = {}) {
    outbox.add(due, std::move(text), gap);
    cursor.attention = 0;
  }
  // Requires an event. Removes and returns the first one.
  Due take_event() {
    const Due due = outbox.take();
    renew_due();
    return due;
  }
  // Makes the last event taken the first event again.
  void put_back(const Due& due) {
    outbox.put_back(due);
    cursor.attention = 0;
  }
  // Unless an event is due, lets the cursor read up to the next boundary or upkeep.
  void renew_due();

  void attach(Attachment found);
  // Afterwards, the phase is kSeeking.
  void detach();

  // Applies the filter to this session, whose records come next. Errors: those of
  // InstrumentFilter::begin().
  absl::Status choose_instruments(const RecordIdentity& of, const Id128& session);
  // Begins at record `next` of the attached journal. Errors: those of choose_instruments().
  absl::Status begin_history(Sequence next);

  // True if the journal contains the range, or will contain it. A slot is reused only after its
  // record has been archived.
  bool may_be_filled(Sequence first, Sequence last, GapCause cause) const;
  // True if missing records are not a loss, because the program requested the oldest record and has
  // none yet. With a filter, the first record would not show where the stream began.
  bool begins_with_oldest() const;
  // Posts kLost if a void ends before the next record and the subscriber holds records in it. A
  // power cut removed exactly those, so the event has an empty range, and no record is missing.
  void pass_void();
  // Why a range in a void is missing, and which records of the void the subscriber holds.
  std::string void_text(Sequence first, Sequence last) const;

  JournalReader* journal() const { return attachment->journal(); }
  // 0 while no session is attached.
  Sequence head() const { return attachment ? attachment->newest() : kNoSequence; }
  // The session whose records are delivered now. It may be older than the attached one.
  const Id128& current_session() const { return trail.empty() ? first_session : trail.current(); }
  // Like the public calls of these names.
  StoredPosition position() const;
  Sequence durable() const;

  const SubscriberOptions& options;
  const std::uint64_t live_upkeep_records;  // between two upkeeps in kLive
  ReadCursor& cursor;
  Outbox outbox;
  absl::Status status;
  std::optional<InstrumentFilter> filter;

  // The attached session, or the last one that was attached.
  std::optional<Attachment> attachment;
  Id128 session_id;
  RecordIdentity records;
  bool follows_journal = false;
  PublisherWatch watch;

  SessionTrail trail;   // empty before the first record is chosen
  Id128 first_session;  // of the first record, while the trail is empty
  Backlog backlog;
  StoredPosition before_beginning;  // position() until the outbox's beginning is delivered
  Sequence durable_when_left = 0;   // durable() of the session last left
};

}  // namespace lapwing
