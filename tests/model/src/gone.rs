//! The end of a connection while a side sleeps: it wakes up, still receives every committed
//! message, and distinguishes a close from a death (`store_channel_state`, `load_channel_state`).
//!
//! The socket's end of file wakes it. It persists, and no process has to send it. The kernel
//! guarantees that a side that sees it also sees the other side's earlier writes; this is not
//! modelled.

use crate::judge::{judge, right, wrong, Depth, Sightings, LOST_WAKE_UP};
use crate::parking::WakerStep::{Answer, EndOfFile, Publish, StoreClosed, N2};
use crate::parking::{Party, Side, Variant, CLOSED, EVENTS, RIGHT};
use loom::sync::atomic::Ordering::Acquire;
use loom::thread;

/// The producer sends one message and ends. The consumer waits for another message.
fn one_ends(v: Variant, seen: &Sightings) {
    let [consumer, producer] = Side::pair(v);
    let producing = {
        let (consumer, producer, seen) = (consumer.clone(), producer.clone(), seen.clone());
        thread::spawn(move || Party::new(&producer, &consumer, v, &seen).publish(1))
    };
    let mut party = Party::new(&consumer, &producer, v, seen);
    assert!(party.wait_for(1), "believed the end and lost the last message");
    assert!(!party.wait_for(2));
    let is_closed = producer.state.load(Acquire) == CLOSED;
    let was_closed = v.waker.iter().any(|step| matches!(step, StoreClosed));
    assert!(is_closed == was_closed, "took a close for a death");
    producing.join().unwrap();
}

#[test]
fn a_sleeper_learns_how_the_connection_ended_and_loses_nothing() {
    const CLOSE: Variant =
        Variant { waker: &[Publish, N2, Answer, StoreClosed, EndOfFile], ..RIGHT };
    judge(
        "gone: a sleeper learns how the connection ended and loses nothing",
        Depth::Exhaustive,
        one_ends,
        &[
            right("closed", CLOSE, EVENTS),
            right(
                "killed after N3",
                Variant { waker: &[Publish, N2, Answer, EndOfFile], ..RIGHT },
                EVENTS,
            ),
            right(
                "killed between N1 and N3",
                Variant { waker: &[Publish, EndOfFile], ..RIGHT },
                EVENTS,
            ),
            wrong(
                "the socket stays open",
                Variant { waker: &[Publish, N2, Answer, StoreClosed], ..RIGHT },
                LOST_WAKE_UP,
            ),
            wrong(
                "state stored after the end of file",
                Variant { waker: &[Publish, N2, Answer, EndOfFile, StoreClosed], ..RIGHT },
                "took a close for a death",
            ),
            wrong(
                "does not look once more at the end",
                Variant { looks_at_the_end: false, ..CLOSE },
                "lost the last message",
            ),
            wrong(
                "killed, does not look once more",
                Variant { looks_at_the_end: false, waker: &[Publish, EndOfFile], ..RIGHT },
                "lost the last message",
            ),
        ],
    );
}
