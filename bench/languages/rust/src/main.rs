//! Measures the rates of the package. See README.md in the parent folder.

mod allocated;
mod passes;

use std::collections::HashMap;
use std::error::Error;
use std::str::FromStr;
use std::time::Duration;

use lapwing::{
    Batch, ChannelOptions, Chunk, Consumer, Listener, OnGap, Producer, Publisher, PublisherOptions,
    Start, Subscriber, SubscriberOptions, Wait, FOREVER, NOW,
};

use passes::{rate_of, round_trip_ns, timed};

const RECORD_BYTES: usize = 56;
const MESSAGE_BYTES: usize = 32;
const CAPACITY: u64 = 1 << 20;
const CAPACITY_BOTH_WAYS: u64 = 4096;
/// Maximum wait for the process on the other side.
const START_MAX: Duration = Duration::from_secs(10);

type Record = [u8; RECORD_BYTES];

type Failure = Box<dyn Error>;
type Answer = Result<String, Failure>;

/// The arguments of a rate: key=value.
struct Step(HashMap<String, String>);

impl Step {
    fn text(&self, key: &str) -> Result<&str, Failure> {
        Ok(self.0.get(key).ok_or(format!("{key} is missing"))?)
    }

    fn number<T: FromStr<Err: Error + 'static>>(&self, key: &str) -> Result<T, Failure> {
        Ok(self.text(key)?.parse()?)
    }
}

fn main() -> Result<(), Failure> {
    let mut words = std::env::args().skip(1);
    let rate = words.next().unwrap_or_default();
    let pairs = words.filter_map(|word| {
        word.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()))
    });
    let step = Step(pairs.collect());
    let answer = match rate.as_str() {
        "read" => read(&step),
        "take" => take(&step),
        "publish" => publish(&step),
        "publish-one" => publish_one(&step),
        "echo" => echo(&step),
        "ping" => ping(&step),
        "channel-echo" => channel_echo(&step),
        "channel-ping" => channel_ping(&step),
        _ => Err(format!("no rate is called {rate}").into()),
    };
    println!("{}", answer?);
    Ok(())
}

fn subscriber_of(directory: &str) -> Result<Subscriber, Failure> {
    Ok(Subscriber::open(
        &SubscriberOptions::new(directory)
            .start(Start::Oldest)
            .on_gap(OnGap::Skip)
            .wait(Wait::Busy)
            .reattach(START_MAX),
    )?)
}

fn publisher_at(directory: &str, capacity: u64) -> Result<Publisher, Failure> {
    let options = PublisherOptions::new(directory)
        .record_bytes(RECORD_BYTES as u32)
        .capacity(capacity)
        .no_journal(true);
    Ok(Publisher::open(&options, START_MAX)?)
}

fn read(step: &Step) -> Answer {
    let records: u64 = step.number("records")?;
    let mut batch = Batch::new(step.number("rows")?);
    let rate = rate_of(step, records, || {
        let mut subscriber = subscriber_of(step.text("directory")?)?;
        timed(|| {
            let mut got = 0;
            while got < records {
                if let Chunk::Records(rows) = subscriber.read(&mut batch, FOREVER)? {
                    got += rows.len() as u64;
                }
            }
            Ok(())
        })
    })?;
    Ok(format!("ns={:.3} garbage={:.3}", rate.ns, rate.garbage))
}

/// Reads the next record, and skips events before it.
fn take_one(
    subscriber: &mut Subscriber,
    record: &mut Record,
    events: &mut Batch,
) -> Result<(), Failure> {
    while subscriber.read_one_bytes(record, FOREVER)?.is_none() {
        subscriber.read(events, NOW)?;
    }
    Ok(())
}

fn take(step: &Step) -> Answer {
    let records: u64 = step.number("records")?;
    let (mut record, mut events) = ([0; RECORD_BYTES], Batch::new(1));
    let rate = rate_of(step, records, || {
        let mut subscriber = subscriber_of(step.text("directory")?)?;
        timed(|| (0..records).try_for_each(|_| take_one(&mut subscriber, &mut record, &mut events)))
    })?;
    Ok(format!("ns={:.3}", rate.ns))
}

