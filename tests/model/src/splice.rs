//! The splice between journal and ring: a record that a reader no longer finds in the ring is in
//! the journal, and the reader can detect this. At no time is a record in neither of them.
//!
//! A ring of one slot, with blocks of one record. The publisher overwrites record 1 once it is
//! archived. A reader that finds it lapped loads `archived` to determine how far it may read the
//! journal.

use crate::judge::{judge, right, wrong, Depth, Sightings};
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use std::sync::Arc;
use Ordering::{Acquire, Relaxed, Release};

#[derive(Clone, Copy)]
struct Variant {
    w1: Ordering,
    r1: Ordering,
    r3: Ordering,
    is_gated: bool,
    archived_after_lap: bool,
}

const RIGHT: Variant =
    Variant { w1: Release, r1: Acquire, r3: Acquire, is_gated: true, archived_after_lap: true };

struct Ring {
    stamp: AtomicU64,
    head: AtomicU64,
    archived: AtomicU64,
}

impl Ring {
    fn new() -> Self {
        Self { stamp: AtomicU64::new(0), head: AtomicU64::new(0), archived: AtomicU64::new(0) }
    }

    fn publish_two(&self, v: Variant) {
        for n in 1..=2 {
            while v.is_gated && n > self.archived.load(Acquire) + 1 {
                thread::yield_now();
            }
            self.stamp.store(2 * n - 1, v.w1); // W1
            self.stamp.store(2 * n, Release); // W3
            self.head.store(n, Release); // W4
        }
    }

    fn archive_one(&self) {
        while self.head.load(Acquire) == 0 {
            thread::yield_now();
        }
        self.archived.store(1, Release);
    }

    fn look_for_one(&self, v: Variant, seen: &Sightings) {
        let early_archived = if v.archived_after_lap { 0 } else { self.archived.load(Acquire) };
        let mut stamp = self.stamp.load(v.r1); // R1
        let mut place = "lapped at R1";
        if stamp == 2 {
            stamp = self.stamp.load(v.r3); // R3
            place = "lapped at R3";
        }
        if stamp <= 2 {
            return seen.saw("not lapped");
        }
        seen.saw(place);
        let archived =
            if v.archived_after_lap { self.archived.load(Acquire) } else { early_archived };
        assert!(archived >= 1, "record 1 is in neither: lapped by stamp {stamp}, archived 0");
    }
}

fn model(v: Variant, seen: &Sightings) {
    let ring = Arc::new(Ring::new());
    let publisher = {
        let ring = ring.clone();
        thread::spawn(move || ring.publish_two(v))
    };
    let file_thread = {
        let ring = ring.clone();
        thread::spawn(move || ring.archive_one())
    };
    ring.look_for_one(v, seen);
    publisher.join().unwrap();
    file_thread.join().unwrap();
}

#[test]
fn a_record_is_never_in_neither_ring_nor_journal() {
    const IN_NEITHER: &str = "in neither";
    judge(
        "splice: a record is never in neither ring nor journal",
        Depth::Exhaustive,
        model,
        &[
            right("the protocol", RIGHT, &["not lapped", "lapped at R1", "lapped at R3"]),
            wrong("no gate", Variant { is_gated: false, ..RIGHT }, IN_NEITHER),
            wrong(
                "archived loaded before the lap was seen",
                Variant { archived_after_lap: false, ..RIGHT },
                IN_NEITHER,
            ),
            wrong("W1 relaxed", Variant { w1: Relaxed, ..RIGHT }, IN_NEITHER),
            wrong("R1 relaxed", Variant { r1: Relaxed, ..RIGHT }, IN_NEITHER),
            wrong("R3 relaxed", Variant { r3: Relaxed, ..RIGHT }, IN_NEITHER),
        ],
    );
}
