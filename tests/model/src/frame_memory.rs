//! The memory for one direction of a channel, for frames.rs: a ring of units, which have 64 bytes
//! in the product.
//!
//! The first word of a unit is an atomic: the head of a frame that begins there, or payload of an
//! earlier frame. The rest of a unit is plain memory: loom finds a race unless every write to it is
//! ordered before the read, and every read before the next lap's write.

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicU64};

/// The units of a message's frame, and the units that were claimed and written for it. With 0 units
/// the claim is aborted. A claim of one unit is a short message: its payload does not cover the
/// first word of any unit.
#[derive(Clone, Copy)]
pub struct Message {
    pub units: u64,
    pub claimed: u64,
}

/// The plain memory of a unit: size and payload.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rest {
    pub number: u64,
    pub units: u64,
    /// Whether more frames of the same commit follow.
    pub more_follow: bool,
}

/// Laps that a head can distinguish, 2^22 in the product. The minimum here: this lap, the one
/// before, and the next, which C2 stores.
pub const LAPS: u64 = 3;

const NOTHING: Rest = Rest { number: 0, units: 0, more_follow: false };
pub const PADDING: u64 = u64::MAX;

pub struct Frame {
    pub at: u64,
    pub rest: Rest,
}

impl Frame {
    pub fn end(&self) -> u64 {
        self.at + self.rest.units
    }
}

/// The memory for the user's payload.
pub struct Claim {
    pub at: u64,
    pub units: u64,
    pub claimed: u64,
    pub number: u64,
}

impl Claim {
    pub fn end(&self) -> u64 {
        self.at + self.claimed
    }
    pub fn is_long(&self) -> bool {
        self.claimed > 1
    }
}

/// One commit: its claims, and its messages' frames, with padding before a message that would cross
/// the end. `end` is the start of the next commit.
pub struct Commit {
    pub claims: Vec<Claim>,
    pub frames: Vec<Frame>,
    pub end: u64,
}

pub fn lay_out(mut at: u64, first_number: u64, messages: &[Message], capacity: u64) -> Commit {
    let (mut claims, mut frames) = (Vec::new(), Vec::new());
    let mut number = first_number;
    for message in messages {
        let units_to_end = capacity - at % capacity;
        let padding = if message.claimed > units_to_end { units_to_end } else { 0 };
        let Message { units, claimed } = *message;
        claims.push(Claim { at: at + padding, units, claimed, number });
        if units == 0 {
            continue;
        }
        let mut push = |number, units| {
            frames.push(Frame { at, rest: Rest { number, units, more_follow: true } });
            at += units;
        };
        if padding > 0 {
            push(PADDING, padding);
        }
        push(number, units);
        number += 1;
    }
    if let Some(last) = frames.last_mut() {
        last.rest.more_follow = false;
    }
    Commit { claims, frames, end: at }
}

/// A word that may be a head. The protocol uses only the value, which is the lap. `committed_at` is
/// for the checker: the position of the frame whose head this is.
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
    /// The end of file on the socket: the producer has ended.
    pub is_gone: AtomicBool,
}

// SAFETY: loom checks whether the units are safe to share.
unsafe impl Sync for Ring {}

impl Ring {
    pub fn new(capacity: u64, start: u64) -> Self {
        let unit = || Unit { first_word: AtomicU64::new(0), rest: UnsafeCell::new(NOTHING) };
        Self {
            units: (0..capacity).map(|_| unit()).collect(),
            received: AtomicU64::new(start),
            is_gone: AtomicBool::new(false),
        }
    }

    pub fn capacity(&self) -> u64 {
        self.units.len() as u64
    }

    /// The first word of the unit at `position`.
    pub fn first_word(&self, position: u64) -> &AtomicU64 {
        &self.unit(position).first_word
    }

    fn unit(&self, position: u64) -> &Unit {
        &self.units[(position % self.capacity()) as usize]
    }

    pub fn write_rest(&self, position: u64, rest: Rest) {
        // SAFETY: loom checks that nothing else accesses the unit meanwhile.
        self.unit(position).rest.with_mut(|there| unsafe { *there = rest });
    }

    pub fn read_rest(&self, position: u64) -> Rest {
        // SAFETY: as in write_rest.
        self.unit(position).rest.with(|there| unsafe { *there })
    }

    /// The lap of a position, modulo LAPS.
    pub fn lap(&self, position: u64) -> u64 {
        (position / self.capacity() + 1) % LAPS
    }

    /// Payload at the first word of the unit at `position`, with the worst value: the lap expected
    /// there `laps_ahead` laps later.
    pub fn payload(&self, position: u64, laps_ahead: u64) -> u64 {
        Word::payload(self.lap(position + laps_ahead * self.capacity())).pack()
    }
}
