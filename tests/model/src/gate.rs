//! The journal gate. A publisher that is a full ring ahead of the journal waits for the file
//! thread. That thread may itself be asleep, because head has not moved for a while.
//!
//! The publisher waits with the doorbell's S1 to S3 on a private bell; the file thread sleeps with
//! the attention word's F1 to F4. The publisher is in a batch: head has not moved yet when it must
//! wait.

use crate::idle::{self, AttentionWord, Sleeper};
use crate::judge::{judge, right, wrong, Depth, Sightings, LOST_WAKE_UP};
use crate::kernel::{EventFd, Futex};
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use loom::thread;
use std::sync::Arc;
use Ordering::{Acquire, Release};

const CAPACITY: u64 = 1;
const LAST: u64 = 2;

/// The file thread's steps after a write to the journal has ended.
#[derive(Clone, Copy)]
enum Step {
    StoreOutcome,
    Bump,
    Wake,
}

#[derive(Clone, Copy)]
struct Variant {
    stores_head_before_wait: bool,
    wakes_file_thread: bool,
    bell_before_archived: bool,
    file_thread: &'static [Step],
    journal_fails: bool,
}

const RIGHT: Variant = Variant {
    stores_head_before_wait: true,
    wakes_file_thread: true,
    bell_before_archived: true,
    file_thread: &[Step::StoreOutcome, Step::Bump, Step::Wake], // P1, P2, P3
    journal_fails: false,
};

const FAILING: Variant = Variant { journal_fails: true, ..RIGHT };

struct Process {
    head: AtomicU64,
    archived: AtomicU64,
    failed: AtomicBool,
    archived_bell: Futex,
    file_thread: Sleeper,
}

impl Process {
    fn new() -> Self {
        Self {
            head: AtomicU64::new(0),
            archived: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            archived_bell: Futex::new(),
            file_thread: Sleeper::new(
                Arc::new(AttentionWord::default()),
                1,
                Arc::new(EventFd::new()),
            ),
        }
    }

    /// A failed journal does not gate the publisher.
    fn may_write(&self, n: u64) -> bool {
        n <= self.archived.load(Acquire) + CAPACITY || self.failed.load(Acquire)
    }

    fn move_head(&self, n: u64) {
        self.head.store(n, Release);
    }

    fn publish_batch(&self, v: Variant, seen: &Sightings) {
        for n in 1..=LAST {
            if !self.may_write(n) {
                self.wait_for_room(n, v, seen);
            }
        }
        self.move_head(LAST);
        idle::attend(std::slice::from_ref(&self.file_thread), idle::RIGHT);
    }

    fn wait_for_room(&self, n: u64, v: Variant, seen: &Sightings) {
        if v.stores_head_before_wait {
            self.move_head(n - 1);
        }
        if v.wakes_file_thread {
            idle::attend(std::slice::from_ref(&self.file_thread), idle::RIGHT);
        }
        loop {
            let early_bell = self.archived_bell.load(Acquire); // S1
            if self.may_write(n) {
                return; // S2
            }
            let bell =
                if v.bell_before_archived { early_bell } else { self.archived_bell.load(Acquire) };
            seen.saw("publisher waited");
            self.archived_bell.wait(bell); // S3
        }
    }

    fn archive(&self, v: Variant, seen: &Sightings) {
        let mut archived = 0;
        while archived < LAST && !self.failed.load(Acquire) {
            let head = self.head.load(Acquire);
            if head == archived {
                let head_moved = || self.head.load(Acquire) != archived;
                self.file_thread.sleep_unless(head_moved, idle::RIGHT, seen);
                continue;
            }
            archived = head;
            self.tell(archived, v);
        }
    }

    fn tell(&self, archived: u64, v: Variant) {
        for step in v.file_thread {
            match step {
                Step::StoreOutcome if v.journal_fails => self.failed.store(true, Release),
                Step::StoreOutcome => self.archived.store(archived, Release),
                Step::Bump => self.archived_bell.bump(Release),
                Step::Wake => self.archived_bell.wake_all(),
            }
        }
    }
}

fn model(v: Variant, seen: &Sightings) {
    let process = Arc::new(Process::new());
    let file_thread = {
        let (process, seen) = (process.clone(), seen.clone());
        thread::spawn(move || process.archive(v, &seen))
    };
    process.publish_batch(v, seen);
    file_thread.join().unwrap();
}

#[test]
fn a_publisher_that_waits_for_the_journal_goes_on() {
    use Step::{Bump, StoreOutcome, Wake};
    const EVENTS: &[&str] = &["publisher waited", "slept", "stayed awake"];
    const LOST: &str = LOST_WAKE_UP;
    judge(
        "gate: a publisher that waits for the journal goes on",
        Depth::Preemptions(4),
        model,
        &[
            right("the protocol", RIGHT, EVENTS),
            right("the protocol, the journal fails", FAILING, EVENTS),
            wrong(
                "head not stored before the wait",
                Variant { stores_head_before_wait: false, ..RIGHT },
                LOST,
            ),
            wrong("file thread not woken", Variant { wakes_file_thread: false, ..RIGHT }, LOST),
            wrong(
                "bell read after archived",
                Variant { bell_before_archived: false, ..RIGHT },
                LOST,
            ),
            wrong("no bump", Variant { file_thread: &[StoreOutcome, Wake], ..RIGHT }, LOST),
            wrong(
                "wake before bump",
                Variant { file_thread: &[StoreOutcome, Wake, Bump], ..RIGHT },
                LOST,
            ),
            wrong(
                "archived after bump",
                Variant { file_thread: &[Bump, StoreOutcome, Wake], ..RIGHT },
                LOST,
            ),
            wrong(
                "a failure rings nobody",
                Variant { file_thread: &[StoreOutcome], ..FAILING },
                LOST,
            ),
        ],
    );
}
