//! Tests duration options, and the results of measuring options.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lapwing::{
    dbn::Mbo, Batch, ChannelOptions, Chunk, Code, Consumer, EventKind, Listener, Producer,
    Publisher, PublisherOptions, Start, Subscriber, SubscriberOptions, FOREVER, NOW,
};

fn from_the_oldest(bus: &Path) -> SubscriberOptions {
    SubscriberOptions::new(bus).start(Start::Oldest)
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

#[test]
fn none_of_a_duration_is_no_limit() {
    let bus = tempfile::tempdir().unwrap();
    let options =
        PublisherOptions::new(bus.path()).record_bytes(16).sync_interval(None).retain_age(None);
    let mut publisher = Publisher::open(&options, FOREVER).unwrap();
    publisher.publish(&[1u8; 16], NOW).unwrap();
    assert_eq!(publisher.info().unwrap().durable, 0, "it was synced without a request");
    let options = from_the_oldest(bus.path())
        .reattach(None)
        .flush_timeout(None)
        .stale_after(None)
        .behind_time(None)
        .observes(true);
    read_to(&mut Subscriber::open(&options).unwrap(), EventKind::CaughtUp);
}

#[test]
fn zero_is_zero_and_refused_where_it_has_no_meaning() {
    let zero = Some(Duration::ZERO);
    let subscribers = [
        ("stale_after", from_the_oldest("bus".as_ref()).stale_after(zero)),
        ("behind_time", from_the_oldest("bus".as_ref()).behind_time(zero)),
    ];
    for (name, options) in subscribers {
        let error = Subscriber::open(&options).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
        assert!(error.message().contains(name), "{error}");
    }
    let bus = tempfile::tempdir().unwrap();
    let options = PublisherOptions::new(bus.path()).sync_interval(zero);
    let error = Publisher::open(&options, NOW).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.message().contains("sync_interval"), "{error}");
}

#[test]
fn a_connect_that_retries_without_end_finds_a_later_listener() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let options = ChannelOptions::new().retry(None);
    std::thread::scope(|scope| {
        let connecting = scope.spawn(|| Producer::connect(&path, &options, FOREVER).unwrap());
        std::thread::sleep(Duration::from_millis(20)); // the first attempts fail
        let mut listener = Listener::open(&path, &Default::default()).unwrap();
        let _consumer: Consumer = listener.accept(&Default::default(), FOREVER).unwrap();
        connecting.join().unwrap();
    });
}

#[test]
fn ages_are_measured_of_records_that_are_published_with_their_time() {
    for restamped in [true, false] {
        let bus = tempfile::tempdir().unwrap();
        let options = PublisherOptions::new(bus.path()).schema_name("dbn.mbo").restamped(restamped);
        let mut publisher = Publisher::open(&options, FOREVER).unwrap();
        let options = from_the_oldest(bus.path()).measure_every(2);
        let mut subscriber = Subscriber::open(&options).unwrap();
        assert_eq!(subscriber.ages().unwrap(), None);
        read_to(&mut subscriber, EventKind::CaughtUp);
        for n in 1..=10 {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
            let order = Mbo { ts_recv: now as u64, ..Mbo::new(b'A', b'B', n, 99, 10) };
            publisher.publish(&order, NOW).unwrap();
        }
        for _ in 0..10 {
            subscriber.read_one::<Mbo>(FOREVER).unwrap().unwrap();
        }
        let ages = subscriber.ages().unwrap();
        if restamped {
            let ages = ages.unwrap();
            assert_eq!(ages.count + ages.negative, 5);
            assert!(ages.max_ns > 0 && ages.p50_ns <= ages.p999_ns, "{ages:?}");
        } else {
            assert_eq!(ages, None, "the time is the feed's");
        }
    }
}
