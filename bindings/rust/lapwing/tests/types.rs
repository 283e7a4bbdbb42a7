//! Tests that types are compared with the records of the bus wherever rows are read as structs or
//! structs are published.

use std::path::Path;

use lapwing::{
    dbn::Mbo, Batch, Chunk, Code, Error, EventKind, History, Item, Publisher, PublisherOptions,
    Start, Subscriber, SubscriberOptions, FOREVER, NOW,
};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

#[derive(Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Quote {
    time: u64,
    instrument: u32,
    size: u32,
    price: i64,
}
lapwing::record!(Quote, "desk.quote", 1, { time: Time, instrument: Key, size, price: Price });

/// Has the size of a quote.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Other {
    price: i64,
    time: u64,
    size: u32,
    instrument: u32,
}
lapwing::record!(Other, "desk.other", 1, { price: Price, time: Time, size, instrument: Key });

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Nameless {
    words: [u64; 3],
}
impl lapwing::Row for Nameless {}

const QUOTE: Quote = Quote { time: 1, instrument: 7, size: 10, price: 100 };

fn publisher(bus: &Path) -> Publisher {
    // Small segments of 64 KiB, because only a finished segment can be mapped.
    let options = PublisherOptions::of::<Quote>(bus).segment_bytes(64 << 10);
    Publisher::open(&options, FOREVER).unwrap()
}

/// Does not use `expect`, with which the library would refuse the bus.
fn subscriber(bus: &Path) -> Subscriber {
    let options = SubscriberOptions::new(bus).start(Start::Oldest);
    Subscriber::open(&options).unwrap()
}

#[track_caller]
fn is_refused<T: std::fmt::Debug>(result: Result<T, Error>, words: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.code(), Code::RecordSize);
    assert!(error.message().contains(words), "{error}");
}

const MOVED: &str = "is not a record of this bus, desk.quote: field time is at byte 8, not at 0";
const NO_NAMES: &str = "the type has no field names";

#[test]
fn a_publisher_takes_the_structs_of_its_bus_and_no_others() {
    let bus = tempfile::tempdir().unwrap();
    let mut publisher = publisher(bus.path());
    is_refused(publisher.publish(&Other::default(), NOW), MOVED);
    is_refused(publisher.publish_all(&[Other::default(); 3], NOW), MOVED);
    is_refused(publisher.publish(&Nameless::default(), NOW), NO_NAMES);
    is_refused(publisher.publish(&[1u64; 3], NOW), NO_NAMES);
    assert_eq!(publisher.info().unwrap().head, 0);

    assert_eq!(publisher.publish(&QUOTE, NOW).unwrap(), 1);
    is_refused(publisher.publish(&Other::default(), NOW), MOVED);
    assert_eq!(publisher.publish_all(&[QUOTE; 2], NOW).unwrap(), 3);
    assert_eq!(publisher.publish(&[0u8; 24], NOW).unwrap(), 4, "bytes are compared by size");
    is_refused(publisher.publish(&1u64, NOW), "8 bytes");
}

#[test]
fn a_bus_that_is_not_described_takes_every_type_of_its_size() {
    let bus = tempfile::tempdir().unwrap();
    let options = PublisherOptions::new(bus.path()).record_bytes(24);
    let mut publisher = Publisher::open(&options, FOREVER).unwrap();
    publisher.publish(&QUOTE, NOW).unwrap();
    publisher.publish(&Other::default(), NOW).unwrap();
    publisher.publish(&Nameless::default(), NOW).unwrap();
    assert_eq!(publisher.publish(&[1u64; 3], NOW).unwrap(), 4);
}

#[test]
fn items_and_read_one_give_the_structs_of_the_bus_and_no_others() {
    let bus = tempfile::tempdir().unwrap();
    let mut publisher = publisher(bus.path());
    publisher.publish_all(&[QUOTE; 3], NOW).unwrap();

    let mut subscriber = subscriber(bus.path());
    let first = subscriber.items::<Other>(FOREVER).next().unwrap().unwrap();
    assert!(matches!(first, Item::Event(event) if event.kind() == EventKind::Session));
    is_refused(subscriber.read_one::<Other>(FOREVER), MOVED);
    is_refused(subscriber.read_one::<[u64; 3]>(FOREVER), NO_NAMES);
    is_refused(subscriber.items::<Other>(FOREVER).next().unwrap(), MOVED);
    // The refused read consumed nothing.
    assert_eq!(subscriber.read_one::<Quote>(FOREVER).unwrap().unwrap(), (1, QUOTE));
    is_refused(subscriber.read_one::<Other>(FOREVER), MOVED);
    let second = subscriber.items::<Quote>(FOREVER).next().unwrap().unwrap();
    assert!(matches!(second, Item::Record { sequence: 2, record } if record == QUOTE));
}

