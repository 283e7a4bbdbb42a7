//! The frames of a channel: C0 to C3 against D1 to D3 (`store_frame_stamp`, `load_frame_stamp`,
//! `clear_false_stamp`, `store_frame_size`, `store_short_payload`, `store_received`, `load_received`).
//!
//! What a consumer takes is a message that was committed, whole, in order and once; and it stays as
//! it is until it is released. Every payload is the worst there is: where a frame will begin, the
//! stamp that this frame will have.

use crate::frame_memory::{lay_out, Frame, Message, Rest, Ring, Word, PADDING};
use crate::judge::{judge, right, wrong, Depth, Sightings, DATA_RACE};
use loom::sync::atomic::Ordering;
use loom::thread;
use std::sync::Arc;
use Ordering::{Acquire, Relaxed, Release};
use Step::{ClearAnything, ClearFalse, StampFirst, StampOthers, StoreSize};

const ONE: Message = Message { units: 1, claimed: 1 };
const TWO: Message = Message { units: 2, claimed: 2 };
const THREE: Message = Message { units: 3, claimed: 3 };
const ONE_OF_TWO: Message = Message { units: 1, claimed: 2 };

/// What is sent through a ring of how many units: message by message, or several in a batch.
#[derive(Clone, Copy)]
struct Session {
    capacity: u64,
    commits: &'static [&'static [Message]],
}

/// The first fills the ring, and lies where the third will begin.
const LAPS: Session = Session { capacity: 2, commits: &[&[TWO], &[ONE], &[ONE]] };
/// The third would cross the end. The second lies where the fourth will begin.
const WRAP: Session = Session { capacity: 4, commits: &[&[ONE, TWO], &[TWO], &[ONE]] };
/// What was claimed and not used lies where the second and the third will begin. A claim that was
/// aborted leaves the same behind.
const BATCH: Session = Session { capacity: 4, commits: &[&[ONE_OF_TWO, ONE_OF_TWO], &[ONE]] };

/// The first lies where the third and the fourth will begin, and is there yet, or not any more, when
/// the second looks ahead.
const SHORT: Session = Session { capacity: 4, commits: &[&[THREE], &[ONE], &[ONE], &[ONE]] };
/// The first looks ahead to where the second ends, and what was claimed for that lies there then.
const SHORT_OF_LONG: Session = Session { capacity: 4, commits: &[&[ONE], &[ONE_OF_TWO], &[ONE]] };

/// What tells a frame that is there from what was there before.
#[derive(Clone, Copy)]
enum Stamp {
    PositionPlusOne,
    Position,
    Flag,
}

/// Where C2 looks for a false stamp.
#[derive(Clone, Copy)]
enum Clear {
    BehindEach,
    BehindLast,
    BehindClaim,
    BehindFirst,
    Nowhere,
}

/// Whether C2 is done behind the C3 before, for the next frame, should that be one of one unit.
#[derive(Clone, Copy, PartialEq)]
enum Ahead {
    Never,
    WhereReleased, // and not counted as done once a longer claim was written
    Anywhere,
    OnceAndForAll, // whatever is claimed and written then
}

/// What the producer does once the payload is written.
#[derive(Clone, Copy)]
enum Step {
    StoreSize,     // C1
    ClearFalse,    // C2
    ClearAnything, // C2, without asking whether it is a false stamp
    StampOthers,   // C3 of all frames of the commit but the first
    StampFirst,    // C3
}

/// How far the producer believes that it may write.
#[derive(Clone, Copy)]
enum Room {
    Exact,
    OneTooWide,
    WithoutPadding,
}

#[derive(Clone, Copy)]
struct Variant {
    session: Session,
    stamp: Stamp,
    clear: Clear,
    producer: &'static [Step],
    room: Room,
    ahead: Ahead,
    c0: Ordering,
    c3: Ordering,
    d1: Ordering,
    d3: Ordering,
    received_after_copy: bool,
}

const RIGHT: Variant = Variant {
    session: LAPS,
    stamp: Stamp::PositionPlusOne,
    clear: Clear::BehindEach,
    producer: &[StoreSize, ClearFalse, StampOthers, StampFirst],
    room: Room::Exact,
    ahead: Ahead::Never,
    c0: Acquire,
    c3: Release,
    d1: Acquire,
    d3: Release,
    received_after_copy: true,
};

const WRAPPING: Variant = Variant { session: WRAP, ..RIGHT };
const BATCHED: Variant = Variant { session: BATCH, ..RIGHT };
const LOOKING_AHEAD: Variant = Variant { session: SHORT, ahead: Ahead::WhereReleased, ..RIGHT };

