//! Invalid actions of a Rust program. See lapwing/tests/compile_fail for those that the compiler
//! rejects.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lapwing::{Batch, Publisher, PublisherOptions, Start, Subscriber, SubscriberOptions, FOREVER};

use crate::answer::{ok, Answer, Failure};
use crate::rows::record;
use crate::step::Step;

const RECORD_BYTES: usize = 16;
/// A step that waits longer fails.
const WAIT_MAX: Duration = Duration::from_secs(10);
const DROPPED_RECORDS: u64 = 1000;

/// The publisher that `open-dropped` opened.
static DROPPED: Mutex<Option<Publisher>> = Mutex::new(None);

pub fn run(verb: &str, step: &Step) -> Answer {
    match verb {
        "wait" => wait(step.text("directory")?),
        "exit-in-wait" => exit_in_wait(step),
        "open-dropped" => open_dropped(step),
        "drop" => drop_it(),
        _ => Err(Failure::Unsupported),
    }
}

fn publisher_at(directory: &str) -> lapwing::Result<Publisher> {
    let options =
        PublisherOptions::new(directory).record_bytes(RECORD_BYTES as u32).capacity(16384);
    Publisher::open(&options, WAIT_MAX)
}

fn subscriber_of(directory: &str, start: Start) -> lapwing::Result<Subscriber> {
    let options = SubscriberOptions::new(directory).start(start);
    Subscriber::open(&options)
}

/// Rows 1 to `count`, end to end.
fn rows(count: u64) -> Vec<u8> {
    (1..=count).flat_map(|n| record(n, RECORD_BYTES)).collect()
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
    thread::sleep(Duration::from_millis(200)); // by then the thread waits
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
