//! Tests channels within one process, with both sides of each kind.

use lapwing::{
    Channel, ChannelEnd, ChannelOptions, ChannelRole, Code, Consumer, Duplex, Listener, Outcome,
    Producer, Result, FOREVER, NOW,
};
use std::path::Path;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

const SECOND: Duration = Duration::from_secs(10); // a longer wait fails the test

fn pair<Serving: ChannelEnd, Connecting: Send>(
    options: &ChannelOptions,
    connect: fn(&Path, &ChannelOptions) -> Result<Connecting>,
) -> (Serving, Connecting, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let mut listener = Listener::open(&path, options).unwrap();
    thread::scope(|scope| {
        let connecting = scope.spawn(|| connect(&path, options).unwrap());
        let serving = listener.accept(options, SECOND).unwrap();
        (serving, connecting.join().unwrap(), directory)
    })
}

fn one_way(options: &ChannelOptions) -> (Consumer, Producer, TempDir) {
    pair(options, |path, options| Producer::connect(path, options, SECOND))
}

fn both_ways(options: &ChannelOptions) -> (Duplex, Duplex, TempDir) {
    pair(options, |path, options| Duplex::connect(path, options, SECOND))
}

#[test]
fn messages_come_in_order_and_again_until_they_are_released() {
    let (mut consumer, mut producer, _) = one_way(&Default::default());
    producer.send(7, b"one", NOW).unwrap();
    producer.send_all(&[(8, b"two"), (9, b"")], NOW).unwrap();

    let messages = consumer.peek(2, SECOND).unwrap();
    let seen: Vec<_> = messages.iter().map(|one| (one.message_type(), one.payload())).collect();
    assert_eq!(seen, [(7, &b"one"[..]), (8, b"two")]);
    messages.release_first(1).unwrap();
    let messages = consumer.peek(10, SECOND).unwrap();
    assert_eq!(messages.len(), 2);
    assert_eq!((messages[0].payload(), messages[1].payload()), (&b"two"[..], &b""[..]));
    messages.release().unwrap();
    assert_eq!(consumer.peek(1, NOW).unwrap_err().code(), Code::WouldBlock);
    assert_eq!(consumer.release(1).unwrap_err().code(), Code::Misuse);
    producer.drain(SECOND).unwrap();

    let (sent, received) = (producer.info().unwrap(), consumer.info().unwrap());
    assert_eq!((sent.sent, sent.released, received.received), (3, 3, 3));
    assert_eq!((sent.role, received.role), (ChannelRole::Producer, ChannelRole::Consumer));
    assert_eq!(sent.connection_id, received.connection_id);
}

#[test]
fn a_claim_is_sent_when_it_is_committed_and_only_then() {
    let (mut consumer, mut producer, _) = one_way(&Default::default());
    let mut claim = producer.claim(8, NOW).unwrap();
    claim.copy_from_slice(b"dropped.");
    drop(claim);
    producer.claim(8, NOW).unwrap().abort().unwrap();
    let mut claim = producer.claim(16, NOW).unwrap();
    claim[..5].copy_from_slice(b"first");
    claim.commit_first(5, 1).unwrap();
    let mut claim = producer.claim(6, NOW).unwrap();
    claim.copy_from_slice(b"second");
    claim.commit(2).unwrap();
    let claim = producer.claim(4, NOW).unwrap();
    assert_eq!(claim.commit_first(5, 3).unwrap_err().code(), Code::Misuse);
    assert_eq!(producer.claim(1 << 20, NOW).map(|_| ()).unwrap_err().code(), Code::Misuse);

    let mut payload = Vec::new();
    assert_eq!(consumer.receive(&mut payload, SECOND).unwrap(), 1);
    assert_eq!(payload, b"first");
    assert_eq!(consumer.receive(&mut payload, SECOND).unwrap(), 2);
    assert_eq!(payload, b"second");
    assert_eq!(consumer.receive(&mut payload, NOW).unwrap_err().code(), Code::WouldBlock);
}

#[test]
fn an_iterator_of_messages_ends_at_close() {
    let (mut consumer, mut producer, _) = one_way(&Default::default());
    for n in 0..5u32 {
        producer.send(n, &n.to_le_bytes(), NOW).unwrap();
    }
    producer.close().unwrap();
    let messages: Vec<_> = consumer.messages(SECOND).map(|message| message.unwrap()).collect();
    assert!(messages.iter().map(|message| message.message_type).eq(0..5));
    assert_eq!(messages[3].payload, 3u32.to_le_bytes());
    assert_eq!(consumer.peek(1, NOW).unwrap_err().code(), Code::Closed);
    assert_eq!(producer.fd().unwrap_err().code(), Code::Closed);
}

#[test]
fn send_says_how_many_messages_found_room() {
    let options = ChannelOptions::new().capacity(4096).message_bytes_max(1024);
    let (_consumer, mut producer, _) = one_way(&options);
    let payload = [0; 1024];
    let error = producer.send_all(&[(1, &payload[..]); 16], NOW).unwrap_err();
    assert_eq!(error.code(), Code::WouldBlock);
    assert!((1..16).contains(&error.progress()), "{} sent", error.progress());
    assert_eq!(producer.info().unwrap().sent, error.progress());
    assert!(producer.arm(1024).unwrap());
}