fn stamp(position: u64, v: Variant) -> u64 {
    match v.stamp {
        Stamp::PositionPlusOne => position + 1,
        Stamp::Position => position,
        Stamp::Flag => 1,
    }
}

struct Producer<'a> {
    ring: &'a Ring,
    v: Variant,
    seen: &'a Sightings,
}

impl Producer<'_> {
    fn send_all(&self) {
        let mut position = 0;
        let mut number = 1;
        let mut clean = None;
        for messages in self.v.session.commits {
            let frames = lay_out(position, number, messages, self.ring.capacity());
            let limit = self.wait_for_room(&frames);
            if frames.iter().any(|frame| frame.claimed > 1) && self.v.ahead != Ahead::OnceAndForAll {
                clean = None;
            }
            frames.iter().for_each(|frame| self.write_payload(frame));
            self.v.producer.iter().for_each(|step| self.run(*step, &frames, clean));
            position = frames.last().unwrap().end();
            number += messages.len() as u64;
            clean = self.look_ahead(position + 1, limit);
        }
        self.ring.is_gone.store(true, Release);
    }

    /// C0. Up to where may be written, as far as is known then.
    fn wait_for_room(&self, frames: &[Frame]) -> u64 {
        let last = frames.last().unwrap();
        let mut limit = last.at + last.claimed;
        match self.v.room {
            Room::Exact => {}
            Room::OneTooWide => limit -= 1,
            Room::WithoutPadding => {
                let is_padding = |frame: &&Frame| frame.rest.number == PADDING;
                limit -= frames.iter().filter(is_padding).map(|f| f.rest.units).sum::<u64>();
            }
        }
        loop {
            let room = self.ring.received.load(self.v.c0) + self.ring.capacity();
            if limit <= room {
                return room;
            }
            self.seen.saw("full");
            thread::yield_now();
        }
    }

    /// C2 of a frame that will end at `end`. Where it is done.
    fn look_ahead(&self, end: u64, limit: u64) -> Option<u64> {
        let looks = match self.v.ahead {
            Ahead::Never => false,
            Ahead::Anywhere => true,
            Ahead::WhereReleased | Ahead::OnceAndForAll => end <= limit,
        };
        if looks && self.clear_at(end, |word, stamp| word == stamp) {
            self.seen.saw("false stamp cleared ahead");
        }
        looks.then_some(end)
    }

    /// The payload's part of C1.
    fn write_payload(&self, frame: &Frame) {
        if frame.rest.number == PADDING {
            return;
        }
        for i in 1..frame.claimed {
            let (position, is_used) = (frame.at + i, i < frame.rest.units);
            let word = self.ring.payload(position, is_used);
            self.ring.first_word(position).store(word, Relaxed);
            self.ring.write_rest(position, frame.rest);
        }
    }

    fn run(&self, step: Step, frames: &[Frame], clean: Option<u64>) {
        match step {
            StoreSize => frames.iter().for_each(|f| self.ring.write_rest(f.at, f.rest)),
            ClearFalse => self.clear(frames, clean, |word, stamp| word == stamp),
            ClearAnything => self.clear(frames, clean, |_, _| true),
            StampOthers => frames[1..].iter().for_each(|frame| self.store_stamp(frame)),
            StampFirst => self.store_stamp(&frames[0]),
        }
    }

    /// C2.
    fn clear(&self, frames: &[Frame], clean: Option<u64>, is_cleared: fn(u64, u64) -> bool) {
        let last = frames.last().unwrap();
        let places: Vec<u64> = match self.v.clear {
            Clear::BehindEach => frames.iter().map(Frame::end).collect(),
            Clear::BehindLast => vec![last.end()],
            Clear::BehindClaim => vec![last.at + last.claimed],
            Clear::BehindFirst => vec![frames[0].end()],
            Clear::Nowhere => vec![],
        };
        for position in places {
            if Some(position) != clean && self.clear_at(position, is_cleared) {
                self.seen.saw("false stamp cleared");
            }
        }
    }

    fn clear_at(&self, position: u64, is_cleared: fn(u64, u64) -> bool) -> bool {
        let word = self.ring.first_word(position);
        let value = Word::unpack(word.load(Relaxed)).value;
        let clears = is_cleared(value, stamp(position, self.v));
        if clears {
            word.store(Word::payload(0).pack(), Relaxed);
        }
        clears
    }

    /// C3.
    fn store_stamp(&self, frame: &Frame) {
        let word = Word { value: stamp(frame.at, self.v), committed_at: Some(frame.at) };
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
        let mut position = 0;
        let mut more_follow = false;
        let last = self.v.session.commits.iter().map(|messages| messages.len() as u64).sum();
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
        let is_there = word.value == stamp(position, self.v);
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
            let is_whole = word == self.ring.payload(position + i, true)
                && self.ring.read_rest(position + i) == rest;
            assert!(is_whole, "the payload of {rest:?} is not whole");
        }
        rest
    }
}

