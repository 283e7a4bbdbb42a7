//! The doorbell: S1 to S3 against P1 to P3 (`load_bell`, `bump_bell`), with parked readers.
//!
//! First with a ringer that makes the condition true itself, as at a close. Then with a ringer like
//! the service thread, which polls head while another thread moves it, and wakes all parked
//! readers.

use crate::judge::{judge, right, wrong, Depth, Sightings, LOST_WAKE_UP};
use crate::kernel::Futex;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use std::sync::Arc;
use Ordering::{Acquire, Relaxed, Release};

const LAST: u64 = 2;

struct Bus {
    head: AtomicU64,
    bell: Futex,
}

impl Bus {
    fn new() -> Arc<Self> {
        Arc::new(Self { head: AtomicU64::new(0), bell: Futex::new() })
    }
}

#[derive(Clone, Copy)]
enum Step {
    MoveHead,
    Bump,
    Wake,
}

#[derive(Clone, Copy)]
struct Variant {
    ringer: &'static [Step],
    bump: Ordering,
    bell_load: Ordering,
    bell_before_head: bool,
}

const RIGHT: Variant = Variant {
    ringer: &[Step::MoveHead, Step::Bump, Step::Wake], // P1, P2, P3
    bump: Release,
    bell_load: Acquire,
    bell_before_head: true,
};

fn park_until_last(bus: &Bus, v: Variant, seen: &Sightings) {
    loop {
        let early_bell = bus.bell.load(v.bell_load); // S1
        if bus.head.load(Acquire) == LAST {
            return; // S2
        }
        let bell = if v.bell_before_head { early_bell } else { bus.bell.load(v.bell_load) };
        seen.saw("parked");
        bus.bell.wait(bell); // S3
    }
}

fn ring_for_each(bus: &Bus, v: Variant) {
    for n in 1..=LAST {
        for step in v.ringer {
            match step {
                Step::MoveHead => bus.head.store(n, Release),
                Step::Bump => bus.bell.bump(v.bump),
                Step::Wake => bus.bell.wake_all(),
            }
        }
    }
}

fn ringer_moves_head(v: Variant, seen: &Sightings) {
    let bus = Bus::new();
    let ringer = {
        let bus = bus.clone();
        thread::spawn(move || ring_for_each(&bus, v))
    };
    park_until_last(&bus, v, seen);
    ringer.join().unwrap();
}

#[derive(Clone, Copy)]
struct Service {
    notes_head_before_ringing: bool,
    wakes_max: usize,
}

const SERVICE: Service = Service { notes_head_before_ringing: true, wakes_max: usize::MAX };

fn ring_when_head_moved(bus: &Bus, service: Service) {
    let mut rung = 0;
    while rung < LAST {
        let head = bus.head.load(Acquire);
        if head == rung {
            thread::yield_now();
            continue;
        }
        bus.bell.bump(RIGHT.bump);
        bus.bell.wake(service.wakes_max);
        rung = if service.notes_head_before_ringing { head } else { bus.head.load(Acquire) };
    }
}

fn service_rings_for_two_readers(service: Service, seen: &Sightings) {
    let bus = Bus::new();
    let publisher = {
        let bus = bus.clone();
        thread::spawn(move || (1..=LAST).for_each(|n| bus.head.store(n, Release)))
    };
    let ringer = {
        let bus = bus.clone();
        thread::spawn(move || ring_when_head_moved(&bus, service))
    };
    let other_reader = {
        let (bus, seen) = (bus.clone(), seen.clone());
        thread::spawn(move || park_until_last(&bus, RIGHT, &seen))
    };
    park_until_last(&bus, RIGHT, seen);
    for thread in [publisher, ringer, other_reader] {
        thread.join().unwrap();
    }
}

#[test]
fn no_parked_reader_sleeps_through_the_bell() {
    use Step::{Bump, MoveHead, Wake};
    const LOST: &str = LOST_WAKE_UP;
    judge(
        "doorbell: no parked reader sleeps through the bell",
        Depth::Exhaustive,
        ringer_moves_head,
        &[
            right("the protocol", RIGHT, &["parked"]),
            wrong("no bump", Variant { ringer: &[MoveHead, Wake], ..RIGHT }, LOST),
            wrong("wake before bump", Variant { ringer: &[MoveHead, Wake, Bump], ..RIGHT }, LOST),
            wrong("head after bump", Variant { ringer: &[Bump, MoveHead, Wake], ..RIGHT }, LOST),
            wrong("bell read after head", Variant { bell_before_head: false, ..RIGHT }, LOST),
            wrong("bump relaxed", Variant { bump: Relaxed, ..RIGHT }, LOST),
            wrong("bell loaded relaxed", Variant { bell_load: Relaxed, ..RIGHT }, LOST),
        ],
    );
}

#[test]
fn the_service_thread_wakes_every_parked_reader() {
    judge(
        "doorbell: the service thread wakes every parked reader",
        Depth::Preemptions(2),
        service_rings_for_two_readers,
        &[
            right("the protocol", SERVICE, &["parked"]),
            wrong(
                "head noted after ringing",
                Service { notes_head_before_ringing: false, ..SERVICE },
                LOST_WAKE_UP,
            ),
            wrong("wakes only one", Service { wakes_max: 1, ..SERVICE }, LOST_WAKE_UP),
        ],
    );
}