#[test]
fn calls_are_answered_in_any_order_with_replies_and_errors() {
    let (mut server, mut client, _) = both_ways(&Default::default());
    let first = client.start(1, b"first", SECOND).unwrap();
    let second = client.start(2, b"second", SECOND).unwrap();
    client.send(3, b"one-way", NOW).unwrap();

    let request = server.receive(SECOND).unwrap();
    assert_eq!((request.message_type(), request.payload()), (1, &b"first"[..]));
    let kept = request.call().unwrap();
    let request = server.receive(SECOND).unwrap();
    request.reply(20, request.payload(), NOW).unwrap();
    assert_eq!(request.reply(20, b"", NOW).unwrap_err().code(), Code::Misuse);
    server.reply_error(kept, 404, "no such thing", NOW).unwrap();
    let request = server.receive(SECOND).unwrap();
    assert_eq!((request.call(), request.message_type()), (None, 3));
    assert_eq!(request.payload(), b"one-way");

    let finished = client.finish_any(SECOND).unwrap();
    assert_eq!(finished.call, second);
    let reply = finished.reply.unwrap();
    assert_eq!(reply.outcome, Outcome::Reply { message_type: 20 });
    assert_eq!((reply.payload, reply.is_late), (&b"second"[..], false));
    let reply = client.finish(first).unwrap();
    assert_eq!(reply.outcome, Outcome::Error { code: 404 });
    assert_eq!(reply.payload, b"no such thing");
    assert_eq!(client.finish(first).unwrap_err().code(), Code::Misuse);
    assert_eq!(client.finish_any(NOW).map(|_| ()).unwrap_err().code(), Code::Misuse);
}

#[test]
fn a_call_ends_by_its_timeout_or_when_it_is_cancelled() {
    let (_server, mut client, _) = both_ways(&Default::default());
    let soon = client.start(1, b"", Duration::from_millis(1)).unwrap();
    let finished = client.finish_any(SECOND).unwrap();
    assert_eq!(finished.call, soon);
    assert_eq!(finished.reply.unwrap_err().code(), Code::TimedOut);
    let cancelled = client.start(1, b"", FOREVER).unwrap();
    assert_eq!(client.finish_any(NOW).map(|_| ()).unwrap_err().code(), Code::WouldBlock);
    client.cancel(cancelled).unwrap();
    assert_eq!(client.finish(cancelled).unwrap_err().code(), Code::Misuse);
}

#[test]
fn a_late_reply_is_delivered_where_it_was_asked_for() {
    let options = ChannelOptions::new().late_replies(true);
    let (mut server, mut client, _) = both_ways(&options);
    let call = client.start(1, b"", Duration::from_millis(1)).unwrap();
    assert_eq!(client.finish(call).unwrap_err().code(), Code::TimedOut);
    server.receive(SECOND).unwrap().reply(2, b"late", NOW).unwrap();
    let finished = client.finish_any(SECOND).unwrap();
    assert_eq!(finished.call, call);
    let reply = finished.reply.unwrap();
    assert!(reply.is_late);
    assert_eq!(reply.payload, b"late");
}

#[test]
fn arm_says_whether_a_descriptor_may_be_waited_for() {
    let (mut consumer, mut producer, _) = one_way(&Default::default());
    let channel: &mut Channel = &mut consumer;
    assert!(channel.arm(0).unwrap());
    assert!(channel.fd().is_ok());
    producer.send(1, b"", NOW).unwrap();
    assert!(!consumer.arm(0).unwrap());
}

#[test]
fn a_successor_takes_the_listener_over() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let options = ChannelOptions::default();
    let mut old = Listener::open(&path, &options).unwrap();
    assert!(old.fd().is_ok());
    assert_eq!(old.accept::<Consumer>(&options, NOW).unwrap_err().code(), Code::WouldBlock);
    let mut new = thread::scope(|scope| {
        let taking = scope.spawn(|| Listener::take_over(&path, &options, SECOND).unwrap());
        while old.tend().is_ok() {
            thread::yield_now();
        }
        taking.join().unwrap()
    });
    assert_eq!(old.tend().unwrap_err().code(), Code::Closed);
    assert_eq!(old.fd().unwrap_err().code(), Code::Closed);
    thread::scope(|scope| {
        scope.spawn(|| Producer::connect(&path, &options, SECOND).unwrap());
        new.accept::<Consumer>(&options, SECOND).unwrap();
    });
}

#[test]
fn a_channel_to_nobody_is_refused_in_words() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let error = Duplex::connect(&path, &Default::default(), NOW).unwrap_err();
    assert_eq!(error.code(), Code::NoBus);
    assert!(error.message().contains(path.to_str().unwrap()), "{error}");
}
