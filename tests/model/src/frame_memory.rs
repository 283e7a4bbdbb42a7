//! The memory of a channel's direction, for frames.rs: a ring of units, as the product's is of 64
//! bytes.
//!
//! The first word of a unit is the stamp of the frame that begins there, or payload of one that
//! began before: an atomic. The rest of a unit is plain memory: loom finds a race unless every
//! write of it is ordered before the read, and every read before the write of the next lap.

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicU64};

/// A message by the units that its frame has; more may have been claimed and written for it.
#[derive(Clone, Copy)]
pub struct Message {
    pub units: u64,
    pub claimed: u64,
}

/// What is in the plain memory of a unit: size, type and payload.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rest {
    pub number: u64,
    pub units: u64,
    /// Frames of the same commit.
    pub more_follow: bool,
}

const NOTHING: Rest = Rest { number: 0, units: 0, more_follow: false };
pub const PADDING: u64 = u64::MAX;

pub struct Frame {
    pub at: u64,
    pub claimed: u64,
    pub rest: Rest,
}

impl Frame {
    pub fn end(&self) -> u64 {
        self.at + self.rest.units
    }
}

/// The frames of one commit: its messages, and padding before one that would cross the end.
pub fn lay_out(mut at: u64, first_number: u64, messages: &[Message], capacity: u64) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut push = |at, claimed, number, units| {
        frames.push(Frame { at, claimed, rest: Rest { number, units, more_follow: true } });
        at + units
    };
    for (message, number) in messages.iter().zip(first_number..) {
        let units_to_end = capacity - at % capacity;
        if message.claimed > units_to_end {
            at = push(at, units_to_end, PADDING, units_to_end);
        }
        at = push(at, message.claimed, number, message.units);
    }
    frames.last_mut().unwrap().rest.more_follow = false;
    frames
}

/// A word that may be a stamp. The protocol sees the value; whether it is the stamp of a frame, and
/// of which, only the checker knows.
pub struct Word {
    pub value: u64,
    pub committed_at: Option<u64>,
}

impl Word {
    pub fn payload(value: u64) -> Self {
        Self { value, committed_at: None }
    }

    pub fn pack(&self) -> u64 {
        self.value << 8 | self.committed_at.map_or(0, |position| position + 1)
    }

    pub fn unpack(word: u64) -> Self {
        Self { value: word >> 8, committed_at: (word & 0xff).checked_sub(1) }
    }
}

struct Unit {
    first_word: AtomicU64,
    rest: UnsafeCell<Rest>,
}

pub struct Ring {
    units: Vec<Unit>,
    pub received: AtomicU64,
    /// End of file on the socket: the producer has gone.
    pub is_gone: AtomicBool,
}

// SAFETY: whether the units are safe to share is the question that loom is asked.
unsafe impl Sync for Ring {}

impl Ring {
    pub fn new(capacity: u64) -> Self {
        let unit = || Unit { first_word: AtomicU64::new(0), rest: UnsafeCell::new(NOTHING) };
        Self {
            units: (0..capacity).map(|_| unit()).collect(),
            received: AtomicU64::new(0),
            is_gone: AtomicBool::new(false),
        }
    }

    pub fn capacity(&self) -> u64 {
        self.units.len() as u64
    }

    /// Where the stamp of a frame at `position` stands.
    pub fn first_word(&self, position: u64) -> &AtomicU64 {
        &self.unit(position).first_word
    }

    fn unit(&self, position: u64) -> &Unit {
        &self.units[(position % self.capacity()) as usize]
    }

    pub fn write_rest(&self, position: u64, rest: Rest) {
        // SAFETY: loom checks that nothing else touches the unit meanwhile.
        self.unit(position).rest.with_mut(|there| unsafe { *there = rest });
    }

    pub fn read_rest(&self, position: u64) -> Rest {
        // SAFETY: as in write_rest.
        self.unit(position).rest.with(|there| unsafe { *there })
    }

    /// Payload at the first word of the unit at `position`, and the worst there is: the stamp that
    /// is expected there in the next lap, or in this one if what was claimed is not all used.
    pub fn payload(&self, position: u64, is_used: bool) -> u64 {
        Word::payload(position + 1 + if is_used { self.capacity() } else { 0 }).pack()
    }
}
