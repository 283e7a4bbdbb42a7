//! Parking in a channel: T1 to T4 against N1 to N3 (`store_ticket`, `load_ticket`, `full_fence`,
//! `waker_barrier`), with a socket of packets to sleep on.
//!
//! First one side sleeps and the other wakes it: a consumer that waits for each message, or a
//! producer that waits for more room than one release makes. Then the two alternate, in a ring of
//! two. The awaited condition is reduced to a count, stored with release and loaded with acquire,
//! like stamps and `received` (frames.rs). gone.rs models the end of a connection.
//!
//! T2 and N2 are fences. Alternatively T2 is membarrier and N2 only restrains the compiler. Then
//! the waker has no barrier of its own in this model either: N2 is a point in its code, and the
//! kernel makes it execute a barrier before or after that point, as the checker chooses.

use crate::judge::{judge, right, wrong, Depth, Sightings, LOST_WAKE_UP};
use crate::kernel::{Interruptible, Socket};
use loom::sync::atomic::{fence, AtomicU64, Ordering};
use loom::thread;
use std::sync::Arc;
use Barrier::{CompilerOnly, Fence, Membarrier};
use Ordering::{Acquire, Relaxed, Release, SeqCst};
use SleeperStep::{Drain, Look, Lower, Raise, Sleep, T2};
use WakerStep::{Answer, EndOfFile, Publish, StoreClosed, N2};

#[derive(Clone, Copy)]
pub enum SleeperStep {
    Raise, // T1
    T2,
    Look,  // T3
    Sleep, // T4
    Lower,
    Drain,
}

#[derive(Clone, Copy)]
pub enum WakerStep {
    Publish, // N1
    N2,
    Answer, // N3
    StoreClosed,
    /// close(), or the kernel's close after the process has ended.
    EndOfFile,
}

#[derive(Clone, Copy)]
pub enum Barrier {
    Fence,
    /// T2: the system call. N2: registered, so that the call affects this thread.
    Membarrier,
    CompilerOnly,
}

/// The value that T1 stores.
#[derive(Clone, Copy)]
pub enum Ticket {
    NeverUsed,
    /// 1 while asleep, 0 when awake.
    Flag,
    /// One ticket per wait, although a wait may take several sleeps.
    OneAWait,
}

#[derive(Clone, Copy)]
pub struct Variant {
    /// The published count at which each wait of the sleeper ends.
    pub waits_for: &'static [u64],
    pub sleeper: &'static [SleeperStep],
    /// The maximum count that one check takes in.
    pub look_max: u64,
    pub looks_at_the_end: bool,
    pub waker: &'static [WakerStep],
    pub t2: Barrier,
    pub n2: Barrier,
    pub ticket: Ticket,
    pub notes_answered: bool,
    pub packets_max: usize,
}

pub const RIGHT: Variant = Variant {
    waits_for: &[1, 2],
    sleeper: &[Raise, T2, Look, Sleep, Lower, Drain],
    look_max: u64::MAX,
    looks_at_the_end: true,
    waker: &[Publish, N2, Answer],
    t2: Fence,
    n2: Fence,
    ticket: Ticket::NeverUsed,
    notes_answered: true,
    packets_max: usize::MAX,
};

const MEMBARRIER: Variant = Variant { t2: Membarrier, n2: Membarrier, ..RIGHT };

/// A producer with a message of two units, and a consumer that releases one unit after another.
const FOR_ROOM: Variant = Variant { waits_for: &[2], ..RIGHT };

/// No model publishes more often, including its end.
const WAKES_MAX: u64 = 3;

const OPEN: u64 = 1;
pub const CLOSED: u64 = 2;

/// The state of one side: its words, its end of the socket, and its thread.
pub struct Side {
    published: AtomicU64,
    ticket: AtomicU64,
    pub state: AtomicU64,
    socket: Socket,
    thread: Interruptible,
}

impl Side {
    pub fn pair(v: Variant) -> [Arc<Self>; 2] {
        [(); 2].map(|()| {
            Arc::new(Self {
                published: AtomicU64::new(0),
                ticket: AtomicU64::new(0),
                state: AtomicU64::new(OPEN),
                socket: Socket::new(v.packets_max),
                thread: Interruptible::new(),
            })
        })
    }
}

