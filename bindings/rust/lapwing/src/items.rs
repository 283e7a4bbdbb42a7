//! Records, state and events of a subscriber, one by one.

use std::marker::PhantomData;

use crate::batch::{other_size, Batch, Chunk};
use crate::error::{Code, Error, Result};
use crate::event::Event;
use crate::subscriber::Subscriber;
use crate::timeout::Timeout;
use crate::types::Row;

/// One step of what a subscriber delivers.
#[derive(Clone, Debug)]
pub enum Item<R> {
    Record {
        sequence: u64,
        record: R,
    },
    /// An entry of a state, whose layout is the fold's (`Schema::shipped("orders")` for example).
    State(Vec<u8>),
    Event(Box<Event>),
}

/// Takes items, and nothing ahead: a record by take, all else by a read of one row.
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
        match from.take(timeout) {
            Ok(Some((sequence, record))) => Ok(Item::Record { sequence, record }),
            Ok(None) => self.read(from, timeout),
            // Only read() has the words of what stays.
            Err(error) if error.code().is_transient() => Err(error),
            // If fields differ, the error has a message already.
            Err(error) if error.code() == Code::RECORD_SIZE && error.message().is_empty() => {
                Err(size_error::<R>(from, error))
            }
            Err(error) if error.code() == Code::RECORD_SIZE => Err(error),
            Err(_) => self.read(from, timeout),
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

/// The bus has records of another size than R, or the subscriber has ended with that.
#[cold]
fn size_error<R>(from: &mut Subscriber, error: Error) -> Error {
    match from.info() {
        Ok(info) if info.record_bytes != 0 && info.record_bytes as usize != size_of::<R>() => {
            other_size::<R>(info.record_bytes as usize)
        }
        // The words are with read(), and no row can be lost by it: it has ended.
        _ => match from.read(&mut Batch::fixed(1, 0), crate::NOW) {
            Err(with_words) if with_words.code() == error.code() => with_words,
            _ => error,
        },
    }
}

/// An iterator of [`Item`]s: [`Subscriber::items`].
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

    /// For [`position`](Subscriber::position) and [`info`](Subscriber::info) on the way.
    pub fn subscriber(&self) -> &Subscriber {
        self.subscriber
    }
}

/// What an iterator makes of an end: nothing after a clean close, an error once, and after the end
/// of a wait it can go on.
pub(crate) fn ended<T>(error: Error, has_ended: &mut bool) -> Option<Result<T>> {
    *has_ended = !error.code().is_transient();
    (error.code() != Code::CLOSED).then_some(Err(error))
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
