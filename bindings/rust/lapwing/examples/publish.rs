//! Publishes records of a struct that this program defines.
//!
//!     publish BUS COUNT
//!
//! `lapwing tail --bus BUS --from oldest` shows every field by name.

use std::time::{SystemTime, UNIX_EPOCH};

use lapwing::{Publisher, PublisherOptions, FOREVER};
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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, bus, count] = &arguments[..] else { return Err("usage: publish BUS COUNT".into()) };

    let mut publisher = Publisher::open(&PublisherOptions::of::<Quote>(bus), FOREVER)?;
    for n in 0..count.parse()? {
        let time = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as u64;
        let price = 4_500_000_000_000 + i64::from(n) * 250_000_000; // in 1e-9
        publisher.publish(&Quote { time, instrument: 1, size: n, price }, FOREVER)?;
    }
    let durable = publisher.flush(FOREVER)?;
    println!("{durable} records are durable");
    Ok(publisher.close(FOREVER)?)
}