/// A running side with its private state.
pub struct Party<'a> {
    own: &'a Side,
    peer: &'a Side,
    v: Variant,
    seen: &'a Sightings,
    /// Name of the event when this side sleeps.
    slept: &'static str,
    ticket: u64,
    answered: u64,
    taken_in: u64,
    peer_is_gone: bool,
    tally: Tally,
}

#[derive(Default)]
pub struct Tally {
    tickets: u64,
    packets: u64,
    wakes: u64,
}

impl<'a> Party<'a> {
    pub fn new(own: &'a Side, peer: &'a Side, v: Variant, seen: &'a Sightings) -> Self {
        Self {
            own,
            peer,
            v,
            seen,
            slept: "slept",
            ticket: 0,
            answered: 0,
            taken_in: 0,
            peer_is_gone: false,
            tally: Tally::default(),
        }
    }

    fn peer_has_published(&mut self, count: u64) -> bool {
        let published = self.peer.published.load(Acquire);
        self.taken_in = published.min(self.taken_in.saturating_add(self.v.look_max));
        self.taken_in >= count
    }

    /// Returns true if the peer has published `count`, false if it has ended first.
    pub fn wait_for(&mut self, count: u64) -> bool {
        loop {
            let looks = !self.peer_is_gone || self.v.looks_at_the_end;
            if looks && self.peer_has_published(count) {
                return true;
            }
            if self.peer_is_gone {
                return false;
            }
            self.sleep_unless_published(count);
        }
    }

    fn sleep_unless_published(&mut self, count: u64) {
        for step in self.v.sleeper {
            match step {
                Raise => self.raise(),
                T2 => self.t2(),
                Look if self.peer_has_published(count) => {
                    self.seen.saw("stayed awake");
                    return self.lower();
                }
                Look => {}
                Sleep => {
                    self.seen.saw(self.slept);
                    self.own.socket.poll();
                    self.tally.wakes += 1;
                    assert!(self.tally.wakes <= WAKES_MAX, "{WOKE_FOR_NOTHING}");
                }
                Lower => self.lower(),
                Drain => self.peer_is_gone = self.own.socket.drain(),
            }
        }
    }

    fn t2(&self) {
        match self.v.t2 {
            Fence => fence(SeqCst),
            Membarrier => self.peer.thread.interrupt(),
            CompilerOnly => {}
        }
    }

    fn raise(&mut self) {
        let is_raised = self.ticket % 2 != 0;
        self.ticket = match self.v.ticket {
            Ticket::NeverUsed => (self.ticket + 1) | 1,
            Ticket::Flag => 1,
            Ticket::OneAWait if is_raised => self.ticket,
            Ticket::OneAWait => self.ticket + 1,
        };
        self.tally.tickets += 1;
        self.own.ticket.store(self.ticket, Relaxed);
    }

    fn lower(&mut self) {
        let is_raised = self.ticket % 2 != 0;
        self.ticket = match self.v.ticket {
            Ticket::Flag => 0,
            _ if is_raised => self.ticket + 1,
            _ => return,
        };
        self.own.ticket.store(self.ticket, Relaxed);
    }

    pub fn publish(&mut self, count: u64) {
        for step in self.v.waker {
            match step {
                Publish => self.own.published.store(count, Release),
                N2 => self.n2(),
                Answer => self.answer(),
                StoreClosed => self.own.state.store(CLOSED, Release),
                EndOfFile => self.peer.socket.end(),
            }
        }
    }

    fn answer(&mut self) {
        let ticket = self.peer.ticket.load(Relaxed);
        if ticket % 2 == 0 || (self.v.notes_answered && ticket == self.answered) {
            return;
        }
        self.answered = ticket;
        self.tally.packets += 1;
        self.peer.socket.send();
    }

    fn n2(&self) {
        match self.v.n2 {
            Fence => fence(SeqCst),
            Membarrier => self.own.thread.may_be_interrupted(),
            CompilerOnly => {}
        }
    }
}

pub const EVENTS: &[&str] = &["slept", "stayed awake"];
const LOST: &str = LOST_WAKE_UP;
const MORE_PACKETS: &str = "more packets than tickets";
const WOKE_FOR_NOTHING: &str = "woke up more often than it was woken";

