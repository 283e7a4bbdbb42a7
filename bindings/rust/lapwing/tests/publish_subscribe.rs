//! Tests a bus with the program's own records: publishing, and each way of reading.

use lapwing::{
    Batch, Chunk, Code, EventKind, Item, Publisher, PublisherOptions, Start, Subscriber,
    SubscriberOptions, FOREVER, NOW,
};
use std::time::Duration;
use tempfile::TempDir;
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

fn quote(n: u64) -> Quote {
    Quote { time: n, instrument: n as u32 % 3, size: 10, price: n as i64 * 1_000_000_000 }
}

fn publisher_of_quotes(bus: &TempDir) -> Publisher {
    Publisher::open(&PublisherOptions::of::<Quote>(bus.path()), FOREVER).unwrap()
}

fn from_the_oldest(bus: &TempDir) -> Subscriber {
    Subscriber::open(
        &SubscriberOptions::of::<Quote>(bus.path()).start(Start::Oldest).end_at_close(true),
    )
    .unwrap()
}

fn sequences_and_events(subscriber: &mut Subscriber) -> (Vec<(u64, Quote)>, Vec<EventKind>) {
    let (mut records, mut events) = (Vec::new(), Vec::new());
    for item in subscriber.items::<Quote>(FOREVER) {
        match item.unwrap() {
            Item::Record { sequence, record } => records.push((sequence, record)),
            Item::State(_) => panic!("no state was asked for"),
            Item::Event(event) => events.push(event.kind()),
        }
    }
    (records, events)
}

#[test]
fn items_are_records_and_events_in_order_and_end_at_close() {
    let bus = tempfile::tempdir().unwrap();
    let mut publisher = publisher_of_quotes(&bus);
    let quotes: Vec<Quote> = (1..=10).map(quote).collect();
    assert_eq!(publisher.publish(&quotes[0], NOW).unwrap(), 1);
    assert_eq!(publisher.publish_all(&quotes[1..], NOW).unwrap(), 10);
    let mut subscriber = from_the_oldest(&bus);
    publisher.close(FOREVER).unwrap();

    let (records, events) = sequences_and_events(&mut subscriber);
    assert_eq!(records, (1..=10).map(|n| (n, quote(n))).collect::<Vec<_>>());
    assert_eq!(events, [EventKind::Session, EventKind::CaughtUp, EventKind::Closed]);
    assert!(subscriber.items::<Quote>(NOW).next().is_none(), "closed stays");
}

#[test]
fn an_iterator_reads_nothing_ahead() {
    let bus = tempfile::tempdir().unwrap();
    let mut publisher = publisher_of_quotes(&bus);
    publisher.publish_all(&(1..=10).map(quote).collect::<Vec<_>>(), NOW).unwrap();
    let mut subscriber = from_the_oldest(&bus);
    let mut items = subscriber.items::<Quote>(FOREVER);
    assert!(matches!(items.next(), Some(Ok(Item::Event(_)))));
    for n in 1..=3 {
        assert!(matches!(items.next(), Some(Ok(Item::Record { sequence, .. })) if sequence == n));
        assert_eq!(items.subscriber().position().unwrap().sequence, n);
    }
    let (sequence, record) = subscriber.read_one::<Quote>(FOREVER).unwrap().unwrap();
    assert_eq!((sequence, record), (4, quote(4)));
}

#[test]
fn a_batch_gives_its_rows_in_place() {
    let bus = tempfile::tempdir().unwrap();
    let mut publisher = publisher_of_quotes(&bus);
    publisher.publish_all(&(1..=10).map(quote).collect::<Vec<_>>(), NOW).unwrap();
    let mut subscriber = from_the_oldest(&bus);
    let mut batch = Batch::new(4);
    let Chunk::Event(session) = subscriber.read(&mut batch, FOREVER).unwrap() else { panic!() };
    assert_eq!(session.kind(), EventKind::Session);
    assert!(session.is_first_session() && session.is_described());
    assert_eq!((session.schema_name(), session.record_bytes()), ("desk.quote", 24));

    let mut seen = Vec::new();
    while seen.len() < 10 {
        let Chunk::Records(rows) = subscriber.read(&mut batch, FOREVER).unwrap() else { panic!() };
        assert!((1..=4).contains(&rows.len()));
        assert_eq!((rows.first(), rows.row_bytes()), (seen.len() as u64 + 1, 24));
        let quotes = rows.as_slice::<Quote>().unwrap();
        assert!(rows.iter().eq(quotes.iter().map(Quote::as_bytes)));
        assert_eq!(rows.last(), Some(seen.len() as u64 + quotes.len() as u64));
        assert_eq!(rows.as_slice::<[u8; 8]>().unwrap_err().code(), Code::RecordSize);
        seen.extend_from_slice(quotes);
    }
    assert_eq!(seen, (1..=10).map(quote).collect::<Vec<_>>());
}

