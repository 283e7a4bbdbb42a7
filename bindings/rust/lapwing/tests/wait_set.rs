//! Tests waiting for several sources on one thread.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

use lapwing::prelude::*;
use lapwing::SourceKind;

const SECONDS: Duration = Duration::from_secs(10); // a longer wait fails the test

fn publisher_of(bus: &Path) -> Publisher {
    Publisher::open(&PublisherOptions::new(bus).record_bytes(8).capacity(4096), FOREVER).unwrap()
}

fn subscriber_of(bus: &Path) -> Subscriber {
    Subscriber::open(&SubscriberOptions::new(bus)).unwrap()
}

/// A subscriber that has read everything.
fn caught_up(bus: &Path) -> Subscriber {
    let (mut subscriber, mut batch) = (subscriber_of(bus), Batch::new(1));
    loop {
        let chunk = subscriber.read(&mut batch, SECONDS).unwrap();
        if matches!(chunk, Chunk::Event(event) if event.kind() == EventKind::CaughtUp) {
            return subscriber;
        }
    }
}

fn open_set() -> WaitSet {
    WaitSet::open(Wait::Backoff).unwrap()
}

fn ready_token(set: &mut WaitSet) -> u64 {
    set.wait(SECONDS).unwrap().token
}

/// Waits, and repeats the wait if a call on a source is in progress.
fn wait_undisturbed(set: &mut WaitSet) -> lapwing::Result<lapwing::Ready> {
    loop {
        match set.wait(SECONDS) {
            Err(error) if error.code() == Code::Misuse => thread::yield_now(),
            ended => return ended,
        }
    }
}

#[track_caller]
fn nothing_is_ready(set: &mut WaitSet) {
    assert_eq!(set.wait(NOW).unwrap_err().code(), Code::WouldBlock);
}

#[test]
fn a_set_says_which_of_two_buses_has_a_record_and_takes_nothing_from_it() {
    let buses = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [mut first, mut second] = [publisher_of(buses[0].path()), publisher_of(buses[1].path())];
    let mut subscribers = [caught_up(buses[0].path()), caught_up(buses[1].path())];
    let mut set = open_set();
    let source = set.add(&subscribers[0], 0).unwrap();
    set.add(&subscribers[1], 1).unwrap();
    assert_eq!(set.add(&subscribers[1], 2).unwrap_err().code(), Code::Misuse);
    assert_eq!(open_set().add(&subscribers[1], 2).unwrap_err().code(), Code::Misuse);
    nothing_is_ready(&mut set);
    let short = Duration::from_millis(1);
    assert_eq!(set.wait(short).unwrap_err().code(), Code::TimedOut);

    second.publish(&7u64, NOW).unwrap();
    let ready = set.wait(SECONDS).unwrap();
    assert_eq!((ready.kind, ready.token), (SourceKind::Subscriber, 1));
    assert_eq!(ready_token(&mut set), 1, "the record is still there");
    assert_eq!(subscribers[1].read_one(NOW).unwrap(), Some((1, 7u64)));
    nothing_is_ready(&mut set);

    first.publish(&8u64, NOW).unwrap();
    let ready = set.wait(SECONDS).unwrap();
    assert_eq!((ready.source, ready.token), (source, 0));
    set.remove(source).unwrap();
    assert_eq!(set.remove(source).unwrap_err().code(), Code::NotFound);
    nothing_is_ready(&mut set);
    assert_eq!(subscribers[0].read_one(NOW).unwrap(), Some((1, 8u64)));
    set.add(&subscribers[0], 3).unwrap();
    first.publish(&9u64, NOW).unwrap();
    assert_eq!(ready_token(&mut set), 3);
}

