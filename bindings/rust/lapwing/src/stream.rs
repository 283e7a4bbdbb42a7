//! Subscribers and channels in a tokio event loop.

use std::future::Future;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::pin::Pin;
use std::task::{ready, Context, Poll};

use futures_core::Stream;
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;
use tokio::time::{sleep, Sleep};

use crate::channel::Channel;
use crate::error::{Code, Error, Result};
use crate::items::{ended, Item, Taker};
use crate::subscriber::Subscriber;
use crate::types::Row;
use crate::NOW;

/// Items that are returned without a wait before other tasks get a turn.
const ITEMS_PER_TURN_MAX: u32 = 1024;

/// A descriptor that the library closes.
#[derive(Debug)]
struct Borrowed(RawFd);

impl AsRawFd for Borrowed {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

/// # Safety
/// The descriptor must stay open until the returned value is dropped.
unsafe fn watch(fd: RawFd) -> Result<AsyncFd<Borrowed>> {
    // SAFETY: guaranteed by the caller.
    let watched = unsafe { AsyncFd::register_with_interest(Borrowed(fd), Interest::READABLE) };
    watched.map_err(|error| of_runtime(error.into()))
}

fn of_runtime(error: io::Error) -> Error {
    Error::new(Code::System, format!("the event loop cannot watch a descriptor: {error}"))
}

/// Records, state and events of a subscriber as a `Stream`: see [`Subscriber::into_stream`]. It
/// ends when [`Items`](crate::Items) would end, and blocks no thread.
#[derive(Debug)]
pub struct ItemStream<R> {
    descriptor: AsyncFd<Borrowed>, // dropped before the subscriber, which owns it
    subscriber: Subscriber,
    taker: Taker<R>,
    interval_end: Option<Pin<Box<Sleep>>>, // with conflation, while nothing is available
    items_in_turn: u32,
    has_ended: bool,
}

impl<R: Row> ItemStream<R> {
    pub(crate) fn of(subscriber: Subscriber) -> Result<ItemStream<R>> {
        // SAFETY: the descriptor belongs to the subscriber, which is dropped after it.
        let descriptor = unsafe { watch(subscriber.fd()?.as_raw_fd()) }?;
        Ok(ItemStream {
            descriptor,
            subscriber,
            taker: Taker::new(),
            interval_end: None,
            items_in_turn: 0,
            has_ended: false,
        })
    }

    /// Returns the subscriber, for its [`position`](Subscriber::position) and
    /// [`info`](Subscriber::info) during the iteration.
    pub fn subscriber(&self) -> &Subscriber {
        &self.subscriber
    }

    /// Returns the subscriber. Its next read continues after the last item.
    pub fn into_subscriber(self) -> Subscriber {
        self.subscriber
    }

    /// Is ready when it is worth trying to read again.
    fn poll_arrival(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        if let Some(interval) = self.subscriber.conflates_every {
            let end = self.interval_end.get_or_insert_with(|| Box::pin(sleep(interval)));
            if end.as_mut().poll(cx).is_ready() {
                self.interval_end = None;
                return Poll::Ready(Ok(()));
            }
        }
        let mut guard = ready!(self.descriptor.poll_read_ready(cx)).map_err(of_runtime)?;
        guard.clear_ready();
        Poll::Ready(Ok(()))
    }
}

impl<R: Row> Stream for ItemStream<R> {
    type Item = Result<Item<R>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.has_ended {
            return Poll::Ready(None);
        }
        if this.items_in_turn == ITEMS_PER_TURN_MAX {
            this.items_in_turn = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        loop {
            match this.taker.take(&mut this.subscriber, NOW) {
                Ok(item) => {
                    this.items_in_turn += 1;
                    return Poll::Ready(Some(Ok(item)));
                }
                Err(error) if error.code() == Code::WouldBlock => {
                    this.items_in_turn = 0;
                    if let Err(error) = ready!(this.poll_arrival(cx)) {
                        return Poll::Ready(ended(error, &mut this.has_ended));
                    }
                }
                Err(error) => return Poll::Ready(ended(error, &mut this.has_ended)),
            }
        }
    }
}

impl Channel {
    /// Waits, without blocking a thread, until a message may have arrived or, for a producer, until
    /// there may be room for `bytes`. Then make a call with [`NOW`], and wait again if it returns
    /// would-block.
    ///
    /// Error: closed.
    pub async fn ready(&mut self, bytes: usize) -> Result<()> {
        if !self.arm(bytes)? {
            return Ok(());
        }
        // SAFETY: the descriptor belongs to the channel, which is borrowed until the end.
        let descriptor = unsafe { watch(self.fd()?.as_raw_fd()) }?;
        descriptor.readable().await.map_err(of_runtime)?.retain_ready();
        Ok(())
    }
}
