//! Tests the books of a dbn.mbo bus.

use lapwing::dbn::{Mbo, FLAG_LAST};
use lapwing::{
    Batch, BookKey, BookSide, Books, Chunk, Code, EventKind, Level, Publisher, PublisherOptions,
    Start, Subscriber, SubscriberOptions, FOREVER, NOW,
};

const KEY: BookKey = BookKey { publisher_id: 2, instrument_id: 7 };

fn event(action: u8, side: u8, order_id: u64, price: i64, size: u32) -> Mbo {
    Mbo {
        publisher_id: KEY.publisher_id,
        instrument_id: KEY.instrument_id,
        flags: FLAG_LAST,
        ts_event: order_id,
        ts_recv: order_id,
        ..Mbo::new(action, side, order_id, price, size)
    }
}

/// Returns the books of these records, and the last batch.
fn books_of(records: &[Mbo]) -> (Books, Batch) {
    let bus = tempfile::tempdir().unwrap();
    let options = PublisherOptions::new(bus.path()).schema_name("dbn.mbo");
    let mut publisher = Publisher::open(&options, FOREVER).unwrap();
    publisher.publish_all(records, NOW).unwrap();
    let options = SubscriberOptions::new(bus.path()).start(Start::Oldest);
    let mut subscriber = Subscriber::open(&options).unwrap();
    let (mut books, mut batch) = (Books::new().unwrap(), Batch::new(64));
    loop {
        let chunk = subscriber.read(&mut batch, FOREVER).unwrap();
        let is_last = matches!(chunk, Chunk::Event(event) if event.kind() == EventKind::CaughtUp);
        books.take(&batch).unwrap();
        if is_last {
            return (books, batch);
        }
    }
}

#[test]
fn books_have_levels_orders_and_the_best_prices() {
    let (books, _) = books_of(&[
        event(b'R', b'N', 0, i64::MAX, 0),
        event(b'A', b'B', 1, 100, 5),
        event(b'A', b'B', 2, 100, 6),
        event(b'A', b'B', 3, 99, 7),
        event(b'A', b'A', 4, 102, 8),
        event(b'C', b'B', 1, 100, 2),
    ]);
    assert_eq!(books.keys().unwrap(), [KEY]);
    let book = books.find(KEY).unwrap().unwrap();
    let best = Level { price: 100, size: 9, orders: 2 };
    assert_eq!((book.bid, book.ask), (Some(best), Some(Level { price: 102, size: 8, orders: 1 })));
    assert_eq!((book.bid_levels, book.ask_levels, book.orders), (2, 1, 4));
    assert!(book.is_settled && !book.is_stale && !book.has_tops);
    assert_eq!((book.sequence, book.ts_recv, book.lost_through), (6, Some(1), 0));

    let second = Level { price: 99, size: 7, orders: 1 };
    assert_eq!(books.levels(KEY, BookSide::Bid, 0, 10).unwrap(), [best, second]);
    assert_eq!(books.levels(KEY, BookSide::Bid, 1, 10).unwrap(), [second]);
    assert_eq!(books.levels(KEY, BookSide::Bid, 0, 1).unwrap(), [best]);
    let orders = books.orders(KEY, BookSide::Bid, 0).unwrap();
    let ids_and_sizes: Vec<_> = orders.iter().map(|order| (order.order_id, order.size)).collect();
    assert_eq!(ids_and_sizes, [(1, 3), (2, 6)]);

    let info = books.info().unwrap();
    assert_eq!((info.sequence, info.books, info.orders), (6, 1, 4));
    assert!(info.is_settled && !info.is_loading);
}

#[test]
fn as_many_levels_and_orders_come_as_there_are() {
    let mut records = vec![event(b'R', b'N', 0, i64::MAX, 0)];
    records.extend((1..=100).map(|n| event(b'A', b'A', n, 1000 + n as i64, 1)));
    records.extend((101..=200).map(|n| event(b'A', b'B', n, 1000, 1)));
    let (books, _) = books_of(&records);
    let asks = books.levels(KEY, BookSide::Ask, 0, usize::MAX).unwrap();
    assert!(asks.iter().map(|level| level.price).eq(1001..=1100));
    let mut part = Vec::new();
    books.levels_into(KEY, BookSide::Ask, 90, 50, &mut part).unwrap();
    assert_eq!(part, asks[90..]);
    let orders = books.orders(KEY, BookSide::Bid, 0).unwrap();
    assert!(orders.iter().map(|order| order.order_id).eq(101..=200));
}

#[test]
fn what_was_not_seen_has_no_book_and_no_level() {
    let (books, _) = books_of(&[event(b'A', b'B', 1, 100, 5)]);
    let other = BookKey { instrument_id: 8, ..KEY };
    assert_eq!(books.find(other).unwrap(), None);
    assert_eq!(books.orders(KEY, BookSide::Ask, 0).unwrap_err().code(), Code::NotFound);
    assert_eq!(books.find(KEY).unwrap().unwrap().ask, None);
}

#[test]
fn a_batch_that_does_not_follow_is_refused_and_changes_nothing() {
    let (mut books, _) = books_of(&[event(b'A', b'B', 1, 100, 5), event(b'A', b'B', 2, 99, 5)]);
    let before = books.info().unwrap();
    let bus = tempfile::tempdir().unwrap();
    let options = PublisherOptions::new(bus.path()).schema_name("dbn.mbo");
    let mut publisher = Publisher::open(&options, FOREVER).unwrap();
    publisher.publish(&event(b'A', b'B', 3, 98, 5), NOW).unwrap();
    let options = SubscriberOptions::new(bus.path()).start(Start::Oldest);
    let mut subscriber = Subscriber::open(&options).unwrap();
    let mut batch = Batch::new(8);
    while !matches!(subscriber.read(&mut batch, FOREVER).unwrap(), Chunk::Records(_)) {}
    assert_eq!(books.take(&batch).unwrap_err().code(), Code::Misuse);
    assert_eq!(books.info().unwrap(), before);
}
