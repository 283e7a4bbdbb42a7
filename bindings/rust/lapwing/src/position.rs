//! Ids, and positions, which can be stored.

use std::fmt;

use lapwing_sys as sys;

/// The random id of a journal, a session or a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Id(pub [u8; 16]);

impl Id {
    /// The id that means none.
    pub const NONE: Id = Id([0; 16]);
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl From<sys::lapwing_id> for Id {
    fn from(id: sys::lapwing_id) -> Id {
        Id(id.bytes)
    }
}

/// How far a program has read a bus. A [`Cursor`](crate::Cursor) stores it, and
/// [`Start::After`](crate::Start::After) continues from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Position {
    pub journal_id: Id,
    pub session_id: Id,
    /// The last record that was taken; 0: no position to continue at.
    pub sequence: u64,
}

impl Position {
    pub(crate) fn to_c(self) -> sys::lapwing_position {
        sys::lapwing_position {
            journal_id: sys::lapwing_id { bytes: self.journal_id.0 },
            session_id: sys::lapwing_id { bytes: self.session_id.0 },
            sequence: self.sequence,
        }
    }
}

impl From<sys::lapwing_position> for Position {
    fn from(position: sys::lapwing_position) -> Position {
        Position {
            journal_id: position.journal_id.into(),
            session_id: position.session_id.into(),
            sequence: position.sequence,
        }
    }
}
