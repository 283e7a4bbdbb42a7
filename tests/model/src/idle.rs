//! The attention word: F1 to F4 against Q1 to Q3 (`AttentionWord`), with one sleeper and with two.
//!
//! F2, membarrier(PRIVATE_EXPEDITED), and Q2, a compiler barrier, are modelled together as a full
//! fence on both sides. The kernel makes the publishing thread execute a fence between F1 and F3.
//! With a compiler barrier, that fence falls between Q1 and Q3, before Q1 or after Q3. Neither half
//! is sufficient alone, as the variants show.

use crate::judge::{judge, right, wrong, Depth, Sightings, LOST_WAKE_UP};
use crate::kernel::EventFd;
use loom::sync::atomic::{fence, AtomicU32, AtomicU64, Ordering};
use loom::thread;
use std::sync::Arc;
use Ordering::{Acquire, Relaxed, Release, SeqCst};

const LAST: u64 = 2;

/// How a sleeper changes its bit of the word. The other sleeper has another bit.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    OneStep,
    LoadThenStore,
}

#[derive(Clone, Copy)]
pub struct Variant {
    sleeper_count: usize,
    eventfd_each: bool,
    sleeper_barrier: bool,
    publisher_barrier: bool,
    looks_again: bool,
    head_before_word: bool,
    takes_before_write: bool,
    raises: Change,
    lowers: Change,
    takes: Change,
}

pub const RIGHT: Variant = Variant {
    sleeper_count: 1,
    eventfd_each: true,
    sleeper_barrier: true,
    publisher_barrier: true,
    looks_again: true,
    head_before_word: true,
    takes_before_write: true,
    raises: Change::OneStep,
    lowers: Change::OneStep,
    takes: Change::OneStep,
};

const TWO_SLEEPERS: Variant = Variant { sleeper_count: 2, ..RIGHT };

/// The word that the publishing thread checks, with one bit per sleeper.
#[derive(Default)]
pub struct AttentionWord(AtomicU32);

impl AttentionWord {
    fn raise(&self, bit: u32, v: Variant) {
        match v.raises {
            Change::OneStep => _ = self.0.fetch_or(bit, Relaxed),
            Change::LoadThenStore => self.0.store(self.0.load(Relaxed) | bit, Relaxed),
        }
    }

    fn lower(&self, bit: u32, v: Variant) {
        match v.lowers {
            Change::OneStep => _ = self.0.fetch_and(!bit, Relaxed),
            Change::LoadThenStore => self.0.store(self.0.load(Relaxed) & !bit, Relaxed),
        }
    }

    fn take(&self, v: Variant) -> u32 {
        match v.takes {
            Change::OneStep => self.0.swap(0, Relaxed),
            Change::LoadThenStore => {
                let raised = self.0.load(Relaxed);
                self.0.store(0, Relaxed);
                raised
            }
        }
    }
}

/// A thread that sleeps on an eventfd, with its bit of the word.
pub struct Sleeper {
    attention: Arc<AttentionWord>,
    bit: u32,
    eventfd: Arc<EventFd>,
}

impl Sleeper {
    pub fn new(attention: Arc<AttentionWord>, bit: u32, eventfd: Arc<EventFd>) -> Self {
        Self { attention, bit, eventfd }
    }

    /// The steps of the service thread or the file thread when it has no work.
    pub fn sleep_unless(&self, head_moved: impl Fn() -> bool, v: Variant, seen: &Sightings) {
        self.attention.raise(self.bit, v); // F1
        if v.sleeper_barrier {
            fence(SeqCst); // F2
        }
        if v.looks_again && head_moved() {
            self.attention.lower(self.bit, v); // F3
            seen.saw("stayed awake");
            return;
        }
        seen.saw("slept");
        self.eventfd.read(); // F4
    }
}

/// The steps of the publishing thread after it has moved head.
pub fn attend(sleepers: &[Sleeper], v: Variant) {
    if v.publisher_barrier {
        fence(SeqCst); // Q2
    }
    let attention = &sleepers[0].attention;
    let raised = attention.0.load(Relaxed); // Q3
    if raised == 0 {
        return;
    }
    let taken = if v.takes_before_write { attention.take(v) } else { raised };
    sleepers.iter().filter(|s| taken & s.bit != 0).for_each(|s| s.eventfd.write());
    if !v.takes_before_write {
        attention.take(v);
    }
}

struct Process {
    head: AtomicU64,
    sleepers: Vec<Sleeper>,
}

impl Process {
    fn new(v: Variant) -> Self {
        let attention = Arc::new(AttentionWord::default());
        let shared = Arc::new(EventFd::new());
        let eventfd = || if v.eventfd_each { Arc::new(EventFd::new()) } else { shared.clone() };
        let sleepers = (0..v.sleeper_count)
            .map(|i| Sleeper::new(attention.clone(), 1 << i, eventfd()))
            .collect();
        Self { head: AtomicU64::new(0), sleepers }
    }

    fn publish(&self, v: Variant) {
        for n in 1..=LAST {
            if !v.head_before_word {
                attend(&self.sleepers, v);
            }
            self.head.store(n, Release); // Q1
            if v.head_before_word {
                attend(&self.sleepers, v);
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
            wrong("word looked at before head", Variant { head_before_word: false, ..RIGHT }, LOST),
            wrong(
                "bits taken after the eventfd",
                Variant { takes_before_write: false, ..RIGHT },
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
                "a bit raised by load and store",
                Variant { raises: Change::LoadThenStore, ..TWO_SLEEPERS },
                LOST_WAKE_UP,
            ),
            wrong(
                "a bit lowered by load and store",
                Variant { lowers: Change::LoadThenStore, ..TWO_SLEEPERS },
                LOST_WAKE_UP,
            ),
            wrong(
                "bits taken by load and store",
                Variant { takes: Change::LoadThenStore, ..TWO_SLEEPERS },
                LOST_WAKE_UP,
            ),
            wrong(
                "one eventfd for both",
                Variant { eventfd_each: false, ..TWO_SLEEPERS },
                LOST_WAKE_UP,
            ),
        ],
    );
}