fn model(v: Variant, seen: &Sightings) {
    let ring = Arc::new(Ring::new(v.session.capacity));
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
const NOT_WHOLE: &str = "is not whole";

#[test]
fn what_the_consumer_takes_is_what_was_committed() {
    judge(
        "frames: what the consumer takes is what was committed, and stays until it is released",
        Depth::Exhaustive,
        model,
        &[
            right("the protocol", RIGHT, &["full", "empty", "false stamp cleared"]),
            wrong("C0 relaxed", Variant { c0: Relaxed, ..RIGHT }, DATA_RACE),
            wrong("C3 relaxed", Variant { c3: Relaxed, ..RIGHT }, DATA_RACE),
            wrong("D1 relaxed", Variant { d1: Relaxed, ..RIGHT }, DATA_RACE),
            wrong("D3 relaxed", Variant { d3: Relaxed, ..RIGHT }, DATA_RACE),
            wrong("D3 before the copy", Variant { received_after_copy: false, ..RIGHT }, DATA_RACE),
            wrong("room one unit too wide", Variant { room: Room::OneTooWide, ..RIGHT }, DATA_RACE),
            wrong(
                "size and type after C3",
                Variant { producer: &[ClearFalse, StampOthers, StampFirst, StoreSize], ..RIGHT },
                DATA_RACE,
            ),
            wrong("no C2", Variant { clear: Clear::Nowhere, ..RIGHT }, NO_FRAME),
            wrong(
                "C2 after C3",
                Variant { producer: &[StoreSize, StampOthers, StampFirst, ClearFalse], ..RIGHT },
                NO_FRAME,
            ),
            wrong(
                "C2 clears whatever stands there",
                Variant { producer: &[StoreSize, ClearAnything, StampOthers, StampFirst], ..RIGHT },
                VANISHED,
            ),
            wrong("a flag for a stamp", Variant { stamp: Stamp::Flag, ..RIGHT }, NO_FRAME),
            wrong(
                "the bare position for a stamp",
                Variant { stamp: Stamp::Position, ..RIGHT },
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
            right("the protocol", WRAPPING, &["full", "empty", "padding", "false stamp cleared"]),
            wrong(
                "padding stamped before the wrapped frame",
                Variant { producer: &[StoreSize, ClearFalse, StampFirst, StampOthers], ..WRAPPING },
                INCOMPLETE,
            ),
            wrong(
                "C2 behind the padding only",
                Variant { clear: Clear::BehindFirst, ..WRAPPING },
                NO_FRAME,
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
    const FIRST_FIRST: &[Step] = &[StoreSize, ClearFalse, StampFirst, StampOthers];
    const BEHIND_LAST: Variant = Variant { clear: Clear::BehindLast, ..BATCHED };
    judge(
        "frames: a batch comes as a whole",
        Depth::Exhaustive,
        model,
        &[
            right("the protocol", BATCHED, &["empty", "false stamp cleared"]),
            right("C2 behind the last only", BEHIND_LAST, &["empty", "false stamp cleared"]),
            wrong(
                "the first stamp first",
                Variant { producer: FIRST_FIRST, ..BATCHED },
                INCOMPLETE,
            ),
            wrong(
                "the first stamp first, C2 behind the last",
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
fn a_false_stamp_may_be_cleared_ahead() {
    judge(
        "frames: C2 may be done behind the commit before",
        Depth::Preemptions(5),
        model,
        &[
            right("the protocol", LOOKING_AHEAD, &["full", "empty", "false stamp cleared ahead"]),
            right(
                "a longer claim comes after it",
                Variant { session: SHORT_OF_LONG, ..LOOKING_AHEAD },
                &["empty", "false stamp cleared"],
            ),
            wrong(
                "where the consumer still reads",
                Variant { ahead: Ahead::Anywhere, ..LOOKING_AHEAD },
                NOT_WHOLE,
            ),
            wrong(
                "and not again behind a longer claim",
                Variant {
                    session: SHORT_OF_LONG,
                    ahead: Ahead::OnceAndForAll,
                    ..LOOKING_AHEAD
                },
                NO_FRAME,
            ),
        ],
    );
}
