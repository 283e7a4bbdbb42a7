//! The frames of a channel: C0 to C3 against D1 to D3 (`store_frame_head`, `load_frame_head`,
//! `clear_false_head`, `store_long_bytes`, `store_short_payload`, `store_received`, `load_received`).
//!
//! A consumer must receive only committed messages, complete, in order and once, and they must not
//! change until they are released. Every payload has the worst possible value: at the position of a
//! later frame's head it contains that frame's lap. A head can distinguish only three laps.

use crate::frame_memory::{lay_out, Commit, Frame, Message, Rest, Ring, Word, LAPS, PADDING};
use crate::judge::{judge, right, wrong, Depth, Sightings, DATA_RACE};
use loom::sync::atomic::Ordering;
use loom::thread;
use std::sync::Arc;
use Ordering::{Acquire, Relaxed, Release};
use Step::{ClearAnything, ClearFalse, StoreFirst, StoreOthers, StoreSize};

const ONE: Message = Message { units: 1, claimed: 1 };
const TWO: Message = Message { units: 2, claimed: 2 };
const THREE: Message = Message { units: 3, claimed: 3 };
const ONE_OF_TWO: Message = Message { units: 1, claimed: 2 };
const ABORTED: Message = Message { units: 0, claimed: 3 };

/// Messages sent through a ring of `capacity` units, singly or in batches.
#[derive(Clone, Copy)]
struct Session {
    capacity: u64,
    start: u64,        // earlier messages have left no data behind
    unused_ahead: u64, // laps of claimed, unused payload, relative to its own: 0 is its own
    commits: &'static [&'static [Message]],
}

/// The first message fills the ring, and covers the start of the third.
const LAP: Session =
    Session { capacity: 2, start: 0, unused_ahead: 0, commits: &[&[TWO], &[ONE], &[ONE]] };
/// The third message would cross the end. The second covers the start of the fourth.
const WRAP: Session =
    Session { capacity: 4, start: 0, unused_ahead: 0, commits: &[&[ONE, TWO], &[TWO], &[ONE]] };
/// The padding before the second THREE skips memory that was never written. The last message begins
/// there, in a lap whose number equals that of fresh memory.
const SKIP: Session = Session {
    capacity: 6,
    start: 6,
    unused_ahead: 0,
    commits: &[&[THREE], &[ONE], &[THREE], &[TWO], &[ONE]],
};
/// Claimed but unused memory covers the starts of the second and third messages.
const BATCH: Session = Session {
    capacity: 4,
    start: 0,
    unused_ahead: 0,
    commits: &[&[ONE_OF_TWO, ONE_OF_TWO], &[ONE]],
};
/// The batch fills the ring, and its end is its own start, where the aborted claim has left the
/// next lap.
const FULL: Session = Session {
    capacity: 4,
    start: 0,
    unused_ahead: 1,
    commits: &[&[ABORTED], &[ONE], &[ONE], &[TWO, TWO]],
};
/// The aborted claim covers the start of the second message.
const ABORT: Session =
    Session { capacity: 4, start: 0, unused_ahead: 0, commits: &[&[ABORTED], &[ONE], &[ONE]] };
/// Only short messages: no check for a false head.
const SHORT: Session = Session {
    capacity: 2,
    start: 0,
    unused_ahead: 0,
    commits: &[&[ONE], &[ONE, ONE], &[ONE], &[ONE]],
};

/// The value of a head that distinguishes it from earlier data.
#[derive(Clone, Copy)]
enum Lap {
    PlusOne,
    FromZero,
    Always(u64),
}

/// The positions where C2 checks for a false head.
#[derive(Clone, Copy)]
enum Clear {
    BehindEach,
    BehindLast,
    BehindClaim,
    BehindFirst,
    Nowhere,
}

/// The end of the range that C2 checks, relative to the end of a long frame.
#[derive(Clone, Copy)]
enum Until {
    LapBehindClaims, // of all claims ever made
    LapBehindFrames, // of all committed frames
    EndOfClaims,
}

/// The value that C2 stores.
#[derive(Clone, Copy)]
enum Cleared {
    NextLap,
    LapBefore,
}

/// The producer's steps after the payload is written.
#[derive(Clone, Copy)]
enum Step {
    StoreSize,     // C1
    ClearFalse,    // C2
    ClearAnything, // C2, without checking whether it is a false head
    StoreOthers,   // C3 of all frames of the commit except the first
    StoreFirst,    // C3
}

/// The room that the producer assumes it has.
#[derive(Clone, Copy)]
enum Room {
    Exact,
    OneTooWide,
    WithoutPadding,
}

