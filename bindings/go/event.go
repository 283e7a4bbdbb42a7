package lapwing

// #include "calls.h"
import "C"

import "fmt"

// EventKind is the kind of an event between two records. docs/reference/events.md describes each kind.
type EventKind uint32

const (
	EventGap              EventKind = C.LAPWING_EVENT_GAP               // First to Last are missing from the ring; Fillable: they follow
	EventLost             EventKind = C.LAPWING_EVENT_LOST              // no source has First to Last
	EventSession          EventKind = C.LAPWING_EVENT_SESSION           // a session begins at Sequence
	EventReset            EventKind = C.LAPWING_EVENT_RESET             // another history begins at Sequence
	EventCaughtUp         EventKind = C.LAPWING_EVENT_CAUGHT_UP         // everything up to the join, Sequence, was delivered
	EventStale            EventKind = C.LAPWING_EVENT_STALE             // the publisher is alive but silent
	EventPublisherGone    EventKind = C.LAPWING_EVENT_PUBLISHER_GONE    // it ended without closing; waiting for the next one
	EventClosed           EventKind = C.LAPWING_EVENT_CLOSED            // the session was closed after Sequence
	EventSnapshotComplete EventKind = C.LAPWING_EVENT_SNAPSHOT_COMPLETE // the state is complete, as of Sequence
	EventNoSnapshot       EventKind = C.LAPWING_EVENT_NO_SNAPSHOT       // no usable checkpoint; starts at Sequence
	EventBehind           EventKind = C.LAPWING_EVENT_BEHIND            // behind by BehindRecords or BehindTime
	EventLive             EventKind = C.LAPWING_EVENT_LIVE              // every published record has been taken
)

func (k EventKind) String() string { return nameOf(int(k), eventKinds) }

var eventKinds = []string{EventGap: "gap", EventLost: "lost", EventSession: "session",
	EventReset: "reset", EventCaughtUp: "caught-up", EventStale: "stale",
	EventPublisherGone: "publisher-gone", EventClosed: "closed",
	EventSnapshotComplete: "snapshot-complete", EventNoSnapshot: "no-snapshot", EventBehind: "behind",
	EventLive: "live"}

// Cause is the reason why records are missing.
type Cause uint32

const (
	CauseNone       Cause = 0
	CauseLapped     Cause = C.LAPWING_CAUSE_LAPPED      // the publisher overwrote them before they were read
	CauseSession    Cause = C.LAPWING_CAUSE_SESSION     // between a dead session and the next one
	CauseVoid       Cause = C.LAPWING_CAUSE_VOID        // they will never exist, as recorded after a power cut
	CausePruned     Cause = C.LAPWING_CAUSE_PRUNED      // retention removed them
	CauseDamaged    Cause = C.LAPWING_CAUSE_DAMAGED     // the journal's bytes fail their checksum, or are missing
	CauseNotRelayed Cause = C.LAPWING_CAUSE_NOT_RELAYED // mirrored bus: they did not arrive from the origin
	CauseUpstream   Cause = C.LAPWING_CAUSE_UPSTREAM    // mirrored bus: the origin lost them
)

func (c Cause) String() string { return nameOf(int(c), causes) }

var causes = []string{CauseNone: "none", CauseLapped: "lapped", CauseSession: "session", CauseVoid: "void",
	CausePruned: "pruned", CauseDamaged: "damaged", CauseNotRelayed: "not-relayed", CauseUpstream: "upstream"}

// Event is an event that a subscriber delivers between two records.
type Event struct {
	Kind     EventKind
	Cause    Cause // for gap and lost, and after a gap for snapshot-complete and no-snapshot
	Sequence uint64
	// For gap and lost, and after a gap for snapshot-complete and no-snapshot.
	First    uint64 // of the missing range
	Last     uint64 // inclusive; First - 1: nothing is missing, and Text contains the reason
	Resume   uint64 // the next sequence that is tried in the ring
	Fillable bool   // the journal holds the range
	// For the records that follow.
	RecordBytes    int
	JournalID      ID
	SessionID      ID
	StateEntries   uint64 // of the state
	IsFirstSession bool
	IsDescribed    bool // Subscriber.Schema returns the fields
	SchemaName     string
	Fold           string // of the state that was loaded
	Text           string // a message: the cause, the checkpoint, how a session ended
}

func goEvent(e *C.lapwing_event) *Event {
	return &Event{
		Kind:           EventKind(e.kind),
		Cause:          Cause(e.cause),
		Sequence:       uint64(e.sequence),
		First:          uint64(e.first),
		Last:           uint64(e.last),
		Resume:         uint64(e.resume),
		Fillable:       e.fillable != 0,
		RecordBytes:    int(e.record_bytes),
		JournalID:      goID(&e.journal_id),
		SessionID:      goID(&e.session_id),
		StateEntries:   uint64(e.state_entries),
		IsFirstSession: e.is_first_session != 0,
		IsDescribed:    e.is_described != 0,
		SchemaName:     goText(e.schema_name[:]),
		Fold:           goText(e.fold[:]),
		Text:           goText(e.text[:]),
	}
}

// String returns the event as one line, such as "gap 501..1139 lapped".
func (e *Event) String() string {
	if e.Kind == EventGap || e.Kind == EventLost {
		return fmt.Sprintf("%v %d..%d %v", e.Kind, e.First, e.Last, e.Cause)
	}
	return fmt.Sprintf("%v %d", e.Kind, e.Sequence)
}
