//! The idle flag: F1 to F4 against Q1 to Q3 (`IdleFlag`), with one sleeper and with two.
//!
//! F2, membarrier(PRIVATE_EXPEDITED), and Q2, a compiler barrier, are modelled together as a full
//! fence on both sides: the kernel makes the publishing thread execute one between F1 and F3, and a
//! compiler barrier is all that thread needs for that fence to fall between Q1 and Q3, before Q1 or
//! after Q3. Neither half is worth anything alone, as the variants show.

use crate::judge::{judge, right, wrong, Depth, Sightings, LOST_WAKE_UP};
use crate::kernel::EventFd;
use loom::sync::atomic::{fence, AtomicU32, AtomicU64, Ordering};
use loom::thread;
use std::sync::Arc;
use Ordering::{Acquire, Relaxed, Release, SeqCst};

const LAST: u64 = 2;

#[derive(Clone, Copy)]
pub struct Variant {
    sleeper_count: usize,
    eventfd_each: bool,
    sleeper_barrier: bool,
    publisher_barrier: bool,
    looks_again: bool,
    head_before_flag: bool,
    lowers_before_write: bool,
}

pub const RIGHT: Variant = Variant {
    sleeper_count: 1,
    eventfd_each: true,
    sleeper_barrier: true,
    publisher_barrier: true,
    looks_again: true,
    head_before_flag: true,
    lowers_before_write: true,
};

const TWO_SLEEPERS: Variant = Variant { sleeper_count: 2, ..RIGHT };

/// An `IdleFlag` with the eventfd that its thread sleeps on.
pub struct Sleeper {
    flag: AtomicU32,
    eventfd: Arc<EventFd>,
}

impl Sleeper {
    pub fn new(eventfd: Arc<EventFd>) -> Self {
        Self { flag: AtomicU32::new(0), eventfd }
    }

    /// What the service thread or the file thread does when it has nothing to do.
    pub fn sleep_unless(&self, head_moved: impl Fn() -> bool, v: Variant, seen: &Sightings) {
        self.flag.store(1, Relaxed); // F1, raise()
        if v.sleeper_barrier {
            fence(SeqCst); // F2
        }
        if v.looks_again && head_moved() {
            self.flag.store(0, Relaxed); // F3, lower()
            seen.saw("stayed awake");
            return;
        }
        seen.saw("slept");
        self.eventfd.read(); // F4
    }

    /// What the publishing thread does after it has moved head: take(), and then the eventfd.
    pub fn wake(&self, v: Variant) {
        if v.publisher_barrier {
            fence(SeqCst); // Q2
        }
        if self.flag.load(Relaxed) == 0 {
            return;
        }
        if v.lowers_before_write {
            self.flag.store(0, Relaxed); // Q3
            self.eventfd.write();
        } else {
            self.eventfd.write();
            self.flag.store(0, Relaxed);
        }
    }
}

struct Process {
    head: AtomicU64,
    sleepers: Vec<Sleeper>,
}

impl Process {
    fn new(v: Variant) -> Self {
        let shared = Arc::new(EventFd::new());
        let eventfd = || if v.eventfd_each { Arc::new(EventFd::new()) } else { shared.clone() };
        let sleepers = (0..v.sleeper_count).map(|_| Sleeper::new(eventfd())).collect();
        Self { head: AtomicU64::new(0), sleepers }
    }

    fn publish(&self, v: Variant) {
        let wake_sleepers = || self.sleepers.iter().for_each(|sleeper| sleeper.wake(v));
        for n in 1..=LAST {
            if !v.head_before_flag {
                wake_sleepers();
            }
            self.head.store(n, Release); // Q1
            if v.head_before_flag {
                wake_sleepers();
            }
        }
    }

    fn follow(&self, sleeper: &Sleeper, v: Variant, seen: &Sightings) {
        let mut position = 0;
        while position < LAST {
            let head = self.head.load(Acquire);
            if head == position {
                let head_moved = || self.head.load(Acquire) != position;
                sleeper.sleep_unless(head_moved, v, seen);
            }
            position = head;
        }
    }
}

fn model(v: Variant, seen: &Sightings) {
    let process = Arc::new(Process::new(v));
    let publisher = {
        let process = process.clone();
        thread::spawn(move || process.publish(v))
    };
    let other_sleepers: Vec<_> = (1..v.sleeper_count)
        .map(|i| {
            let (process, seen) = (process.clone(), seen.clone());
            thread::spawn(move || process.follow(&process.sleepers[i], v, &seen))
        })
        .collect();
    process.follow(&process.sleepers[0], v, seen);
    publisher.join().unwrap();
    other_sleepers.into_iter().for_each(|sleeper| sleeper.join().unwrap());
}

#[test]
fn an_idle_thread_is_woken_by_the_next_record() {
    const LOST: &str = LOST_WAKE_UP;
    judge(
        "idle: an idle thread is woken by the next record",
        Depth::Exhaustive,
        model,
        &[
            right("the protocol", RIGHT, &["slept", "stayed awake"]),
            wrong(
                "no barrier on either side",
                Variant { sleeper_barrier: false, publisher_barrier: false, ..RIGHT },
                LOST,
            ),
            wrong(
                "barrier only in the publisher",
                Variant { sleeper_barrier: false, ..RIGHT },
                LOST,
            ),
            wrong(
                "barrier only in the sleeper",
                Variant { publisher_barrier: false, ..RIGHT },
                LOST,
            ),
            wrong("does not look again", Variant { looks_again: false, ..RIGHT }, LOST),
            wrong("flag looked at before head", Variant { head_before_flag: false, ..RIGHT }, LOST),
            wrong(
                "flag lowered after the eventfd",
                Variant { lowers_before_write: false, ..RIGHT },
                LOST,
            ),
        ],
    );
}

#[test]
fn two_idle_threads_are_both_woken() {
    judge(
        "idle: two idle threads are both woken",
        Depth::Preemptions(2),
        model,
        &[
            right("the protocol", TWO_SLEEPERS, &["slept", "stayed awake"]),
            wrong(
                "one eventfd for both",
                Variant { eventfd_each: false, ..TWO_SLEEPERS },
                LOST_WAKE_UP,
            ),
        ],
    );
}
