//! The scenarios, for any peer. Each process runs one role of one scenario and prints one line.

use std::hint::spin_loop;
use std::process::exit;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::measure::{
    clock_ns, fail, is_whole, now_ns, pin_to_core, Arrivals, Histogram, Options, Record, Role,
    DAMAGED_BIT, END_NUMBER,
};
use crate::witness::run_witness;

const BLOCK_ROUND_TRIPS: u64 = 64;
const WARM_UP_NS_MAX: u64 = 2_000_000_000;
pub const SILENCE_NS_MAX: u64 = 200_000_000;
const STEADY_NS: u64 = 500_000_000;
pub const LOOKS_BETWEEN_CLOCKS: u64 = 1024;
pub const STUCK_NS_MAX: u64 = 60_000_000_000;
const LOOKS_AFTER_THE_END: u64 = 20; // checks that a publish is still in progress

/// One side of a peer. Created by `open`, which connects as far as one side can.
pub trait Peer<const W: usize>: Sized {
    fn open(options: &Options) -> Self;
    /// Writes records first, first + 1, … with `fill`. Returns the number taken, 0 if there is no
    /// room now.
    fn send(&mut self, first: u64, count: u64) -> u64;
    /// Calls on_record for available records. Returns their number.
    fn receive(&mut self, on_record: impl FnMut(&Record<W>)) -> u64;
    /// The number of lost records that the peer's interface reported, or -1.
    fn reported_lost(&self) -> i64 {
        -1
    }
    /// The best number of records per send, if enough are available.
    fn send_records_max(&self) -> u64 {
        1
    }
}

/// A bounded wait for the other side.
#[derive(Default)]
struct Patience {
    looks: u64,
    since_ns: u64,
}

impl Patience {
    #[inline(always)]
    fn pause(&mut self) {
        spin_loop();
        self.looks += 1;
        if self.looks % (1 << 16) == 0 {
            self.look_at_clock();
        }
    }

    #[cold]
    fn look_at_clock(&mut self) {
        let now = now_ns();
        if self.since_ns == 0 {
            self.since_ns = now;
        }
        if now - self.since_ns > STUCK_NS_MAX {
            fail("the other side has been silent for a minute");
        }
    }
}

#[inline(always)]
fn send_one<const W: usize, P: Peer<W>>(peer: &mut P, number: u64) {
    let mut patience = Patience::default();
    while peer.send(number, 1) == 0 {
        patience.pause();
    }
}

struct RoundTrips<'a, P> {
    peer: &'a mut P,
    number: u64,
    damaged: u64,
}

impl<P> RoundTrips<'_, P> {
    #[inline(always)]
    fn exchange<const W: usize>(&mut self)
    where
        P: Peer<W>,
    {
        self.number += 1;
        let number = self.number;
        send_one::<W, P>(self.peer, number);
        let mut patience = Patience::default();
        let mut damaged = 0;
        while self.peer.receive(|record| {
            damaged += u64::from(!is_whole(record) || record[0] != number);
        }) == 0
        {
            patience.pause();
        }
        self.damaged += damaged;
    }
}

fn run_round_trips<const W: usize, P: Peer<W>>(options: &Options, peer: &mut P) {
    let mut trips = RoundTrips { peer, number: 0, damaged: 0 };
    let deadline_ns = now_ns() + WARM_UP_NS_MAX;
    while trips.number < options.warm_up && now_ns() < deadline_ns {
        for _ in 0..BLOCK_ROUND_TRIPS {
            trips.exchange::<W>();
        }
    }
    let blocks = (options.records / 2 / BLOCK_ROUND_TRIPS).max(1);
    let mut block_ns = Histogram::new();
    for _ in 0..blocks {
        let start = now_ns();
        for _ in 0..BLOCK_ROUND_TRIPS {
            trips.exchange::<W>();
        }
        block_ns.add(now_ns() - start);
    }
    let mut ns = Histogram::new();
    for _ in 0..blocks * BLOCK_ROUND_TRIPS {
        let start = now_ns();
        trips.exchange::<W>();
        ns.add(now_ns() - start);
    }
    send_one::<W, P>(trips.peer, END_NUMBER);
    println!(
        r#"{{"round_trips": {}, "block_ns_p50": {}, "ns": {}, "clock_ns": {}, "damaged": {}}}"#,
        2 * blocks * BLOCK_ROUND_TRIPS,
        block_ns.percentile_ns(0.5) as f64 / BLOCK_ROUND_TRIPS as f64,
        ns.to_json(),
        clock_ns(),
        trips.damaged
    );
}

fn run_echo<const W: usize, P: Peer<W>>(peer: &mut P) {
    loop {
        let mut number = 0;
        let mut patience = Patience::default();
        while peer.receive(|record| {
            number = if is_whole(record) { record[0] } else { record[0] | DAMAGED_BIT };
        }) == 0
        {
            patience.pause();
        }
        if number == END_NUMBER {
            return;
        }
        send_one::<W, P>(peer, number);
    }
}