/// At most one packet per ticket, and no wake-up without a packet.
fn check_cost(sleeper: &Tally, waker: &Tally) {
    assert!(waker.packets <= sleeper.tickets, "{MORE_PACKETS}");
    assert!(sleeper.wakes <= waker.packets, "{WOKE_FOR_NOTHING}");
}

fn one_sleeps(v: Variant, seen: &Sightings) {
    let [sleeper, waker] = Side::pair(v);
    let waking = {
        let (sleeper, waker, seen) = (sleeper.clone(), waker.clone(), seen.clone());
        thread::spawn(move || {
            let mut party = Party::new(&waker, &sleeper, v, &seen);
            (1..=*v.waits_for.last().unwrap()).for_each(|n| party.publish(n));
            party.tally
        })
    };
    let mut party = Party::new(&sleeper, &waker, v, seen);
    v.waits_for.iter().for_each(|count| assert!(party.wait_for(*count)));
    check_cost(&party.tally, &waking.join().unwrap());
}

fn both_sleep(v: Variant, seen: &Sightings) {
    const CAPACITY: u64 = 2;
    const LAST: u64 = 3;
    let [consumer, producer] = Side::pair(v);
    let producing = {
        let (consumer, producer, seen) = (consumer.clone(), producer.clone(), seen.clone());
        thread::spawn(move || {
            let mut party = Party::new(&producer, &consumer, v, &seen);
            party.slept = "slept for room";
            for n in 1..=LAST {
                party.wait_for(n.saturating_sub(CAPACITY));
                party.publish(n); // a stamp
            }
            party.tally
        })
    };
    let mut party = Party::new(&consumer, &producer, v, seen);
    party.slept = "slept for a message";
    for n in 1..=LAST {
        party.wait_for(n);
        party.publish(n); // `received`
    }
    let producers = producing.join().unwrap();
    check_cost(&party.tally, &producers);
    check_cost(&producers, &party.tally);
}

fn barriers(t2: Barrier, n2: Barrier) -> Variant {
    Variant { t2, n2, ..RIGHT }
}

const BLIND: &[SleeperStep] = &[Raise, T2, Sleep, Lower, Drain];
const EATS_ITS_PACKET: &[SleeperStep] = &[Raise, T2, Look, Drain, Sleep, Lower];

#[test]
fn a_sleeper_is_woken_by_what_it_waits_for() {
    judge(
        "parking: a sleeper is woken by what it waits for",
        Depth::Exhaustive,
        one_sleeps,
        &[
            right("the protocol", RIGHT, EVENTS),
            right("the protocol, two needed", FOR_ROOM, EVENTS),
            wrong("no barrier on either side", barriers(CompilerOnly, CompilerOnly), LOST),
            wrong("barrier only in the waker", barriers(CompilerOnly, Fence), LOST),
            wrong("barrier only in the sleeper", barriers(Fence, CompilerOnly), LOST),
            wrong(
                "barrier before the ticket",
                Variant { sleeper: &[T2, Raise, Look, Sleep, Lower, Drain], ..RIGHT },
                LOST,
            ),
            wrong(
                "barrier before publishing",
                Variant { waker: &[N2, Publish, Answer], ..RIGHT },
                LOST,
            ),
            wrong(
                "ticket looked at before publishing",
                Variant { waker: &[Answer, N2, Publish], ..RIGHT },
                LOST,
            ),
            wrong("does not look again", Variant { sleeper: BLIND, ..RIGHT }, LOST),
            wrong(
                "looks again at a part of what is there",
                Variant { look_max: 1, waits_for: &[3], ..RIGHT },
                LOST,
            ),
            wrong(
                "ticket raised after looking",
                Variant { sleeper: &[Look, Raise, T2, Sleep, Lower, Drain], ..RIGHT },
                LOST,
            ),
            wrong("a flag, answered once", Variant { ticket: Ticket::Flag, ..RIGHT }, LOST),
            wrong(
                "a flag, answered whenever it is up",
                Variant { ticket: Ticket::Flag, notes_answered: false, ..RIGHT },
                MORE_PACKETS,
            ),
            wrong(
                "a ticket is answered again",
                Variant { notes_answered: false, ..RIGHT },
                MORE_PACKETS,
            ),
            wrong(
                "sleeps again under the same ticket",
                Variant {
                    sleeper: &[Raise, T2, Look, Sleep, Drain],
                    ticket: Ticket::OneAWait,
                    ..FOR_ROOM
                },
                LOST,
            ),
        ],
    );
}

