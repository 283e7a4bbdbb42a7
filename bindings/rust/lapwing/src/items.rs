//! Records, state and events from a subscriber, one by one.

use std::marker::PhantomData;

use crate::batch::{other_size, Batch, Chunk};
use crate::error::{Code, Error, Result};
use crate::event::Event;
use crate::subscriber::Subscriber;
use crate::timeout::Timeout;
use crate::types::Row;

/// A record, a state entry or an event from a subscriber.
#[derive(Clone, Debug)]
pub enum Item<R> {
    Record {
        sequence: u64,
        record: R,
    },
    /// A state entry. The fold defines its layout (for example `Schema::shipped("orders")`).
    State(Vec<u8>),
    Event(Box<Event>),
}

/// Takes items, and never reads ahead. Takes records with `read_one`, and other items with a read
/// of one row.
#[derive(Debug)]
pub(crate) struct Taker<R> {
    batch: Batch,
    record: PhantomData<fn() -> R>,
}

impl<R: Row> Taker<R> {
    pub(crate) fn new() -> Taker<R> {
        Taker { batch: Batch::new(1).with_sequences(), record: PhantomData }
    }

    #[inline]
    pub(crate) fn take(&mut self, from: &mut Subscriber, timeout: Timeout) -> Result<Item<R>> {
        match from.read_one(timeout)? {
            Some((sequence, record)) => Ok(Item::Record { sequence, record }),
            None => self.read(from, timeout),
        }
    }

    #[cold]
    fn read(&mut self, from: &mut Subscriber, timeout: Timeout) -> Result<Item<R>> {
        match from.read(&mut self.batch, timeout)? {
            Chunk::Event(event) => Ok(Item::Event(Box::new(event.clone()))),
            Chunk::State(rows) => Ok(Item::State(rows.bytes().to_vec())),
            Chunk::Records(rows) => {
                let record = R::read_from_bytes(rows.bytes())
                    .map_err(|_| other_size::<R>(rows.row_bytes()))?;
                Ok(Item::Record { sequence: rows.sequence(0).unwrap_or_default(), record })
            }
        }
    }
}

/// An iterator over [`Item`]s, returned by [`Subscriber::items`].
#[derive(Debug)]
pub struct Items<'s, R> {
    subscriber: &'s mut Subscriber,
    taker: Taker<R>,
    timeout: Timeout,
    has_ended: bool,
}

impl<'s, R: Row> Items<'s, R> {
    pub(crate) fn of(subscriber: &'s mut Subscriber, timeout: Timeout) -> Items<'s, R> {
        Items { subscriber, taker: Taker::new(), timeout, has_ended: false }
    }

    /// Returns the subscriber, for its [`position`](Subscriber::position) and
    /// [`info`](Subscriber::info) during the iteration.
    pub fn subscriber(&self) -> &Subscriber {
        self.subscriber
    }
}

/// Converts an error to the end of an iterator: nothing after a clean close, otherwise the error,
/// once. The iterator can continue after a transient error, such as the end of a wait.
pub(crate) fn ended<T>(error: Error, has_ended: &mut bool) -> Option<Result<T>> {
    *has_ended = !error.code().is_transient();
    (error.code() != Code::Closed).then_some(Err(error))
}

impl<R: Row> Iterator for Items<'_, R> {
    type Item = Result<Item<R>>;

    #[inline]
    fn next(&mut self) -> Option<Result<Item<R>>> {
        if self.has_ended {
            return None;
        }
        match self.taker.take(self.subscriber, self.timeout) {
            Ok(item) => Some(Ok(item)),
            Err(error) => ended(error, &mut self.has_ended),
        }
    }
}