#[test]
fn a_source_that_is_dropped_leaves_the_set_and_a_set_leaves_its_sources() {
    let bus = tempfile::tempdir().unwrap();
    let mut publisher = publisher_of(bus.path());
    let (dropped, mut kept) = (subscriber_of(bus.path()), caught_up(bus.path()));
    let mut set = open_set();
    set.add(&dropped, 5).unwrap();
    assert_eq!(ready_token(&mut set), 5); // for the session event
    drop(dropped);
    nothing_is_ready(&mut set);

    set.add(&kept, 6).unwrap();
    drop(set);
    publisher.publish(&1u64, NOW).unwrap();
    assert_eq!(kept.read_one(SECONDS).unwrap(), Some((1, 1u64)));
    let mut set = open_set();
    set.add(&kept, 7).unwrap();
    publisher.publish(&2u64, NOW).unwrap();
    assert_eq!(ready_token(&mut set), 7);
}

#[test]
fn a_listener_that_is_dropped_frees_its_path_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listener = Listener::open(&path, &Default::default()).unwrap();
    let mut set = open_set();
    set.add(&listener, 1).unwrap();
    drop(listener);
    Listener::open(&path, &Default::default()).unwrap();
    nothing_is_ready(&mut set);
}

#[test]
fn a_call_of_a_source_while_another_thread_waits_is_misuse_and_disturbs_nothing() {
    let bus = tempfile::tempdir().unwrap();
    let mut publisher = publisher_of(bus.path());
    let mut subscriber = caught_up(bus.path());
    let mut set = open_set();
    set.add(&subscriber, 1).unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| wait_undisturbed(&mut set).unwrap().token);
    // A refused call shows that the wait has begun.
        while subscriber.read_one::<u64>(NOW).unwrap_err().code() != Code::Misuse {
            thread::yield_now();
        }
        let error = subscriber.info().unwrap_err();
        assert_eq!(error.code(), Code::Misuse);
        assert!(error.message().contains("another thread uses the wait set"), "{error}");
        publisher.publish(&1u64, NOW).unwrap();
        assert_eq!(waiting.join().unwrap(), 1);
    });
    assert_eq!(subscriber.read_one(NOW).unwrap(), Some((1, 1u64)));
}

#[test]
fn a_source_that_is_dropped_while_another_thread_waits_leaves_at_the_end_of_the_wait() {
    let bus = tempfile::tempdir().unwrap();
    let _publisher = publisher_of(bus.path());
    let mut subscriber = caught_up(bus.path());
    let alive = subscriber.interrupter();
    let mut set = open_set();
    set.add(&subscriber, 1).unwrap();
    let interrupter = set.interrupter();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| wait_undisturbed(&mut set).unwrap_err().code());
        while subscriber.read_one::<u64>(NOW).unwrap_err().code() != Code::Misuse {
            thread::yield_now();
        }
        drop(subscriber);
        assert!(alive.interrupt(), "it is destroyed while the set waits for it");
        assert!(interrupter.interrupt());
        assert_eq!(waiting.join().unwrap(), Code::Interrupted);
    });
    assert!(!alive.interrupt(), "it has not left");
    nothing_is_ready(&mut set);
}

#[test]
fn a_handle_that_is_swapped_takes_its_place_in_the_set_along() {
    let buses = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut publisher = publisher_of(buses[0].path());
    let _other = publisher_of(buses[1].path());
    let (mut inside, mut outside) = (caught_up(buses[0].path()), caught_up(buses[1].path()));
    let mut set = open_set();
    set.add(&inside, 1).unwrap();
    std::mem::swap(&mut inside, &mut outside);
    drop(inside);
    publisher.publish(&1u64, NOW).unwrap();
    assert_eq!(ready_token(&mut set), 1);
    assert_eq!(outside.read_one(NOW).unwrap(), Some((1, 1u64)));
}

