//! The reader that runs while another one is stopped. It counts like `cpp/`.

use std::hint::spin_loop;

use crate::measure::{fail, now_ns, Arrivals, Options};
use crate::scenarios::{Peer, LOOKS_BETWEEN_CLOCKS, SILENCE_NS_MAX, STUCK_NS_MAX};

/// The longest time without a record for a reader. The wait for the first record is not a silence,
/// because records may not have been published yet. The wait for a record that did not arrive
/// before the end is a silence.
struct Silences {
    last_ns: u64,
    longest_ns: u64,
    heard: bool,
}

impl Silences {
    fn since(since_ns: u64) -> Self {
        Self { last_ns: since_ns, longest_ns: 0, heard: false }
    }

    fn add_sound(&mut self, now_ns: u64) {
        if self.heard {
            self.add(now_ns);
        }
        self.heard = true;
        self.last_ns = now_ns;
    }

    /// Ends the measurement: no more records are published. Earlier records may still arrive.
    fn end(&mut self, now_ns: u64) {
        self.add(now_ns);
    }

    fn add(&mut self, now_ns: u64) {
        self.longest_ns = self.longest_ns.max(now_ns - self.last_ns);
    }
}

/// Receives records after number `last` until `file` exists and no record has arrived for a while.
fn listen_until<const W: usize, P: Peer<W>>(
    options: &Options,
    peer: &mut P,
    file: &str,
    last: u64,
) -> (Arrivals, Silences) {
    let stuck_ns = STUCK_NS_MAX + (options.seconds * 1e9) as u64;
    let mut arrivals = Arrivals::after(last);
    let mut quiet_since_ns = now_ns();
    let mut silences = Silences::since(quiet_since_ns);
    let mut empty_looks = 0;
    let mut over = false;
    loop {
        if peer.receive(|record| arrivals.add(record)) != 0 {
            quiet_since_ns = now_ns();
            silences.add_sound(quiet_since_ns);
            continue;
        }
        spin_loop();
        empty_looks += 1;
        if empty_looks % LOOKS_BETWEEN_CLOCKS != 0 {
            continue;
        }
        let now = now_ns();
        if !over && options.is_announced(file) {
            over = true;
            silences.end(now);
            quiet_since_ns = now_ns(); // before that, this side may not have been running
        }
        if over && now.saturating_sub(quiet_since_ns) > SILENCE_NS_MAX {
            return (arrivals, silences);
        }
        if now.saturating_sub(quiet_since_ns) > stuck_ns {
            fail("the publisher has been silent");
        }
    }
}

/// Measures what arrives while another reader is stopped, and the silences.
pub fn run_witness<const W: usize, P: Peer<W>>(options: &Options, peer: &mut P) {
    let (before, _) = listen_until::<W, P>(options, peer, "publisher.ready", 0);
    options.announce("witness.counts");
    let (arrivals, silences) = listen_until::<W, P>(options, peer, "published", before.last);
    options.announce("received");
    println!(
        r#"{{"received": {}, "torn": {}, "out_of_order": {}, "longest_silence_ns": {}}}"#,
        arrivals.received, arrivals.torn, arrivals.out_of_order, silences.longest_ns
    );
}