fn per_second(count: u64, took_ns: u64) -> f64 {
    if took_ns == 0 { 0.0 } else { count as f64 * 1e9 / took_ns as f64 }
}

fn run_saturating_publisher<const W: usize, P: Peer<W>>(options: &Options, peer: &mut P) {
    let together = peer.send_records_max();
    let start_ns = now_ns();
    let mut patience = Patience::default();
    let mut number = 1;
    while number <= options.records {
        let sent = peer.send(number, together.min(options.records - number + 1));
        number += sent;
        if sent == 0 {
            patience.pause();
        } else {
            patience = Patience::default();
        }
    }
    println!(
        r#"{{"published": {}, "published_per_second": {}}}"#,
        options.records,
        per_second(options.records, now_ns() - start_ns)
    );
    announce_and_stay(options);
}

/// Announces that all records have been published. The memory may disappear with this side.
fn announce_and_stay(options: &Options) {
    options.announce("published");
    options.await_file("received");
}

fn run_saturated_subscriber<const W: usize, P: Peer<W>>(options: &Options, peer: &mut P) {
    let mut arrivals = Arrivals::default();
    let (mut first_ns, mut first_count, mut last_ns, mut empty_looks) = (0, 0, 0, 0);
    let mut over_ns: u64 = 0; // since when all records are known to be published
    let opened_ns = now_ns();
    while arrivals.last < options.records {
        if peer.receive(|record| arrivals.add(record)) != 0 {
            if first_ns == 0 {
                first_ns = now_ns();
                first_count = arrivals.received;
            }
            empty_looks = 0;
            continue;
        }
        spin_loop();
        empty_looks += 1;
        if empty_looks % LOOKS_BETWEEN_CLOCKS != 0 {
            continue;
        }
        let now = now_ns();
        if empty_looks == LOOKS_BETWEEN_CLOCKS {
            last_ns = now;
        }
        if now.saturating_sub(over_ns.max(last_ns)) > SILENCE_NS_MAX {
            if over_ns != 0 {
                break;
            }
            // An earlier silence may be this side's fault, if it was not running then.
            if options.is_announced("published") {
                over_ns = now_ns();
            }
        }
        if now - last_ns.max(opened_ns) > STUCK_NS_MAX {
            fail("the publisher has been silent");
        }
    }
    if arrivals.last >= options.records {
        last_ns = now_ns();
    }
    options.announce("received");
    println!(
        concat!(
            r#"{{"received": {}, "delivered_per_second": {}, "lost": {}, "reported_lost": {}, "#,
            r#""torn": {}, "out_of_order": {}}}"#
        ),
        arrivals.received,
        per_second(arrivals.received - first_count, last_ns.saturating_sub(first_ns)),
        arrivals.lost(options.records),
        peer.reported_lost(),
        arrivals.torn,
        arrivals.out_of_order
    );
}

struct SteadyFigures {
    due: u64,
    published: u64,
    ns: Histogram,
    over_10_us: u64,
    stalls_over_1_ms: u64,
    longest_stall_ns: u64,
    blocked_at_end: bool,
}

impl SteadyFigures {
    fn new() -> Self {
        Self {
            due: 0,
            published: 0,
            ns: Histogram::new(),
            over_10_us: 0,
            stalls_over_1_ms: 0,
            longest_stall_ns: 0,
            blocked_at_end: false,
        }
    }

    fn add_latency(&mut self, latency_ns: u64) {
        self.due += 1;
        self.ns.add(latency_ns);
        self.over_10_us += u64::from(latency_ns > 10_000);
    }

    fn add_stall(&mut self, took_ns: u64) {
        self.stalls_over_1_ms += u64::from(took_ns > 1_000_000);
        self.longest_stall_ns = self.longest_stall_ns.max(took_ns);
    }

    fn print(&self, seconds: f64) {
        let millions = (self.due.max(1)) as f64 / 1e6;
        println!(
            concat!(
                r#"{{"seconds": {}, "due": {}, "published": {}, "ns": {}, "#,
                r#""over_10_us_per_million": {}, "stalls_over_1_ms": {}, "#,
                r#""longest_stall_ns": {}, "blocked_at_end": {}}}"#
            ),
            seconds,
            self.due,
            self.published,
            self.ns.to_json(),
            self.over_10_us as f64 / millions,
            self.stalls_over_1_ms,
            self.longest_stall_ns,
            self.blocked_at_end
        );
    }
}

/// A steady rate: record n is due at start + n / rate. A watching thread detects a `send` that
/// blocks past the end, and then ends the process.
struct Steady {
    figures: Mutex<SteadyFigures>,
    began_ns: AtomicU64, // start of the current publish
    done: AtomicBool,
    start_ns: u64,
    end_ns: u64,
    interval_ns: f64,
}

