//! The code of the README as a program.

use lapwing::prelude::*;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Quote {
    time: u64,
    instrument: u32,
    size: u32,
    price: i64,
}
lapwing::record!(Quote, "desk.quote", 1, { time: Time, instrument: Key, size, price: Price });

fn on_quote(sequence: u64, quote: Quote) {
    println!("{sequence}: {} at {}", quote.size, quote.price as f64 / 1e9);
}

fn on_entry(entry: Vec<u8>) {
    println!("{} bytes", entry.len());
}

fn main() -> lapwing::Result<()> {
    let (time, price) = (1_704_205_800_000_000_000, 4_500_250_000_000);

    let mut publisher = Publisher::open(&PublisherOptions::of::<Quote>("./quotes"), FOREVER)?;
    publisher.publish(&Quote { time, instrument: 1, size: 10, price }, FOREVER)?;
    publisher.close(FOREVER)?;

    let options =
        SubscriberOptions::of::<Quote>("./quotes").start(Start::Oldest).end_at_close(true);
    for item in Subscriber::open(&options)?.items::<Quote>(FOREVER) {
        match item? {
            Item::Record { sequence, record } => on_quote(sequence, record),
            Item::State(entry) => on_entry(entry), // after a start from a snapshot
            Item::Event(event) => println!("{event}"), // a gap, a loss, a new session
        }
    }
    Ok(())
}
