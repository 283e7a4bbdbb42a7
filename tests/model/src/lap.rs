//! Lap arithmetic: how a reader interprets a stamp that is not the expected one
//! (`resume_after_lap`, `stamp_is_corrupt`).
//!
//! Only the slot of sequence 1 is modelled: three laps pass over it while a reader wants record 1.
//! Records published in a batch can be read immediately, while head moves at the end of the batch,
//! or earlier. Therefore head may be as far behind the stamps as the publisher allows: one
//! capacity.

use crate::judge::{judge, right, wrong, Depth, Sightings};
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use std::cmp::max;
use std::sync::Arc;
use Ordering::{Acquire, Relaxed, Release};

const WANTED: u64 = 1;
const LAP_COUNT: u64 = 3;

#[derive(Clone, Copy)]
struct Variant {
    capacity: u64,
    w1: Ordering,
    r3: Ordering,
    head_moves_each_lap: bool,
    head_after_stamp: bool,
    lead_from_stamp_too: bool,
    checks_corrupt: bool,
}

const RIGHT: Variant = Variant {
    capacity: 16,
    w1: Release,
    r3: Acquire,
    head_moves_each_lap: true,
    head_after_stamp: true,
    lead_from_stamp_too: true,
    checks_corrupt: true,
};

/// `resume_after_lap` without `stamp_is_corrupt`: it needs only weaker orders.
const RESUME_ONLY: Variant = Variant { w1: Relaxed, r3: Relaxed, checks_corrupt: false, ..RIGHT };

struct Ring {
    stamp: AtomicU64,
    head: AtomicU64,
}

fn publish_batch(ring: &Ring, v: Variant) {
    for lap in 0..LAP_COUNT {
        let n = lap * v.capacity + WANTED;
        if v.head_moves_each_lap && lap > 0 {
            ring.head.store(n - v.capacity, Release); // W4
        }
        ring.stamp.store(2 * n - 1, v.w1); // W1
        ring.stamp.store(2 * n, Release); // W3
    }
    ring.head.store((LAP_COUNT - 1) * v.capacity + WANTED, Release); // W4
}

fn read(ring: &Ring, v: Variant, seen: &Sightings) {
    let early_head = if v.head_after_stamp { 0 } else { ring.head.load(Acquire) };
    let mut stamp = ring.stamp.load(Acquire); // R1
    let mut place = "lapped at R1";
    if stamp == 2 * WANTED {
        stamp = ring.stamp.load(v.r3); // R3
        place = "lapped at R3";
    }
    if stamp <= 2 * WANTED {
        return seen.saw("not lapped");
    }
    seen.saw(place);
    let head = if v.head_after_stamp { ring.head.load(Acquire) } else { early_head };
    if stamp / 2 > head {
        seen.saw("stamp ahead of head");
    }
    if v.checks_corrupt {
        assert_plausible(stamp, head, v.capacity);
    }
    assert_resumes_in_ring(stamp, head, v);
}

fn assert_plausible(stamp: u64, head: u64, capacity: u64) {
    let m = stamp.div_ceil(2); // stamp_sequence
    let is_corrupt = m > head && m - head > capacity; // stamp_is_corrupt
    assert!(!is_corrupt, "cried wolf: stamp {stamp}, head {head}");
}

fn assert_resumes_in_ring(stamp: u64, head: u64, v: Variant) {
    let published = stamp / 2; // stamp_published
    let lead = if v.lead_from_stamp_too { max(head, published) } else { head };
    let keep = v.capacity - v.capacity / 8;
    let resume = max(WANTED + 1, lead.saturating_sub(keep)); // resume_after_lap

    // From W1 on, the slot's record of the previous lap is gone.
    let oldest = stamp.div_ceil(2) - v.capacity + 1;
    assert!(resume >= oldest, "resumes at {resume}, below the oldest, {oldest}");
    assert!(resume <= max(head, published), "resumes at {resume}, which is not published");
}

fn model(v: Variant, seen: &Sightings) {
    let ring = Arc::new(Ring { stamp: AtomicU64::new(0), head: AtomicU64::new(0) });
    let publisher = {
        let ring = ring.clone();
        thread::spawn(move || publish_batch(&ring, v))
    };
    read(&ring, v, seen);
    publisher.join().unwrap();
}

#[test]
fn a_lapped_reader_resumes_at_what_exists_and_never_cries_wolf() {
    const EVENTS: &[&str] = &["not lapped", "lapped at R1", "lapped at R3", "stamp ahead of head"];
    const RESUMES_BELOW: &str = "below the oldest";
    const CRIED_WOLF: &str = "cried wolf";
    judge(
        "lap: a lapped reader resumes at what exists and never cries wolf",
        Depth::Exhaustive,
        model,
        &[
            right("the protocol", RIGHT, EVENTS),
            right("W1 and R3 relaxed, resume only", RESUME_ONLY, EVENTS),
            wrong(
                "resume from head alone",
                Variant { lead_from_stamp_too: false, ..RIGHT },
                RESUMES_BELOW,
            ),
            wrong(
                "a ring of 8: its eighth is one slot",
                Variant { capacity: 8, ..RIGHT },
                RESUMES_BELOW,
            ),
            wrong(
                "head loaded before the stamp",
                Variant { head_after_stamp: false, ..RIGHT },
                CRIED_WOLF,
            ),
            wrong(
                "head moves only when the batch ends",
                Variant { head_moves_each_lap: false, ..RIGHT },
                CRIED_WOLF,
            ),
            wrong("W1 relaxed", Variant { w1: Relaxed, ..RIGHT }, CRIED_WOLF),
            wrong("R3 relaxed", Variant { r3: Relaxed, ..RIGHT }, CRIED_WOLF),
        ],
    );
}
