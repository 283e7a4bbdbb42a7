//! Tests subscribers and channels in an event loop.

use std::thread;
use std::time::Duration;

use futures_util::StreamExt;
use lapwing::{
    ChannelOptions, Code, Consumer, EventKind, Item, Listener, Producer, Publisher,
    PublisherOptions, Start, Subscriber, SubscriberOptions, FOREVER, NOW,
};
use tokio::time::timeout;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

#[tokio::test]
async fn a_stream_waits_for_what_is_published_later_and_ends_at_close() {
    let bus = tempfile::tempdir().unwrap();
    let options = PublisherOptions::new(bus.path()).record_bytes(8);
    let mut publisher = Publisher::open(&options, FOREVER).unwrap();
    publisher.publish_all(&(1..=10u64).collect::<Vec<_>>(), NOW).unwrap();
    let options = SubscriberOptions::new(bus.path()).start(Start::Oldest).end_at_close(true);
    let mut stream = Subscriber::open(&options).unwrap().into_stream::<u64>().unwrap();
    let mut records = Vec::new();
    while let Some(item) = stream.next().await {
        match item.unwrap() {
            Item::Record { sequence, record } => records.push((sequence, record)),
            Item::Event(event) if event.kind() == EventKind::CaughtUp => {
                // Publish only now that the stream waits, so that the records must wake it.
                let mut publisher = publisher;
                thread::spawn(move || {
                    for n in 11..=30u64 {
                        thread::sleep(Duration::from_millis(1));
                        publisher.publish(&n, FOREVER).unwrap();
                    }
                    publisher.close(FOREVER).unwrap();
                });
                break;
            }
            _ => {}
        }
    }
    while let Some(item) = stream.next().await {
        if let Item::Record { sequence, record } = item.unwrap() {
            records.push((sequence, record));
        }
    }
    assert_eq!(records, (1..=30).map(|n| (n, n)).collect::<Vec<_>>());
    assert!(stream.next().await.is_none());
    assert_eq!(stream.into_subscriber().info().unwrap().records, 30);
}

#[derive(Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Tick {
    instrument: u64,
    price: i64,
}
lapwing::record!(Tick, "desk.tick", 1, { instrument: Key, price: Price });

#[tokio::test]
async fn a_conflated_stream_delivers_what_nothing_follows() {
    let bus = tempfile::tempdir().unwrap();
    let mut publisher =
        Publisher::open(&PublisherOptions::of::<Tick>(bus.path()), FOREVER).unwrap();
    let options = SubscriberOptions::of::<Tick>(bus.path())
        .start(Start::Oldest)
        .conflate(Duration::from_millis(300));
    let mut stream = Subscriber::open(&options).unwrap().into_stream::<Tick>().unwrap();
    while let Item::Event(event) = stream.next().await.unwrap().unwrap() {
        if event.kind() == EventKind::CaughtUp {
            break;
        }
    }
    // No later record is published, so only the end of the interval can deliver these.
    for price in 1..=100 {
        publisher.publish(&Tick { instrument: 1, price }, NOW).unwrap();
    }
    loop {
        let item = timeout(Duration::from_secs(20), stream.next()).await.expect("no wake-up");
        if matches!(item.unwrap().unwrap(), Item::Record { record, .. } if record.price == 100) {
            break;
        }
    }
    assert!(stream.subscriber().info().unwrap().conflated > 0);
}

#[tokio::test]
async fn a_stream_of_a_subscriber_that_spins_is_refused() {
    let options = SubscriberOptions::new("nowhere").wait(lapwing::Wait::Busy);
    let error = Subscriber::open(&options).unwrap().into_stream::<u64>().map(|_| ()).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn a_channel_is_ready_when_a_message_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let options = ChannelOptions::default();
    let mut listener = Listener::open(&path, &options).unwrap();
    let sending = thread::spawn(move || {
        let mut producer = Producer::connect(&path, &ChannelOptions::default(), FOREVER).unwrap();
        for n in 0..20u32 {
            thread::sleep(Duration::from_millis(1));
            producer.send(n, b"", FOREVER).unwrap();
        }
        producer.drain(FOREVER).unwrap();
    });
    let mut consumer: Consumer = listener.accept(&options, FOREVER).unwrap();
    let (mut seen, mut payload) = (Vec::new(), Vec::new());
    while seen.len() < 20 {
        match consumer.receive(&mut payload, NOW) {
            Ok(message_type) => seen.push(message_type),
            Err(error) if error.code() == Code::WouldBlock => consumer.ready(0).await.unwrap(),
            Err(error) => panic!("{error}"),
        }
    }
    assert!(seen.into_iter().eq(0..20));
    sending.join().unwrap();
}
