//! The archive: a slot is not overwritten before the journal has it (`store_head`, `load_head`,
//! `store_archived`, `load_archived`, and the gate by whole blocks).
//!
//! The disk reads slots directly from the ring's memory, in an order that we do not control.
//! Therefore the slots are plain memory here: loom finds a race unless every write to a slot is
//! ordered before the read, and every read before the next lap's write. gate.rs models how the
//! publisher waits at the gate.

use crate::judge::{judge, right, wrong, Depth, Sightings, DATA_RACE};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use std::sync::Arc;
use Ordering::{Acquire, Relaxed, Release};

const CAPACITY: u64 = 2;
/// Slots in a journal block. A block that is not full yet is written again as it fills.
const BLOCK: u64 = 2;
const LAST: u64 = 3;

#[derive(Clone, Copy)]
enum Gate {
    ByBlock,
    ByRecord,
    OneTooWide,
}

#[derive(Clone, Copy)]
struct Variant {
    gate: Gate,
    head_store: Ordering,
    head_load: Ordering,
    archived_store: Ordering,
    archived_load: Ordering,
    archived_after_write: bool,
}

const RIGHT: Variant = Variant {
    gate: Gate::ByBlock,
    head_store: Release,
    head_load: Acquire,
    archived_store: Release,
    archived_load: Acquire,
    archived_after_write: true,
};

type Disk = [u64; LAST as usize];

struct Ring {
    slots: [UnsafeCell<u64>; CAPACITY as usize],
    head: AtomicU64,
    archived: AtomicU64,
}

// SAFETY: loom checks whether the slots are safe to share.
unsafe impl Sync for Ring {}

impl Ring {
    fn new() -> Self {
        Self {
            slots: [UnsafeCell::new(0), UnsafeCell::new(0)],
            head: AtomicU64::new(0),
            archived: AtomicU64::new(0),
        }
    }

    fn slot(&self, n: u64) -> &UnsafeCell<u64> {
        &self.slots[((n - 1) % CAPACITY) as usize]
    }

    fn limit(&self, v: Variant) -> u64 {
        let archived = self.archived.load(v.archived_load);
        let archived_blocks = archived / BLOCK * BLOCK;
        match v.gate {
            Gate::ByBlock => archived_blocks + CAPACITY,
            Gate::ByRecord => archived + CAPACITY,
            Gate::OneTooWide => archived_blocks + CAPACITY + 1,
        }
    }

    fn publish(&self, v: Variant) {
        for n in 1..=LAST {
            while n > self.limit(v) {
                thread::yield_now();
            }
            // SAFETY: loom checks that nothing else accesses the slot meanwhile.
            self.slot(n).with_mut(|slot| unsafe { *slot = n });
            self.head.store(n, v.head_store);
        }
    }

    fn archive(&self, v: Variant, seen: &Sightings) -> Disk {
        let mut disk = [0; LAST as usize];
        let mut archived = 0;
        while archived < LAST {
            let head = self.head.load(v.head_load);
            if head == archived {
                thread::yield_now();
                continue;
            }
            let first = archived / BLOCK * BLOCK + 1;
            let last = head.min(first + BLOCK - 1);
            if first <= archived {
                seen.saw("block written again");
            }
            if !v.archived_after_write {
                self.archived.store(last, v.archived_store);
            }
            for n in first..=last {
                // SAFETY: as in publish.
                disk[n as usize - 1] = self.slot(n).with(|slot| unsafe { *slot });
            }
            if v.archived_after_write {
                self.archived.store(last, v.archived_store);
            }
            archived = last;
        }
        disk
    }
}

fn model(v: Variant, seen: &Sightings) {
    let ring = Arc::new(Ring::new());
    let publisher = {
        let ring = ring.clone();
        thread::spawn(move || ring.publish(v))
    };
    let disk = ring.archive(v, seen);
    publisher.join().unwrap();
    assert!(disk == [1, 2, 3], "the disk holds {disk:?}");
}

#[test]
fn no_slot_is_overwritten_before_it_is_archived() {
    judge(
        "archive: no slot is overwritten before it is archived",
        Depth::Exhaustive,
        model,
        &[
            right("the protocol", RIGHT, &["block written again"]),
            wrong("head stored relaxed", Variant { head_store: Relaxed, ..RIGHT }, DATA_RACE),
            wrong("head loaded relaxed", Variant { head_load: Relaxed, ..RIGHT }, DATA_RACE),
            wrong(
                "archived stored relaxed",
                Variant { archived_store: Relaxed, ..RIGHT },
                DATA_RACE,
            ),
            wrong(
                "archived loaded relaxed",
                Variant { archived_load: Relaxed, ..RIGHT },
                DATA_RACE,
            ),
            wrong(
                "archived before the write has ended",
                Variant { archived_after_write: false, ..RIGHT },
                DATA_RACE,
            ),
            wrong("gate by record", Variant { gate: Gate::ByRecord, ..RIGHT }, DATA_RACE),
            wrong("gate one slot too wide", Variant { gate: Gate::OneTooWide, ..RIGHT }, DATA_RACE),
        ],
    );
}