#[test]
fn descriptors_and_timers_are_sources() {
    let mut set = open_set();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let descriptor = set.add_fd(ours.try_clone().unwrap(), libc::POLLIN, 1).unwrap();
    nothing_is_ready(&mut set);
    theirs.write_all(b"x").unwrap();
    let ready = set.wait(SECONDS).unwrap();
    assert_eq!((ready.kind, ready.source), (SourceKind::Fd, descriptor));
    assert_ne!(ready.events & libc::POLLIN, 0);
    set.remove(descriptor).unwrap();
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    assert_eq!(set.add_fd(file, libc::POLLIN, 1).unwrap_err().code(), Code::InvalidArgument);

    let timer = set.add_timer(None, None, 2).unwrap();
    nothing_is_ready(&mut set);
    set.set_timer(timer, Duration::ZERO, None).unwrap();
    let ready = set.wait(SECONDS).unwrap();
    assert_eq!((ready.kind, ready.token, ready.expirations), (SourceKind::Timer, 2, 1));
    nothing_is_ready(&mut set);
    let short = Duration::from_millis(1);
    set.set_timer(timer, short, short).unwrap();
    for _ in 0..3 {
        assert_eq!(ready_token(&mut set), 2);
    }
    set.remove(timer).unwrap();
    assert_eq!(set.set_timer(timer, short, None).unwrap_err().code(), Code::NotFound);
}

#[test]
fn listeners_and_ends_of_channels_are_sources() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let options = ChannelOptions::new().capacity(4096).message_bytes_max(1024);
    let mut listener = Listener::open(&path, &options).unwrap();
    let mut set = open_set();
    set.add(&listener, 1).unwrap();
    let (mut consumer, mut producer) = thread::scope(|scope| {
        let connecting = scope.spawn(|| Producer::connect(&path, &options, SECONDS).unwrap());
        let ready = set.wait(SECONDS).unwrap();
        assert_eq!((ready.kind, ready.token), (SourceKind::Listener, 1));
        let consumer: Consumer = listener.accept(&options, SECONDS).unwrap();
        (consumer, connecting.join().unwrap())
    });
    drop(listener);

    set.add(&consumer, 2).unwrap();
    nothing_is_ready(&mut set);
    producer.send(7, b"message", NOW).unwrap();
    let ready = set.wait(SECONDS).unwrap();
    assert_eq!((ready.kind, ready.token), (SourceKind::Consumer, 2));
    let mut payload = Vec::new();
    assert_eq!(consumer.receive(&mut payload, NOW).unwrap(), 7);
    nothing_is_ready(&mut set);

    while producer.send(7, &[0; 1024], NOW).is_ok() {}
    let mut room = open_set();
    let error = room.add_producer(&producer, 1025, 3).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    room.add_producer(&producer, 1024, 3).unwrap();
    nothing_is_ready(&mut room);
    while consumer.receive(&mut payload, NOW).is_ok() {}
    let ready = room.wait(SECONDS).unwrap();
    assert_eq!((ready.kind, ready.token), (SourceKind::Producer, 3));
}

#[test]
fn a_call_makes_a_duplex_ready() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let options = ChannelOptions::new();
    let mut listener = Listener::open(&path, &options).unwrap();
    let (mut server, mut client): (Duplex, Duplex) = thread::scope(|scope| {
        let connecting = scope.spawn(|| Duplex::connect(&path, &options, SECONDS).unwrap());
        (listener.accept(&options, SECONDS).unwrap(), connecting.join().unwrap())
    });
    let mut set = open_set();
    set.add(&server, 1).unwrap();
    set.add(&client, 2).unwrap();
    let call = client.start(1, b"request", SECONDS).unwrap();
    let ready = set.wait(SECONDS).unwrap();
    assert_eq!((ready.kind, ready.token), (SourceKind::Duplex, 1));
    server.receive(NOW).unwrap().reply(2, b"reply", NOW).unwrap();
    assert_eq!(ready_token(&mut set), 2);
    assert_eq!(client.finish(call).unwrap().payload, b"reply");
}

#[test]
fn an_interrupt_ends_the_wait_of_a_set_once() {
    let mut set = open_set();
    let interrupter = set.interrupter();
    assert!(interrupter.interrupt());
    assert_eq!(set.wait(FOREVER).unwrap_err().code(), Code::Interrupted);
    nothing_is_ready(&mut set);
    drop(set);
    assert!(!interrupter.interrupt());
}
