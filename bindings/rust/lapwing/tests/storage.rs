//! Tests objects on disk: a cursor, and the journal as history.

use lapwing::{
    Batch, Chunk, Code, Commit, Cursor, History, Item, Publisher, PublisherOptions, Start,
    Subscriber, SubscriberOptions, FOREVER, NOW,
};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The smallest segment. It holds about 4,000 slots of 16 bytes.
const SEGMENT_BYTES: u64 = 65536;

fn bus_of_numbers(directory: &Path, count: u64) -> Publisher {
    let options = PublisherOptions::new(directory)
        .record_bytes(8)
        .capacity(16384)
        .segment_bytes(SEGMENT_BYTES);
    let mut publisher = Publisher::open(&options, FOREVER).unwrap();
    publisher.publish_all(&(1..=count).collect::<Vec<u64>>(), FOREVER).unwrap();
    publisher.flush(FOREVER).unwrap();
    publisher
}

fn next_record(subscriber: &mut Subscriber) -> u64 {
    subscriber
        .items::<u64>(FOREVER)
        .find_map(|item| match item.unwrap() {
            Item::Record { record, .. } => Some(record),
            _ => None,
        })
        .unwrap()
}

#[test]
fn a_cursor_goes_on_where_the_last_commit_was() {
    let directory = tempfile::tempdir().unwrap();
    let (bus, path) = (directory.path().join("bus"), directory.path().join("cursor"));
    let _publisher = bus_of_numbers(&bus, 10);
    let from = |start| {
        let options = SubscriberOptions::new(bus.clone()).start(start);
        Subscriber::open(&options).unwrap()
    };

    let mut cursor = Cursor::open(&path, false, NOW).unwrap();
    assert_eq!(cursor.last().unwrap(), None);
    assert_eq!(Cursor::open(&path, false, NOW).unwrap_err().code(), Code::InUse);
    let mut subscriber = from(Start::Oldest);
    assert_eq!((next_record(&mut subscriber), next_record(&mut subscriber)), (1, 2));
    let position = subscriber.position().unwrap();
    let commit = Commit { position, output_bytes: 77, output_file: 3 };
    cursor.commit(&commit).unwrap();
    drop(cursor);

    let last = Cursor::open(&path, false, NOW).unwrap().last().unwrap().unwrap();
    assert_eq!((last, last.position.sequence), (commit, 2));
    assert_eq!(next_record(&mut from(Start::After(last.position))), 3);
}

#[test]
fn a_position_within_a_batch_is_of_one_of_its_rows() {
    let bus = tempfile::tempdir().unwrap();
    let _publisher = bus_of_numbers(bus.path(), 10);
    let options = SubscriberOptions::new(bus.path()).start(Start::Oldest);
    let mut subscriber = Subscriber::open(&options).unwrap();
    let mut batch = Batch::new(4);
    while !matches!(subscriber.read(&mut batch, FOREVER).unwrap(), Chunk::Records(_)) {}
    assert_eq!(subscriber.position_after(1).unwrap().sequence, 1);
    assert_eq!(subscriber.position_after(9).unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(subscriber.position_after(0).unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn history_reads_and_finds_what_was_published() {
    let bus = tempfile::tempdir().unwrap();
    let _publisher = bus_of_numbers(bus.path(), 300);
    let mut history = History::open(bus.path()).unwrap();
    let info = history.info().unwrap();
    assert_eq!((info.record_bytes, info.oldest, info.durable), (8, 1, 300));
    assert_eq!(info.schema_name, "bytes");

    let mut batch = Batch::new(300);
    let mut seen: Vec<u64> = Vec::new();
    while seen.len() < 300 {
        let Chunk::Records(rows) = history.read(seen.len() as u64 + 1, &mut batch).unwrap() else {
            panic!("nothing is lost")
        };
        seen.extend_from_slice(rows.as_slice().unwrap());
    }
    assert_eq!(seen, (1..=300).collect::<Vec<u64>>());
    assert_eq!(history.read(301, &mut batch).unwrap_err().code(), Code::WouldBlock);

    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    assert!((1..=301).contains(&history.find_time(now).unwrap()));
    assert_eq!(history.find_time(1).unwrap(), 1);
}

#[test]
fn a_view_has_the_rows_of_a_finished_segment_and_outlives_its_history() {
    let bus = tempfile::tempdir().unwrap();
    let _publisher = bus_of_numbers(bus.path(), 10_000);
    let mut history = History::open(bus.path()).unwrap();
    let view = history.map(3..=10_000).unwrap();
    drop(history);
    assert_eq!((view.first(), view.row_bytes()), (3, 8));
    assert!(view.len() > 1 && view.len() < 9_998, "{} rows of the first segment", view.len());
    assert!(view.stride_bytes() > view.row_bytes());
    for (n, row) in (3u64..).zip(view.iter()) {
        assert_eq!(row, n.to_le_bytes());
    }
    assert_eq!(view.get_as::<u64>(0).unwrap(), &3);
    assert_eq!(view.get(view.len()), None);
    assert_eq!(view.get_as::<u64>(view.len()).unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(view.get_as::<u32>(0).unwrap_err().code(), Code::RecordSize);
}

#[test]
fn the_segment_that_grows_is_read_and_not_mapped() {
    let bus = tempfile::tempdir().unwrap();
    let _publisher = bus_of_numbers(bus.path(), 10);
    let mut history = History::open(bus.path()).unwrap();
    assert_eq!(history.map(1..=10).unwrap_err().code(), Code::WouldBlock);
}