#[derive(Clone, Copy)]
struct Variant {
    session: Session,
    lap: Lap,
    clear: Clear,
    until: Until,
    cleared: Cleared,
    producer: &'static [Step],
    room: Room,
    c0: Ordering,
    c3: Ordering,
    d1: Ordering,
    d3: Ordering,
    received_after_copy: bool,
}

const RIGHT: Variant = Variant {
    session: LAP,
    lap: Lap::PlusOne,
    clear: Clear::BehindEach,
    until: Until::LapBehindClaims,
    cleared: Cleared::NextLap,
    producer: &[StoreSize, ClearFalse, StoreOthers, StoreFirst],
    room: Room::Exact,
    c0: Acquire,
    c3: Release,
    d1: Acquire,
    d3: Release,
    received_after_copy: true,
};

const WRAPPING: Variant = Variant { session: WRAP, ..RIGHT };
const BATCHED: Variant = Variant { session: BATCH, ..RIGHT };

fn lap(ring: &Ring, position: u64, v: Variant) -> u64 {
    match v.lap {
        Lap::PlusOne => ring.lap(position),
        Lap::FromZero => ring.lap(position + (LAPS - 1) * ring.capacity()),
        Lap::Always(value) => value,
    }
}

struct Producer<'a> {
    ring: &'a Ring,
    v: Variant,
    seen: &'a Sightings,
}

impl Producer<'_> {
    fn send_all(&self) {
        let (mut position, mut number, mut look_until) = (self.v.session.start, 1, 0);
        for messages in self.v.session.commits {
            let commit = lay_out(position, number, messages, self.ring.capacity());
            self.wait_for_room(&commit);
            look_until = look_until.max(self.look_until(&commit));
            self.write_payloads(&commit);
            if !commit.frames.is_empty() {
                self.v.producer.iter().for_each(|step| self.run(*step, &commit, look_until));
            }
            position = commit.end;
            number += messages.iter().filter(|message| message.units > 0).count() as u64;
        }
        self.ring.is_gone.store(true, Release);
    }

    /// C0.
    fn wait_for_room(&self, commit: &Commit) {
        let mut limit = commit.claims.iter().map(|claim| claim.end()).max().unwrap();
        match self.v.room {
            Room::Exact => {}
            Room::OneTooWide => limit -= 1,
            Room::WithoutPadding => {
                let is_padding = |frame: &&Frame| frame.rest.number == PADDING;
                limit -= commit.frames.iter().filter(is_padding).map(|f| f.rest.units).sum::<u64>();
            }
        }
        while limit > self.ring.received.load(self.v.c0) + self.ring.capacity() {
            self.seen.saw("full");
            thread::yield_now();
        }
    }

    fn look_until(&self, commit: &Commit) -> u64 {
        let long = commit.claims.iter().filter(|claim| claim.is_long());
        let lap = self.ring.capacity();
        match self.v.until {
            Until::LapBehindClaims => long.map(|claim| claim.end() + lap).max(),
            Until::LapBehindFrames => {
                let sent = long.filter(|claim| claim.units > 0);
                sent.map(|claim| claim.at + claim.units + lap).max()
            }
            Until::EndOfClaims => long.map(|claim| claim.end()).max(),
        }
        .unwrap_or(0)
    }

    /// The payload's part of C1.
    fn write_payloads(&self, commit: &Commit) {
        for claim in &commit.claims {
            let (number, units) = (claim.number, claim.units);
            let frame = commit.frames.iter().find(|frame| frame.rest.number == number);
            let aborted = Rest { number, units, more_follow: false };
            let rest = frame.filter(|_| units > 0).map_or(aborted, |frame| frame.rest);
            for i in 1..claim.claimed {
                let position = claim.at + i;
                let ahead = if i < units { 1 } else { self.v.session.unused_ahead };
                let word = self.ring.payload(position, ahead);
                self.ring.first_word(position).store(word, Relaxed);
                self.ring.write_rest(position, rest);
            }
        }
    }

    fn run(&self, step: Step, commit: &Commit, look_until: u64) {
        let frames = &commit.frames;
        match step {
            StoreSize => frames.iter().for_each(|f| self.ring.write_rest(f.at, f.rest)),
            ClearFalse => self.clear(commit, look_until, |word, lap| word == lap),
            ClearAnything => self.clear(commit, look_until, |_, _| true),
            StoreOthers => frames[1..].iter().for_each(|frame| self.store_head(frame)),
            StoreFirst => self.store_head(&frames[0]),
        }
    }

    /// C2.
    fn clear(&self, commit: &Commit, look_until: u64, is_cleared: fn(u64, u64) -> bool) {
        let frames = &commit.frames;
        let last = frames.last().unwrap();
        let places: Vec<u64> = match self.v.clear {
            Clear::BehindEach => frames.iter().map(Frame::end).collect(),
            Clear::BehindLast => vec![last.end()],
            Clear::BehindClaim => vec![commit.claims.last().unwrap().end()],
            Clear::BehindFirst => vec![frames[0].end()],
            Clear::Nowhere => vec![],
        };
        for position in places {
            if position >= look_until {
                self.seen.saw("no look");
            } else if self.clear_at(position, is_cleared) {
                self.seen.saw("false head cleared");
            }
        }
    }

    fn clear_at(&self, position: u64, is_cleared: fn(u64, u64) -> bool) -> bool {
        let word = self.ring.first_word(position);
        let value = Word::unpack(word.load(Relaxed)).value;
        let clears = is_cleared(value, lap(self.ring, position, self.v));
        if clears {
            let capacity = self.ring.capacity();
            let other = match self.v.cleared {
                Cleared::NextLap => lap(self.ring, position + capacity, self.v),
                Cleared::LapBefore => lap(self.ring, position + (LAPS - 1) * capacity, self.v),
            };
            word.store(Word::payload(other).pack(), Relaxed);
        }
        clears
    }

    /// C3.
    fn store_head(&self, frame: &Frame) {
        let value = lap(self.ring, frame.at, self.v);
        let word = Word { value, committed_at: Some(frame.at) };
        self.ring.first_word(frame.at).store(word.pack(), self.v.c3);
    }
}

