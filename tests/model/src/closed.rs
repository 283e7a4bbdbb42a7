//! The end of a session: a reader that sees `kClosed` tries its slot once more before it accepts
//! the end (`store_ring_state`, `load_ring_state`).
//!
//! The slot of the last record is reduced to its stamp.

use crate::judge::{judge, right, wrong, Depth, Sightings};
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use std::sync::Arc;
use Ordering::{Acquire, Relaxed, Release};

const RUNNING: u64 = 1;
const CLOSED: u64 = 2;

#[derive(Clone, Copy)]
struct Variant {
    record_before_close: bool,
    state_store: Ordering,
    state_load: Ordering,
    looks_again: bool,
}

const RIGHT: Variant = Variant {
    record_before_close: true,
    state_store: Release,
    state_load: Acquire,
    looks_again: true,
};

struct Ring {
    stamp: AtomicU64,
    state: AtomicU64,
}

impl Ring {
    fn publish_last(&self) {
        self.stamp.store(1, Release); // W1
        self.stamp.store(2, Release); // W3
    }

    fn holds_last(&self) -> bool {
        self.stamp.load(Acquire) == 2 // R1
    }
}

fn publish_and_close(ring: &Ring, v: Variant) {
    if v.record_before_close {
        ring.publish_last();
    }
    ring.state.store(CLOSED, v.state_store);
    if !v.record_before_close {
        ring.publish_last();
    }
}

fn read_to_the_end(ring: &Ring, v: Variant, seen: &Sightings) {
    if ring.holds_last() {
        seen.saw("read at once");
    } else if ring.state.load(v.state_load) != CLOSED {
        seen.saw("still running");
    } else if v.looks_again && ring.holds_last() {
        seen.saw("read by looking again");
    } else {
        panic!("believed the end and lost the last record");
    }
}

fn model(v: Variant, seen: &Sightings) {
    let ring = Arc::new(Ring { stamp: AtomicU64::new(0), state: AtomicU64::new(RUNNING) });
    let publisher = {
        let ring = ring.clone();
        thread::spawn(move || publish_and_close(&ring, v))
    };
    read_to_the_end(&ring, v, seen);
    publisher.join().unwrap();
}

#[test]
fn a_reader_that_believes_the_end_has_every_record() {
    const LOST: &str = "lost the last record";
    judge(
        "closed: a reader that believes the end has every record",
        Depth::Exhaustive,
        model,
        &[
            right(
                "the protocol",
                RIGHT,
                &["read at once", "still running", "read by looking again"],
            ),
            wrong("does not look again", Variant { looks_again: false, ..RIGHT }, LOST),
            wrong(
                "closed before the last record",
                Variant { record_before_close: false, ..RIGHT },
                LOST,
            ),
            wrong("state stored relaxed", Variant { state_store: Relaxed, ..RIGHT }, LOST),
            wrong("state loaded relaxed", Variant { state_load: Relaxed, ..RIGHT }, LOST),
        ],
    );
}
