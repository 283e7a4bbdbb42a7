//! What a program must not do, as a program in Rust does it.
//!
//! What the compiler refuses is in lapwing/tests/compile_fail. A step of which that is a part does
//! the rest, and answers `impossible` where the rest went well.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lapwing::{
    Batch, Consumer, Listener, Producer, Publisher, PublisherOptions, Start, Subscriber,
    SubscriberOptions, FOREVER, NOW,
};

use crate::answer::{ok, Answer, Failure};
use crate::forked::forked;
use crate::rows::record;
use crate::step::Step;

pub const RECORD_BYTES: usize = 16;
/// Until a step fails.
pub const WAIT_MAX: Duration = Duration::from_secs(10);
const CHANNEL: &str = "own.sock";
const DROPPED_RECORDS: u64 = 1000;

/// What `open-dropped` has opened.
static DROPPED: Mutex<Option<Publisher>> = Mutex::new(None);

pub fn run(verb: &str, step: &Step) -> Answer {
    match verb {
        "used-after" => used_after(),
        "two-threads" => impossible(
            "read takes &mut self, and a handle is not Sync: the compiler refuses its use by a \
             second thread (E0499)",
        ),
        "forked" => forked(step),
        "wait" => wait(step.text("directory")?),
        "exit-in-wait" => exit_in_wait(step),
        "open-dropped" => open_dropped(step),
        "drop" => drop_it(),
        _ => Err(Failure::Unsupported),
    }
}

fn impossible(why: &str) -> Answer {
    Ok(format!("impossible {why}"))
}

/// The name of what a call ended with.
pub fn name_of<T>(result: lapwing::Result<T>) -> &'static str {
    result.map_or_else(|error| error.name(), |_| "ok")
}

pub fn publisher_at(directory: &str) -> lapwing::Result<Publisher> {
    let options =
        PublisherOptions::new(directory).record_bytes(RECORD_BYTES as u32).capacity(16384);
    Publisher::open(&options, WAIT_MAX)
}

pub fn subscriber_of(directory: &str, start: Start) -> lapwing::Result<Subscriber> {
    let options = SubscriberOptions::new(directory).start(start);
    Subscriber::open(&options)
}

/// Both sides of a channel.
pub fn channel() -> lapwing::Result<(Producer, Consumer)> {
    let options = Default::default();
    let mut listener = Listener::open(CHANNEL, &options)?;
    thread::scope(|scope| {
        let connecting = scope.spawn(|| Producer::connect(CHANNEL, &options, WAIT_MAX));
        let consumer = listener.accept(&options, WAIT_MAX)?;
        let producer = connecting.join().expect("connect does not panic")?;
        Ok((producer, consumer))
    })
}

/// Rows 1 to `count`, end to end.
pub fn rows(count: u64) -> Vec<u8> {
    (1..=count).flat_map(|n| record(n, RECORD_BYTES)).collect()
}

/// Three kinds have a close besides the drop.
fn used_after() -> Answer {
    let mut publisher = publisher_at("own")?;
    let (mut producer, mut consumer) = channel()?;
    for _ in 0..2 {
        publisher.close(WAIT_MAX)?;
        producer.close()?;
        consumer.close()?;
    }
    let answers = BTreeSet::from([
        name_of(publisher.publish_bytes(&rows(1), RECORD_BYTES, NOW)),
        name_of(producer.send(1, b"late", NOW)),
        name_of(consumer.peek(1, NOW)),
    ]);
    if answers.contains("ok") {
        return Ok(format!("ok answers={}", joined(&answers)));
    }
    impossible(&format!(
        "the compiler refuses what was dropped (E0382); a publisher and both sides of a channel \
         were closed twice and answered {}",
        joined(&answers)
    ))
}

pub fn joined(names: &BTreeSet<&'static str>) -> String {
    names.iter().copied().collect::<Vec<_>>().join(",")
}

fn wait(directory: &str) -> Answer {
    let mut subscriber = subscriber_of(directory, Start::Live)?;
    let mut batch = Batch::new(16);
    loop {
        subscriber.read(&mut batch, FOREVER)?;
    }
}

fn exit_in_wait(step: &Step) -> Answer {
    let directory = step.text("directory")?.to_owned();
    thread::spawn(move || wait(&directory));
    thread::sleep(Duration::from_millis(200)); // it waits by then
    std::process::exit(7)
}

fn open_dropped(step: &Step) -> Answer {
    let mut publisher = publisher_at(step.text("directory")?)?;
    publisher.publish_bytes(&rows(DROPPED_RECORDS), RECORD_BYTES, WAIT_MAX)?;
    *DROPPED.lock().unwrap_or_else(PoisonError::into_inner) = Some(publisher);
    ok()
}

fn drop_it() -> Answer {
    let publisher = DROPPED.lock().unwrap_or_else(PoisonError::into_inner).take();
    let publisher = publisher.ok_or_else(Failure::misuse)?;
    let start = Instant::now();
    drop(publisher);
    Ok(format!("ok ms={}", start.elapsed().as_millis()))
}