struct Consumer<'a> {
    ring: &'a Ring,
    v: Variant,
    seen: &'a Sightings,
}

impl Consumer<'_> {
    fn receive_all(&self) {
        let mut position = self.v.session.start;
        let mut more_follow = false;
        let messages = self.v.session.commits.iter().flat_map(|commit| commit.iter());
        let last = messages.filter(|message| message.units > 0).count() as u64;
        let mut received = 0;
        while received < last {
            self.wait_for_frame(position, more_follow);
            let frame = self.take(position);
            position += frame.units;
            more_follow = frame.more_follow;
            if frame.number == PADDING {
                self.seen.saw("padding");
                continue;
            }
            received += 1;
            assert!(frame.number == received, "took message {} for {received}", frame.number);
        }
    }

    /// D1.
    fn is_there(&self, position: u64) -> bool {
        let word = Word::unpack(self.ring.first_word(position).load(self.v.d1));
        let is_there = word.value == lap(self.ring, position, self.v);
        assert!(!is_there || word.committed_at == Some(position), "took for a frame what is none");
        is_there
    }

    fn wait_for_frame(&self, position: u64, is_promised: bool) {
        while !self.is_there(position) {
            assert!(!is_promised, "a frame came without the rest of its commit");
            self.seen.saw("empty");
            if self.ring.is_gone.load(Acquire) && !self.is_there(position) {
                panic!("the producer has gone, and a frame that it committed is not there");
            }
            thread::yield_now();
        }
    }

    fn take(&self, position: u64) -> Rest {
        if !self.v.received_after_copy {
            let units = self.ring.read_rest(position).units;
            self.ring.received.store(position + units, self.v.d3);
        }
        let rest = self.copy(position); // D2
        if self.v.received_after_copy {
            self.ring.received.store(position + rest.units, self.v.d3); // D3
        }
        rest
    }

    fn copy(&self, position: u64) -> Rest {
        let rest = self.ring.read_rest(position);
        if rest.number == PADDING {
            return rest;
        }
        for i in 1..rest.units {
            let word = self.ring.first_word(position + i).load(Relaxed);
            let is_whole = word == self.ring.payload(position + i, 1)
                && self.ring.read_rest(position + i) == rest;
            assert!(is_whole, "the payload of {rest:?} is not whole");
        }
        rest
    }
}

fn model(v: Variant, seen: &Sightings) {
    let ring = Arc::new(Ring::new(v.session.capacity, v.session.start));
    let producer = {
        let (ring, seen) = (ring.clone(), seen.clone());
        thread::spawn(move || Producer { ring: &ring, v, seen: &seen }.send_all())
    };
    Consumer { ring: &ring, v, seen }.receive_all();
    producer.join().unwrap();
}

const NO_FRAME: &str = "took for a frame";
const INCOMPLETE: &str = "without the rest";
const VANISHED: &str = "is not there";

