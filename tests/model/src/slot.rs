//! The slot: W1 to W4 against R1 to R3 (`store_slot`, `load_slot`, `store_head`, `load_head`).
//!
//! A ring of one slot with a record of two words. A slot's laps do not affect other slots, so the
//! sequences 1 and 2 here represent n and n + capacity in any ring.

use crate::judge::{judge, right, wrong, Depth, Sightings};
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use std::sync::Arc;
use Ordering::{Acquire, Relaxed, Release};

/// The position of W1, the mark that a record is being written.
#[derive(Clone, Copy)]
enum Mark {
    BeforeWords(Ordering),
    AfterWords,
    Absent,
}

/// The stamps that R1 accepts for the copy.
#[derive(Clone, Copy)]
enum FirstLook {
    /// One comparison for "not yet". R3 detects the other cases, because a slot's stamps only grow:
    /// if R3 reads 2n, R1 cannot have read more.
    AtLeastReady,
    Ready,
    AtLeastBeingWritten,
    Anything,
}

/// The condition that R3 accepts as "still the same".
#[derive(Clone, Copy)]
enum Recheck {
    SameStamp(Ordering),
    SameStampOrNextMark,
    Anything,
}

#[derive(Clone, Copy)]
struct Variant {
    w1: Mark,
    w2: Ordering,
    w3: Ordering,
    w4: Ordering,
    r1: Ordering,
    first_look: FirstLook,
    r2: Ordering,
    r3: Recheck,
    head_load: Ordering,
}

const RIGHT: Variant = Variant {
    w1: Mark::BeforeWords(Release),
    w2: Release,
    w3: Release,
    w4: Release,
    r1: Acquire,
    first_look: FirstLook::AtLeastReady,
    r2: Acquire,
    r3: Recheck::SameStamp(Acquire),
    head_load: Acquire,
};

/// The minimum that the copy itself needs. lap.rs and splice.rs show why the product needs more.
const LEAST: Variant =
    Variant { w1: Mark::BeforeWords(Relaxed), r3: Recheck::SameStamp(Relaxed), ..RIGHT };

type Record = [u64; 2];

fn record(n: u64) -> Record {
    [10 * n, 10 * n + 1]
}

#[derive(PartialEq)]
enum Look {
    Record(Record),
    NotYet,
    LappedAtR1,
    LappedAtR3,
    LappedAtBoth,
}

struct Ring {
    stamp: AtomicU64,
    words: [AtomicU64; 2],
    head: AtomicU64,
}

impl Ring {
    fn new() -> Self {
        Self {
            stamp: AtomicU64::new(0),
            words: [AtomicU64::new(0), AtomicU64::new(0)],
            head: AtomicU64::new(0),
        }
    }

    fn publish(&self, n: u64, v: Variant) {
        if let Mark::BeforeWords(order) = v.w1 {
            self.stamp.store(2 * n - 1, order); // W1
        }
        for (word, value) in self.words.iter().zip(record(n)) {
            word.store(value, v.w2); // W2
        }
        if let Mark::AfterWords = v.w1 {
            self.stamp.store(2 * n - 1, Release);
        }
        self.stamp.store(2 * n, v.w3); // W3
        self.head.store(n, v.w4); // W4
    }

    fn try_read(&self, n: u64, v: Variant) -> Look {
        let before = self.stamp.load(v.r1); // R1
        let copies = match v.first_look {
            FirstLook::AtLeastReady => before >= 2 * n,
            FirstLook::Ready => before == 2 * n,
            FirstLook::AtLeastBeingWritten => before >= 2 * n - 1,
            FirstLook::Anything => true,
        };
        if !copies {
            return if before < 2 * n { Look::NotYet } else { Look::LappedAtR1 };
        }
        let copy = [self.words[0].load(v.r2), self.words[1].load(v.r2)]; // R2
        let after = match v.r3 {
            Recheck::SameStamp(order) => self.stamp.load(order), // R3
            Recheck::SameStampOrNextMark => match self.stamp.load(Acquire) {
                mark if mark == 2 * n + 1 => 2 * n,
                after => after,
            },
            Recheck::Anything => 2 * n,
        };
        if after == 2 * n {
            Look::Record(copy)
        } else if after < 2 * n {
            Look::NotYet
        } else if before > 2 * n {
            Look::LappedAtBoth
        } else {
            Look::LappedAtR3
        }
    }
}