fn publish(step: &Step) -> Answer {
    let (records, rows): (usize, usize) = (step.number("records")?, step.number("rows")?);
    let mut publisher = publisher_at(step.text("directory")?, CAPACITY)?;
    let batch: Vec<Record> = vec![[1; RECORD_BYTES]; rows.clamp(1, records.max(1))];
    let rate = rate_of(step, records as u64, || {
        timed(|| {
            let mut left = records;
            while left > 0 {
                let count = left.min(batch.len());
                publisher.publish_all(&batch[..count], NOW)?;
                left -= count;
            }
            Ok(())
        })
    })?;
    Ok(format!("ns={:.3}", rate.ns))
}

fn publish_one(step: &Step) -> Answer {
    let records: u64 = step.number("records")?;
    let mut publisher = publisher_at(step.text("directory")?, CAPACITY)?;
    let record: Record = [1; RECORD_BYTES];
    let rate = rate_of(step, records, || {
        timed(|| {
            for _ in 0..records {
                publisher.publish(&record, NOW)?;
            }
            Ok(())
        })
    })?;
    Ok(format!("ns={:.3}", rate.ns))
}

/// One bus in each direction. The subscriber waits for the other side's bus.
struct BothWays {
    publisher: Publisher,
    subscriber: Subscriber,
    record: Record,
    events: Batch,
}

impl BothWays {
    fn of(step: &Step) -> Result<BothWays, Failure> {
        Ok(BothWays {
            publisher: publisher_at(step.text("out")?, CAPACITY_BOTH_WAYS)?,
            subscriber: subscriber_of(step.text("in")?)?,
            record: [1; RECORD_BYTES],
            events: Batch::new(1),
        })
    }

    fn publish(&mut self) -> Result<(), Failure> {
        self.publisher.publish(&self.record, NOW)?;
        Ok(())
    }

    fn take(&mut self) -> Result<(), Failure> {
        take_one(&mut self.subscriber, &mut self.record, &mut self.events)
    }
}

fn echo(step: &Step) -> Answer {
    let mut ways = BothWays::of(step)?;
    for _ in 0..step.number::<u64>("count")? {
        ways.take()?;
        ways.publish()?;
    }
    Ok(String::new())
}

fn ping(step: &Step) -> Answer {
    let mut ways = BothWays::of(step)?;
    let ns = round_trip_ns(step.number("count")?, || {
        ways.publish()?;
        ways.take()
    })?;
    Ok(format!("ns={ns:.1}"))
}

fn channel_options() -> ChannelOptions {
    ChannelOptions::new().wait(Wait::Busy).retry(START_MAX)
}

fn channel_echo(step: &Step) -> Answer {
    let options = channel_options();
    let mut listener = Listener::open(step.text("path")?, &options)?;
    let mut incoming: Consumer = listener.accept(&options, START_MAX)?;
    let mut outgoing: Producer = listener.accept(&options, START_MAX)?;
    for _ in 0..step.number::<u64>("count")? {
        let messages = incoming.peek(1, FOREVER)?;
        let payload = messages[0].payload();
        let mut claim = outgoing.claim(payload.len(), FOREVER)?;
        claim.copy_from_slice(payload);
        claim.commit(1)?;
        messages.release()?;
    }
    // Fails if the other side has ended, which it does after receiving everything.
    let _ = outgoing.drain(FOREVER);
    Ok(String::new())
}

fn channel_ping(step: &Step) -> Answer {
    let (path, options) = (step.text("path")?, channel_options());
    let mut outgoing = Producer::connect(path, &options, START_MAX)?;
    let mut incoming = Consumer::connect(path, &options, START_MAX)?;
    let mut message = [1; MESSAGE_BYTES];
    let ns = round_trip_ns(step.number("count")?, || {
        let mut claim = outgoing.claim(MESSAGE_BYTES, FOREVER)?;
        claim.copy_from_slice(&message);
        claim.commit(1)?;
        let messages = incoming.peek(1, FOREVER)?;
        let payload = messages[0].payload();
        message.copy_from_slice(payload.get(..MESSAGE_BYTES).ok_or("a message is too short")?);
        messages.release()?;
        Ok(())
    })?;
    Ok(format!("ns={ns:.1}"))
}