#[test]
fn what_the_consumer_takes_is_what_was_committed() {
    judge(
        "frames: what the consumer takes is what was committed, and stays until it is released",
        Depth::Exhaustive,
        model,
        &[
            right("the protocol", RIGHT, &["full", "empty", "false head cleared"]),
            wrong("C0 relaxed", Variant { c0: Relaxed, ..RIGHT }, DATA_RACE),
            wrong("C3 relaxed", Variant { c3: Relaxed, ..RIGHT }, DATA_RACE),
            wrong("D1 relaxed", Variant { d1: Relaxed, ..RIGHT }, DATA_RACE),
            wrong("D3 relaxed", Variant { d3: Relaxed, ..RIGHT }, DATA_RACE),
            wrong("D3 before the copy", Variant { received_after_copy: false, ..RIGHT }, DATA_RACE),
            wrong("room one unit too wide", Variant { room: Room::OneTooWide, ..RIGHT }, DATA_RACE),
            wrong(
                "the size after C3",
                Variant { producer: &[ClearFalse, StoreOthers, StoreFirst, StoreSize], ..RIGHT },
                DATA_RACE,
            ),
            wrong("no C2", Variant { clear: Clear::Nowhere, ..RIGHT }, NO_FRAME),
            wrong(
                "C2 after C3",
                Variant { producer: &[StoreSize, StoreOthers, StoreFirst, ClearFalse], ..RIGHT },
                NO_FRAME,
            ),
            wrong("the same lap always", Variant { lap: Lap::Always(1), ..RIGHT }, NO_FRAME),
            wrong("laps from zero on", Variant { lap: Lap::FromZero, ..RIGHT }, NO_FRAME),
            wrong(
                "C2 only before the end of the long frame",
                Variant { until: Until::EndOfClaims, ..RIGHT },
                NO_FRAME,
            ),
        ],
    );
}

#[test]
fn a_frame_that_wraps_comes_with_the_padding_before_it() {
    judge(
        "frames: a frame that wraps comes with the padding before it",
        Depth::Preemptions(5),
        model,
        &[
            right("the protocol", WRAPPING, &["full", "empty", "padding", "false head cleared"]),
            wrong(
                "padding stored before the wrapped frame",
                Variant { producer: &[StoreSize, ClearFalse, StoreFirst, StoreOthers], ..WRAPPING },
                INCOMPLETE,
            ),
            wrong(
                "C2 behind the padding only",
                Variant { clear: Clear::BehindFirst, ..WRAPPING },
                NO_FRAME,
            ),
            wrong(
                "C2 replaces whatever is there",
                Variant {
                    producer: &[StoreSize, ClearAnything, StoreOthers, StoreFirst],
                    ..WRAPPING
                },
                VANISHED,
            ),
            wrong(
                "room without the padding",
                Variant { room: Room::WithoutPadding, ..WRAPPING },
                DATA_RACE,
            ),
        ],
    );
}

#[test]
fn a_batch_comes_as_a_whole() {
    const FIRST_FIRST: &[Step] = &[StoreSize, ClearFalse, StoreFirst, StoreOthers];
    const FILLING: Variant = Variant { session: FULL, ..RIGHT };
    const BEHIND_LAST: Variant = Variant { clear: Clear::BehindLast, ..BATCHED };
    judge(
        "frames: a batch comes as a whole",
        Depth::Exhaustive,
        model,
        &[
            right("the protocol", BATCHED, &["empty", "false head cleared"]),
            right("C2 behind the last only", BEHIND_LAST, &["empty", "false head cleared"]),
            right("a batch that fills the ring", FILLING, &["false head cleared"]),
            wrong(
                "C2 stores the lap before",
                Variant { cleared: Cleared::LapBefore, ..FILLING },
                NO_FRAME,
            ),
            wrong("the first head first", Variant { producer: FIRST_FIRST, ..BATCHED }, INCOMPLETE),
            wrong(
                "the first head first, C2 behind the last",
                Variant { producer: FIRST_FIRST, ..BEHIND_LAST },
                NO_FRAME,
            ),
            wrong(
                "C2 behind the first only",
                Variant { clear: Clear::BehindFirst, ..BATCHED },
                NO_FRAME,
            ),
            wrong(
                "C2 behind what was claimed",
                Variant { clear: Clear::BehindClaim, ..BATCHED },
                NO_FRAME,
            ),
        ],
    );
}

#[test]
fn what_is_older_than_a_lap_is_looked_at() {
    const ABORTING: Variant = Variant { session: ABORT, ..RIGHT };
    const SKIPPING: Variant = Variant { session: SKIP, ..RIGHT };
    judge(
        "frames: C2 is for what long claims have left, and nothing else",
        Depth::Preemptions(3),
        model,
        &[
            right("short messages", Variant { session: SHORT, ..RIGHT }, &["full", "no look"]),
            right("an aborted claim", ABORTING, &["empty", "false head cleared"]),
            wrong(
                "C2 only behind what was committed",
                Variant { until: Until::LapBehindFrames, ..ABORTING },
                NO_FRAME,
            ),
            right("a place that padding skips", SKIPPING, &["padding", "false head cleared"]),
            wrong("no C2 there", Variant { until: Until::EndOfClaims, ..SKIPPING }, NO_FRAME),
        ],
    );
}