#[test]
fn a_batch_grows_to_the_rows_of_the_bus_and_a_fixed_one_does_not() {
    let bus = tempfile::tempdir().unwrap();
    let options = PublisherOptions::new(bus.path()).record_bytes(4088).capacity(1024);
    let mut publisher = Publisher::open(&options, FOREVER).unwrap();
    publisher.publish_bytes(&[7; 4088 * 3], 4088, NOW).unwrap();
    let options = SubscriberOptions::new(bus.path()).start(Start::Oldest);
    let mut subscriber = Subscriber::open(&options).unwrap();
    let mut fixed = Batch::fixed(3, 4087);
    assert!(matches!(subscriber.read(&mut fixed, FOREVER), Ok(Chunk::Event(_))));
    let error = subscriber.read(&mut fixed, FOREVER).unwrap_err();
    assert_eq!((error.code(), fixed.row_bytes()), (Code::TooSmall, 4088));
    assert!(fixed.chunk().is_none());

    let mut grown = Batch::new(3);
    let Chunk::Records(rows) = subscriber.read(&mut grown, FOREVER).unwrap() else { panic!() };
    assert_eq!((rows.first(), rows.len()), (1, 3));
    assert_eq!((rows.get(2), rows.get(3)), (Some(&[7; 4088][..]), None));
}

#[test]
fn a_struct_of_another_size_is_refused_and_takes_nothing() {
    let bus = tempfile::tempdir().unwrap();
    let mut publisher = publisher_of_quotes(&bus);
    let error = publisher.publish(&7u64, NOW).unwrap_err();
    assert_eq!((error.code(), error.progress()), (Code::RecordSize, 0));
    let error = publisher.publish_bytes(&[0; 25], 24, NOW).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert_eq!(publisher.publish_bytes(&[0; 25], 0, NOW).unwrap_err().code(), Code::RecordSize);
    assert_eq!(publisher.info().unwrap().head, 0);
    publisher.publish(&quote(1), NOW).unwrap();

    let mut subscriber = from_the_oldest(&bus);
    let mut items = subscriber.items::<[u64; 2]>(FOREVER);
    assert!(matches!(items.next(), Some(Ok(Item::Event(_)))));
    let error = items.next().unwrap().unwrap_err();
    assert_eq!(error.code(), Code::RecordSize);
    assert!(error.message().contains("24 bytes"), "{error}");
    assert!(items.next().is_none());
    assert_eq!(subscriber.read_one::<Quote>(FOREVER).unwrap().unwrap().0, 1);
}

#[test]
fn a_subscriber_of_another_record_is_refused_by_the_field() {
    #[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    struct Other {
        time: u64,
        instrument: u32,
        quantity: u32,
        price: i64,
    }
    lapwing::record!(Other, "desk.quote", 1, {
        time: Time, instrument: Key, quantity, price: Price,
    });

    let bus = tempfile::tempdir().unwrap();
    let mut publisher = publisher_of_quotes(&bus);
    publisher.publish(&quote(1), NOW).unwrap();
    let options = SubscriberOptions::of::<Other>(bus.path()).start(Start::Oldest);
    let mut subscriber = Subscriber::open(&options).unwrap();
    let mut items = subscriber.items::<Other>(FOREVER);
    let error = items.find_map(|item| item.err()).unwrap();
    assert_eq!(error.code(), Code::RecordSize);
    assert!(error.message().contains("desk.quote version 1: field"), "{error}");
    assert!(error.message().contains("quantity") || error.message().contains("size"), "{error}");
    assert!(items.next().is_none());
}

#[test]
fn a_wait_ends_with_the_word_of_its_timeout_and_can_be_repeated() {
    let bus = tempfile::tempdir().unwrap();
    let _publisher = publisher_of_quotes(&bus);
    let mut subscriber = from_the_oldest(&bus);
    let mut items = subscriber.items::<Quote>(Duration::from_millis(1));
    let mut error = || items.find_map(|item| item.err()).unwrap().code();
    assert_eq!(error(), Code::TimedOut);
    assert_eq!(error(), Code::TimedOut);
    assert_eq!(subscriber.read_one::<Quote>(NOW).unwrap_err().code(), Code::WouldBlock);
}

#[test]
fn errors_have_number_name_and_words() {
    let bus = tempfile::tempdir().unwrap();
    let _publisher = publisher_of_quotes(&bus);
    let error = Publisher::open(&PublisherOptions::of::<Quote>(bus.path()), NOW).unwrap_err();
    assert_eq!((error.number(), error.name()), (3, "in-use"));
    assert!(error.to_string().starts_with("in-use: "), "{error}");
    assert!(error.message().contains(bus.path().to_str().unwrap()), "{error}");
}

#[test]
fn info_says_how_both_sides_are() {
    let bus = tempfile::tempdir().unwrap();
    let mut publisher = publisher_of_quotes(&bus);
    publisher.publish_all(&(1..=5).map(quote).collect::<Vec<_>>(), NOW).unwrap();
    assert_eq!(publisher.flush(FOREVER).unwrap(), 5);
    let info = publisher.info().unwrap();
    assert_eq!((info.record_bytes, info.first, info.head, info.durable), (24, 1, 5, 5));
    assert_eq!((info.settled.name(), info.journal.name()), ("fresh", "good"));
    assert_eq!((info.void, info.journal_errno), (None, None));

    let mut subscriber = from_the_oldest(&bus);
    assert_eq!(subscriber.info().unwrap().record_bytes, 0);
    let caught_up = |item: &Item<Quote>| match item {
        Item::Event(event) => event.kind() == EventKind::CaughtUp,
        _ => false,
    };
    subscriber.items(FOREVER).map(|item| item.unwrap()).find(caught_up).unwrap();
    let seen = subscriber.info().unwrap();
    assert_eq!((seen.schema_name.as_str(), seen.record_bytes, seen.records), ("desk.quote", 24, 5));
    assert_eq!((seen.journal_id, seen.session_id), (info.journal_id, info.session_id));
}