#[test]
fn rows_of_a_batch_and_of_a_view_are_the_structs_of_the_bus_and_no_others() {
    let bus = tempfile::tempdir().unwrap();
    let mut publisher = publisher(bus.path());
    publisher.publish_all(&[QUOTE; 10_000], FOREVER).unwrap();
    publisher.flush(FOREVER).unwrap();

    let mut subscriber = subscriber(bus.path());
    let mut batch = Batch::new(100);
    loop {
        if let Chunk::Records(rows) = subscriber.read(&mut batch, FOREVER).unwrap() {
            is_refused(rows.as_slice::<Other>(), MOVED);
            assert_eq!(rows.as_slice::<Quote>().unwrap()[0], QUOTE);
            break;
        }
    }
    let mut history = History::open(bus.path()).unwrap();
    let Chunk::Records(rows) = history.read(1, &mut batch).unwrap() else {
        panic!("the journal has records");
    };
    is_refused(rows.as_slice::<Other>(), MOVED);
    assert_eq!(rows.as_slice::<Quote>().unwrap()[0], QUOTE);
    let view = history.map(1..=10).unwrap();
    is_refused(view.get_as::<Other>(0), MOVED);
    assert_eq!(view.get_as::<Quote>(0).unwrap(), &QUOTE);
}

#[test]
fn a_shipped_schema_takes_the_struct_of_the_crate() {
    let bus = tempfile::tempdir().unwrap();
    let options = PublisherOptions::new(bus.path()).schema_name("dbn.mbo");
    let mut publisher = Publisher::open(&options, FOREVER).unwrap();
    publisher.publish(&Mbo::new(b'A', b'B', 1, 100, 1), NOW).unwrap();
    is_refused(publisher.publish(&[0u64; 7], NOW), NO_NAMES);
}

/// Two versions of a record with the same name and size, but with different names for the second
/// field.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct PairOld {
    first: u64,
    old: u64,
}
lapwing::record!(PairOld, "desk.pair", 1, { first, old });

#[derive(Clone, Copy, Debug, Default, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct PairRenamed {
    first: u64,
    renamed: u64,
}
lapwing::record!(PairRenamed, "desk.pair", 1, { first, renamed });

/// Publishes one session with one record.
fn publish_one<R: lapwing::Record>(bus: &Path, record: &R) {
    let mut publisher = Publisher::open(&PublisherOptions::of::<R>(bus), FOREVER).unwrap();
    publisher.publish(record, NOW).unwrap();
    publisher.close(FOREVER).unwrap();
}

fn read_to(subscriber: &mut Subscriber, kind: EventKind) {
    let mut batch = Batch::new(16);
    loop {
        let chunk = subscriber.read(&mut batch, FOREVER).unwrap();
        if matches!(chunk, Chunk::Event(event) if event.kind() == kind) {
            return;
        }
    }
}

fn second_field(subscriber: &Subscriber) -> String {
    let schema = subscriber.schema().unwrap().unwrap();
    assert_eq!((schema.name.as_str(), schema.record_bytes), ("desk.pair", 16));
    schema.fields[1].name.clone()
}

#[test]
fn a_bus_that_was_replaced_has_its_own_schema() {
    let directory = tempfile::tempdir().unwrap();
    let bus = directory.path().join("bus");
    publish_one(&bus, &PairOld { first: 1, old: 2 });
    let mut subscriber = subscriber(&bus);
    assert_eq!(subscriber.schema().unwrap_err().code(), Code::Misuse);
    read_to(&mut subscriber, EventKind::Session);
    let mut batch = Batch::new(16);
    let Chunk::Records(before) = subscriber.read(&mut batch, FOREVER).unwrap() else {
        panic!("the session has a record");
    };
    read_to(&mut subscriber, EventKind::Closed);
    std::fs::remove_dir_all(&bus).unwrap();
    publish_one(&bus, &PairRenamed { first: 3, renamed: 4 });

    assert_eq!(second_field(&subscriber), "old", "of the records that were delivered");
    assert_eq!(before.as_slice::<PairOld>().unwrap(), [PairOld { first: 1, old: 2 }]);
    read_to(&mut subscriber, EventKind::Reset);
    assert_eq!(second_field(&subscriber), "renamed");
    is_refused(subscriber.read_one::<PairOld>(FOREVER), "field renamed is missing");
    let renamed = PairRenamed { first: 3, renamed: 4 };
    assert_eq!(subscriber.read_one::<PairRenamed>(FOREVER).unwrap().unwrap(), (1, renamed));
}
