//! The events that a subscriber delivers: docs/reference/events.md lists each kind.

use std::fmt;

use lapwing_sys as sys;

use crate::numbered::numbered;
use crate::position::Id;
use crate::text::text_of;

numbered! {
    EventKind {
        /// [`Event::gap`] is missing from the ring; fillable: its records follow.
        Gap = LAPWING_EVENT_GAP, "gap";
        /// No source has the records of [`Event::gap`].
        Lost = LAPWING_EVENT_LOST, "lost";
        /// A session begins at the sequence: the first one, or the next. A session event precedes
        /// all other events.
        Session = LAPWING_EVENT_SESSION, "session";
        /// Another history begins at the sequence.
        Reset = LAPWING_EVENT_RESET, "reset";
        /// Everything up to the join (the sequence) has been delivered.
        CaughtUp = LAPWING_EVENT_CAUGHT_UP, "caught-up";
        /// The publisher is alive but silent.
        Stale = LAPWING_EVENT_STALE, "stale";
        /// The publisher ended without closing. The subscriber waits for the next one.
        PublisherGone = LAPWING_EVENT_PUBLISHER_GONE, "publisher-gone";
        /// The session was closed after the sequence.
        Closed = LAPWING_EVENT_CLOSED, "closed";
        /// The state is complete, as of the sequence.
        SnapshotComplete = LAPWING_EVENT_SNAPSHOT_COMPLETE, "snapshot-complete";
        /// No checkpoint can be used; delivery begins at the sequence.
        NoSnapshot = LAPWING_EVENT_NO_SNAPSHOT, "no-snapshot";
        /// The subscriber has fallen behind by `behind_records` or `behind_time`.
        Behind = LAPWING_EVENT_BEHIND, "behind";
        /// Every published record has been taken.
        Live = LAPWING_EVENT_LIVE, "live";
    }
}

numbered! {
    /// Why records are missing.
    Cause {
        /// The publisher overwrote them before they were read.
        Lapped = LAPWING_CAUSE_LAPPED, "lapped";
        /// Between a dead session and the next one.
        Session = LAPWING_CAUSE_SESSION, "session";
        /// They will never exist, as recorded after a power cut.
        Void = LAPWING_CAUSE_VOID, "void";
        /// Retention removed them.
        Pruned = LAPWING_CAUSE_PRUNED, "pruned";
        /// The journal's bytes fail their checksum, or are missing.
        Damaged = LAPWING_CAUSE_DAMAGED, "damaged";
        /// Mirrored bus: they did not arrive from the origin.
        NotRelayed = LAPWING_CAUSE_NOT_RELAYED, "not-relayed";
        /// Mirrored bus: the origin lost them.
        Upstream = LAPWING_CAUSE_UPSTREAM, "upstream";
    }
}

/// A range that did not come from the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    pub first: u64,
    /// Inclusive; `first - 1`: nothing is missing, and the text contains the reason.
    pub last: u64,
    pub cause: Cause,
    /// True if the journal holds the range.
    pub is_fillable: bool,
    /// The next sequence that is tried in the ring.
    pub resume: u64,
}

/// An event, delivered exactly at its position between two records.
#[derive(Clone)]
#[repr(transparent)]
pub struct Event(sys::lapwing_event);

impl Event {
    pub(crate) fn of(event: &sys::lapwing_event) -> &Event {
        // SAFETY: Event is transparent.
        unsafe { &*(event as *const sys::lapwing_event).cast::<Event>() }
    }

    pub fn kind(&self) -> EventKind {
        EventKind::from_number(self.0.kind)
    }

    /// The event's sequence. [`EventKind`] describes its meaning for each kind.
    pub fn sequence(&self) -> u64 {
        self.0.sequence
    }

    /// The range of a gap or lost event and, after a gap, of a snapshot-complete or no-snapshot
    /// event.
    pub fn gap(&self) -> Option<Gap> {
        (self.0.cause != 0).then(|| Gap {
            first: self.0.first,
            last: self.0.last,
            cause: Cause::from_number(self.0.cause),
            is_fillable: self.0.fillable != 0,
            resume: self.0.resume,
        })
    }

    /// Size of the records that follow, in bytes.
    pub fn record_bytes(&self) -> u32 {
        self.0.record_bytes
    }

    /// Schema name of the records that follow.
    pub fn schema_name(&self) -> &str {
        text_of(&self.0.schema_name)
    }

    /// Whether [`Subscriber::schema`](crate::Subscriber::schema) returns the fields of the records
    /// that follow.
    pub fn is_described(&self) -> bool {
        self.0.is_described != 0
    }

    /// For a session event: whether it is the first.
    pub fn is_first_session(&self) -> bool {
        self.0.is_first_session != 0
    }

    pub fn journal_id(&self) -> Id {
        self.0.journal_id.into()
    }

    pub fn session_id(&self) -> Id {
        self.0.session_id.into()
    }

    /// Fold of the state that was loaded.
    pub fn fold(&self) -> &str {
        text_of(&self.0.fold)
    }

    /// For snapshot-complete: the number of entries in the state.
    pub fn state_entries(&self) -> u64 {
        self.0.state_entries
    }

    /// A message: the cause, the checkpoint, how a session ended. It can be empty.
    pub fn text(&self) -> &str {
        text_of(&self.0.text)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("kind", &self.kind())
            .field("sequence", &self.sequence())
            .field("gap", &self.gap())
            .field("schema_name", &self.schema_name())
            .field("text", &self.text())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind(), self.sequence())?;
        if let Some(gap) = self.gap() {
            write!(f, ", {} to {} {}", gap.first, gap.last, gap.cause)?;
        }
        match self.text() {
            "" => Ok(()),
            text => write!(f, ": {text}"),
        }
    }
}