#[test]
fn what_is_drained_was_not_meant_for_the_next_sleep() {
    judge(
        "parking: what is drained was not meant for the next sleep",
        Depth::Exhaustive,
        one_sleeps,
        &[
            right(
                "drained before the ticket is lowered",
                Variant { sleeper: &[Raise, T2, Look, Sleep, Drain, Lower], ..FOR_ROOM },
                EVENTS,
            ),
            right(
                "never lowered after a sleep",
                Variant { sleeper: &[Raise, T2, Look, Sleep, Drain], ..FOR_ROOM },
                EVENTS,
            ),
            right(
                "drained before the ticket is raised",
                Variant { sleeper: &[Lower, Drain, Raise, T2, Look, Sleep], ..FOR_ROOM },
                EVENTS,
            ),
            right("a socket that holds one packet", Variant { packets_max: 1, ..FOR_ROOM }, EVENTS),
            wrong(
                "drained between T1 and T3",
                Variant { sleeper: &[Raise, Drain, T2, Look, Sleep, Lower], ..RIGHT },
                LOST,
            ),
            wrong(
                "drained between T1 and T3, two needed",
                Variant { sleeper: &[Raise, Drain, T2, Look, Sleep, Lower], ..FOR_ROOM },
                LOST,
            ),
            wrong("drained between T3 and T4", Variant { sleeper: EATS_ITS_PACKET, ..RIGHT }, LOST),
            wrong(
                "never drained",
                Variant { sleeper: &[Raise, T2, Look, Sleep, Lower], ..FOR_ROOM },
                WOKE_FOR_NOTHING,
            ),
        ],
    );
}

#[test]
fn with_membarrier_the_waker_needs_no_fence() {
    judge(
        "parking: with membarrier the waker needs no fence",
        Depth::Preemptions(4),
        one_sleeps,
        &[
            right("the protocol", MEMBARRIER, EVENTS),
            right("the protocol, two needed", Variant { waits_for: &[2], ..MEMBARRIER }, EVENTS),
            wrong("no membarrier", barriers(CompilerOnly, Membarrier), LOST),
            wrong("a fence in its place", barriers(Fence, Membarrier), LOST),
            wrong("the waker has not registered", barriers(Membarrier, CompilerOnly), LOST),
            wrong(
                "ticket looked at before publishing",
                Variant { waker: &[Answer, N2, Publish], ..MEMBARRIER },
                LOST,
            ),
            wrong("does not look again", Variant { sleeper: BLIND, ..MEMBARRIER }, LOST),
            wrong(
                "ticket raised after membarrier",
                Variant { sleeper: &[T2, Raise, Look, Sleep, Lower, Drain], ..MEMBARRIER },
                LOST,
            ),
        ],
    );
}

#[test]
fn both_sides_sleep_in_turn_and_both_are_woken() {
    const EVENTS: &[&str] = &["slept for room", "slept for a message", "stayed awake"];
    judge(
        "parking: both sides sleep in turn and both are woken",
        Depth::Preemptions(3),
        both_sleep,
        &[
            right("the protocol", RIGHT, EVENTS),
            right("the protocol with membarrier", MEMBARRIER, EVENTS),
            wrong("no barrier on either side", barriers(CompilerOnly, CompilerOnly), LOST),
            wrong("barrier only in the waker", barriers(CompilerOnly, Fence), LOST),
            wrong("barrier only in the sleeper", barriers(Fence, CompilerOnly), LOST),
            wrong("does not look again", Variant { sleeper: BLIND, ..RIGHT }, LOST),
            wrong("a flag, answered once", Variant { ticket: Ticket::Flag, ..RIGHT }, LOST),
            wrong("drained between T3 and T4", Variant { sleeper: EATS_ITS_PACKET, ..RIGHT }, LOST),
        ],
    );
}
