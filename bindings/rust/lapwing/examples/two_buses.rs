//! Follows several buses on one thread until all of them are closed.
//!
//!     two_buses BUS BUS…

use lapwing::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let buses: Vec<String> = std::env::args().skip(1).collect();
    if buses.is_empty() {
        return Err("usage: two_buses BUS BUS...".into());
    }

    let mut set = WaitSet::open(Wait::Backoff)?;
    let mut subscribers = Vec::new();
    for (token, bus) in (0..).zip(&buses) {
        let options = SubscriberOptions::new(bus).start(Start::Oldest).end_at_close(true);
        let subscriber = Subscriber::open(&options)?;
        set.add(&subscriber, token)?;
        subscribers.push(Some(subscriber));
    }

    let mut batch = Batch::new(4096);
    while subscribers.iter().any(Option::is_some) {
        let ready = set.wait(FOREVER)?.token as usize;
        let (bus, place) = (&buses[ready], &mut subscribers[ready]);
        let Some(subscriber) = place else { continue };
        match subscriber.read(&mut batch, NOW) {
            Ok(Chunk::Records(rows)) => println!("{bus}: {} records", rows.len()),
            Ok(Chunk::State(entries)) => println!("{bus}: {} entries", entries.len()),
            Ok(Chunk::Event(event)) => println!("{bus}: {event}"),
            Err(error) if error.code() == Code::WouldBlock => {}
            Err(error) if error.code() == Code::Closed => *place = None, // dropped: leaves the set
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