fn note(look: &Look, seen: &Sightings) {
    seen.saw(match look {
        Look::Record(_) => "read",
        Look::NotYet => "not yet",
        Look::LappedAtR1 => "lapped at R1",
        Look::LappedAtR3 => "lapped at R3",
        Look::LappedAtBoth => "lapped at both",
    });
}

/// A publisher writes two laps while `reader` runs.
fn beside_two_laps(v: Variant, reader: impl FnOnce(&Ring)) {
    let ring = Arc::new(Ring::new());
    let publisher = {
        let ring = ring.clone();
        thread::spawn(move || (1..=2).for_each(|n| ring.publish(n, v)))
    };
    reader(&ring);
    publisher.join().unwrap();
}

fn read_each_lap(v: Variant, seen: &Sightings) {
    beside_two_laps(v, |ring| {
        for n in 1..=2 {
            let look = ring.try_read(n, v);
            note(&look, seen);
            if let Look::Record(copy) = look {
                assert!(copy == record(n), "torn: record {n} read as {copy:?}");
            }
        }
    });
}

fn read_what_head_names(v: Variant, seen: &Sightings) {
    beside_two_laps(v, |ring| {
        let head = ring.head.load(v.head_load);
        if head > 0 {
            let look = ring.try_read(head, v);
            note(&look, seen);
            assert!(look != Look::NotYet, "head says {head}, its slot says not yet");
        }
    });
}

#[test]
fn an_accepted_record_is_exactly_what_was_published() {
    const ALL_LOOKS: &[&str] = &["read", "not yet", "lapped at R3", "lapped at both"];
    const EXACT_LOOKS: &[&str] = &["read", "not yet", "lapped at R1", "lapped at R3"];
    let first_look = |first_look| Variant { first_look, ..RIGHT };
    const TORN: &str = "torn";
    judge(
        "slot: an accepted record is exactly what was published",
        Depth::Exhaustive,
        read_each_lap,
        &[
            right("the protocol", RIGHT, ALL_LOOKS),
            right("W1 and R3 relaxed", LEAST, ALL_LOOKS),
            right("R1 exact", first_look(FirstLook::Ready), EXACT_LOOKS),
            wrong("R1 passes an odd stamp", first_look(FirstLook::AtLeastBeingWritten), TORN),
            wrong("R1 compares nothing", first_look(FirstLook::Anything), TORN),
            wrong("no W1", Variant { w1: Mark::Absent, ..RIGHT }, TORN),
            wrong("W1 after the words", Variant { w1: Mark::AfterWords, ..RIGHT }, TORN),
            wrong("W2 relaxed", Variant { w2: Relaxed, ..LEAST }, TORN),
            wrong("W2 relaxed, W1 release in its stead", Variant { w2: Relaxed, ..RIGHT }, TORN),
            wrong("W3 relaxed", Variant { w3: Relaxed, ..RIGHT }, TORN),
            wrong("R1 relaxed", Variant { r1: Relaxed, ..RIGHT }, TORN),
            wrong("R2 relaxed", Variant { r2: Relaxed, ..LEAST }, TORN),
            wrong("R2 relaxed, R3 acquire in its stead", Variant { r2: Relaxed, ..RIGHT }, TORN),
            wrong("no R3", Variant { r3: Recheck::Anything, ..RIGHT }, TORN),
            wrong(
                "R3 accepts the next lap's odd stamp",
                Variant { r3: Recheck::SameStampOrNextMark, ..RIGHT },
                TORN,
            ),
        ],
    );
}

#[test]
fn a_record_that_head_names_is_in_its_slot_or_lapped() {
    const NOT_YET: &str = "not yet";
    judge(
        "slot: a record that head names is in its slot or lapped",
        Depth::Exhaustive,
        read_what_head_names,
        &[
            right("the protocol", RIGHT, &["read", "lapped at R3", "lapped at both"]),
            wrong("W4 relaxed", Variant { w4: Relaxed, ..RIGHT }, NOT_YET),
            wrong("head loaded relaxed", Variant { head_load: Relaxed, ..RIGHT }, NOT_YET),
        ],
    );
}
