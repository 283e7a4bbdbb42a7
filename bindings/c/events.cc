#include "bindings/c/events.h"

#include "bindings/c/structs.h"

namespace lapwing::c {
namespace {

// Kinds and causes have the numbers of the C++ interface.
static_assert(LAPWING_EVENT_GAP == static_cast<int>(EventKind::kGap));
static_assert(LAPWING_EVENT_LOST == static_cast<int>(EventKind::kLost));
static_assert(LAPWING_EVENT_SESSION == static_cast<int>(EventKind::kSession));
static_assert(LAPWING_EVENT_RESET == static_cast<int>(EventKind::kReset));
static_assert(LAPWING_EVENT_CAUGHT_UP == static_cast<int>(EventKind::kCaughtUp));
static_assert(LAPWING_EVENT_STALE == static_cast<int>(EventKind::kStale));
static_assert(LAPWING_EVENT_PUBLISHER_GONE == static_cast<int>(EventKind::kPublisherGone));
static_assert(LAPWING_EVENT_CLOSED == static_cast<int>(EventKind::kClosed));
static_assert(LAPWING_EVENT_SNAPSHOT_COMPLETE == static_cast<int>(EventKind::kSnapshotComplete));
static_assert(LAPWING_EVENT_NO_SNAPSHOT == static_cast<int>(EventKind::kNoSnapshot));
static_assert(LAPWING_EVENT_BEHIND == static_cast<int>(EventKind::kBehind));
static_assert(LAPWING_EVENT_LIVE == static_cast<int>(EventKind::kLive));
static_assert(LAPWING_CAUSE_LAPPED == static_cast<int>(GapCause::kLapped));
static_assert(LAPWING_CAUSE_SESSION == static_cast<int>(GapCause::kSession));
static_assert(LAPWING_CAUSE_VOID == static_cast<int>(GapCause::kVoid));
static_assert(LAPWING_CAUSE_PRUNED == static_cast<int>(GapCause::kPruned));
static_assert(LAPWING_CAUSE_DAMAGED == static_cast<int>(GapCause::kDamaged));
static_assert(LAPWING_CAUSE_NOT_RELAYED == static_cast<int>(GapCause::kNotRelayed));
static_assert(LAPWING_CAUSE_UPSTREAM == static_cast<int>(GapCause::kUpstream));

bool has_gap(const Event& event) {
  switch (event.kind) {
    case EventKind::kGap:
    case EventKind::kLost:
      return true;
    case EventKind::kSnapshotComplete:
    case EventKind::kNoSnapshot:
      return event.gap.first != kNoSequence;
    default:
      return false;
  }
}

}  // namespace

lapwing_event event_of(const Event& event) {
  lapwing_event out{};
  out.kind = static_cast<std::uint32_t>(event.kind);
  out.sequence = event.sequence;
  if (has_gap(event)) {
    out.cause = static_cast<std::uint32_t>(event.gap.cause);
    out.first = event.gap.first;
    out.last = event.gap.last;
    out.resume = event.gap.resume;
    out.fillable = event.gap.fillable ? 1 : 0;
  }
  out.record_bytes = event.record_bytes;
  out.journal_id = id_of(event.journal_id);
  out.session_id = id_of(event.session_id);
  out.state_entries = event.state_entries;
  out.is_first_session = event.is_first_session ? 1 : 0;
  out.is_described = event.schema != nullptr ? 1 : 0;
  out.is_filtered = event.is_filtered ? 1 : 0;
  out.is_skipped = event.kind == EventKind::kGap && event.on_gap == OnGap::kSkip ? 1 : 0;
  put_text(out.schema_name, event.schema_name);
  put_text(out.fold, event.fold);
  const bool has_note = event.kind == EventKind::kSession && !event.schema_note.empty();
  const char* const between = has_note && !event.text.empty() ? "; " : "";
  put_text(out.text, has_note ? absl::StrCat(event.schema_note, between, event.text) : event.text);
  return out;
}

}  // namespace lapwing::c