impl Steady {
    fn new(options: &Options, duration_ns: u64) -> Arc<Self> {
        let start_ns = now_ns();
        Arc::new(Self {
            figures: Mutex::new(SteadyFigures::new()),
            began_ns: AtomicU64::new(start_ns),
            done: AtomicBool::new(false),
            start_ns,
            end_ns: start_ns + duration_ns,
            interval_ns: 1e9 / options.rate,
        })
    }

    fn due_ns(&self, n: u64) -> u64 {
        self.start_ns + (n as f64 * self.interval_ns) as u64
    }

    /// Returns the number of the last published record.
    fn publish<const W: usize, P: Peer<W>>(&self, peer: &mut P, mut number: u64) -> u64 {
        for n in 0.. {
            let due_ns = self.due_ns(n);
            if due_ns >= self.end_ns {
                break;
            }
            let mut began_ns = now_ns();
            while began_ns < due_ns {
                spin_loop();
                began_ns = now_ns();
            }
            self.began_ns.store(began_ns, Ordering::Relaxed);
            let mut now = began_ns;
            let mut sent = 0;
            while now < self.end_ns && sent == 0 {
                sent = peer.send(number + 1, 1);
                now = now_ns();
                if sent == 0 {
                    spin_loop();
                }
            }
            let mut figures = self.figures.lock().unwrap();
            number += sent;
            figures.published += sent;
            if began_ns < self.end_ns {
                figures.add_stall(now - began_ns);
                figures.blocked_at_end |= sent == 0;
            }
            figures.add_latency(if sent == 0 { self.end_ns } else { now } - due_ns);
        }
        self.done.store(true, Ordering::Release);
        number
    }

    fn watch(&self, options: &Options) {
        thread::sleep(Duration::from_nanos(self.end_ns.saturating_sub(now_ns())));
        // Counts checks instead of time, because if the whole machine was paused, the peer is not
        // blocked. A publisher that has reached the end may also still be counting the remaining
        // records.
        let mut looks = 0;
        while looks < LOOKS_AFTER_THE_END {
            thread::sleep(Duration::from_nanos(SILENCE_NS_MAX / LOOKS_AFTER_THE_END));
            if self.done.load(Ordering::Acquire) {
                return;
            }
            looks += u64::from(self.began_ns.load(Ordering::Relaxed) < self.end_ns);
        }
        let mut figures = self.figures.lock().unwrap();
        figures.add_stall(self.end_ns.saturating_sub(self.began_ns.load(Ordering::Relaxed)));
        figures.blocked_at_end = true;
        loop {
            let due_ns = self.due_ns(figures.due);
            if due_ns >= self.end_ns {
                break;
            }
            figures.add_latency(self.end_ns - due_ns);
        }
        finish(options, &figures);
        exit(0);
    }
}

fn run_steady_publisher<const W: usize, P: Peer<W>>(options: &Options, peer: &mut P) {
    let number = Steady::new(options, STEADY_NS).publish(peer, 0);
    options.announce("publisher.ready");
    options.await_file("go");
    let steady = Steady::new(options, (options.seconds * 1e9) as u64);
    let watched = Arc::clone(&steady);
    let watched_options = options.clone();
    thread::spawn(move || watched.watch(&watched_options));
    steady.publish(peer, number);
    finish(options, &steady.figures.lock().unwrap());
}

fn finish(options: &Options, figures: &SteadyFigures) {
    figures.print(options.seconds);
    if options.has_witness() {
        announce_and_stay(options);
    }
}

pub fn run<const W: usize, P: Peer<W>>(options: &Options) {
    let mut peer = P::open(options);
    pin_to_core(options.core);
    let saturation = options.scenario == "saturation";
    match options.role {
        Role::Initiator => {
            options.await_file("echo.ready");
            run_round_trips::<W, P>(options, &mut peer);
        }
        Role::Echo => {
            options.announce("echo.ready");
            run_echo::<W, P>(&mut peer);
        }
        Role::Publisher => {
            for reader in options.readers() {
                options.await_file(&format!("{reader}.ready"));
            }
            if saturation {
                run_saturating_publisher::<W, P>(options, &mut peer);
            } else {
                run_steady_publisher::<W, P>(options, &mut peer);
            }
        }
        Role::Witness => {
            options.announce("witness.ready");
            run_witness::<W, P>(options, &mut peer);
        }
        Role::Subscriber => {
            options.announce("subscriber.ready");
            if saturation {
                run_saturated_subscriber::<W, P>(options, &mut peer);
            }
            while !saturation {
                if peer.receive(|_| {}) == 0 {
                    spin_loop();
                }
            }
        }
    }
}
