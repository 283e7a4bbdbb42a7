//! The receiving side of a channel.

use std::fmt;
use std::ops::Deref;

use lapwing_sys as sys;

use super::{end, payload_of, sealed, Channel};
use crate::error::Result;
use crate::items::ended;
use crate::timeout::Timeout;

/// Maximum number of messages in one peek.
const PEEK_MESSAGES_MAX: usize = 4096;

/// Receives the messages from a [`Producer`](crate::Producer).
///
/// [`peek`](Consumer::peek) borrows them in place, and [`release`](Consumer::release) frees their
/// memory. Using a released message does not compile.
///
/// ```compile_fail
/// # fn f(consumer: &mut lapwing::Consumer) -> lapwing::Result<()> {
/// let messages = consumer.peek(16, lapwing::FOREVER)?;
/// consumer.release(messages.len())?;
/// println!("{:?}", messages[0].payload());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Consumer {
    channel: Channel,
    peeked: Vec<sys::lapwing_message>, // reused by every peek
}

// SAFETY: `peeked` points into the channel's memory, which one thread at a time may read.
unsafe impl Send for Consumer {}

end!(Consumer);

impl sealed::Sealed for Consumer {
    fn of(channel: Channel) -> Consumer {
        Consumer { channel, peeked: Vec::new() }
    }
}

impl Consumer {
    /// Borrows up to `max` messages, at most 4,096, beginning with the first unreleased one. Waits
    /// until there is a message. The next peek returns unreleased messages again.
    ///
    /// Errors: timed-out, would-block, interrupted. Final errors: closed, peer-gone, corrupt.
    pub fn peek(&mut self, max: usize, timeout: impl Into<Timeout>) -> Result<Messages<'_>> {
        let (max, timeout) = (max.min(PEEK_MESSAGES_MAX), timeout.into());
        if self.peeked.len() < max {
            self.peeked.resize(max, Default::default());
        }
        let (messages, mut count) = (self.peeked.as_mut_ptr(), 0);
        // SAFETY: the buffer holds `max` messages.
        self.channel.handle.call(|library, channel, error| unsafe {
            library.lapwing_channel_peek(channel, messages, max, timeout.ns(), &mut count, error)
        })?;
        Ok(Messages { consumer: self, count })
    }

    /// Releases the first `count` messages of the last peek. Error: misuse (there were fewer).
    pub fn release(&mut self, count: usize) -> Result<()> {
        // SAFETY: no message is borrowed any more.
        self.channel.handle.call(|library, channel, error| unsafe {
            library.lapwing_channel_release(channel, count, error)
        })
    }

    /// Copies the next message into `payload`, which is cleared first, and releases the message.
    /// Returns the message's type.
    pub fn receive(&mut self, payload: &mut Vec<u8>, timeout: impl Into<Timeout>) -> Result<u32> {
        let messages = self.peek(1, timeout)?;
        payload.clear();
        payload.extend_from_slice(messages[0].payload());
        let message_type = messages[0].message_type();
        messages.release()?;
        Ok(message_type)
    }

    /// Iterates over copies of the messages. Each step waits no longer than the timeout. The
    /// iterator ends after a clean close or a final error.
    pub fn messages(&mut self, timeout: impl Into<Timeout>) -> IncomingMessages<'_> {
        IncomingMessages { consumer: self, timeout: timeout.into(), has_ended: false }
    }
}

/// Messages that are borrowed from a [`Consumer`], as a slice.
pub struct Messages<'c> {
    consumer: &'c mut Consumer,
    count: usize,
}

impl Messages<'_> {
    /// Releases all of them.
    pub fn release(self) -> Result<()> {
        self.consumer.release(self.count)
    }

    /// Releases the first `count` messages. The next peek returns the others again.
    pub fn release_first(self, count: usize) -> Result<()> {
        self.consumer.release(count)
    }
}

impl Deref for Messages<'_> {
    type Target = [Message];

    fn deref(&self) -> &[Message] {
        let messages = &self.consumer.peeked[..self.count];
        // SAFETY: Message is transparent.
        unsafe { &*(messages as *const [sys::lapwing_message] as *const [Message]) }
    }
}

impl fmt::Debug for Messages<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A borrowed message.
#[repr(transparent)]
pub struct Message(sys::lapwing_message);

impl Message {
    /// The message's type, chosen by the sender.
    pub fn message_type(&self) -> u32 {
        self.0.type_
    }

    /// The payload, in the producer's memory.
    pub fn payload(&self) -> &[u8] {
        // SAFETY: a Message is visible only through Messages, until they are released.
        unsafe { payload_of(&self.0) }
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("message_type", &self.message_type())
            .field("bytes", &self.payload().len())
            .finish()
    }
}

/// A copy of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    pub message_type: u32,
    pub payload: Vec<u8>,
}

/// An iterator over messages, returned by [`Consumer::messages`].
#[derive(Debug)]
pub struct IncomingMessages<'c> {
    consumer: &'c mut Consumer,
    timeout: Timeout,
    has_ended: bool,
}

impl Iterator for IncomingMessages<'_> {
    type Item = Result<Incoming>;

    fn next(&mut self) -> Option<Result<Incoming>> {
        if self.has_ended {
            return None;
        }
        let mut payload = Vec::new();
        match self.consumer.receive(&mut payload, self.timeout) {
            Ok(message_type) => Some(Ok(Incoming { message_type, payload })),
            Err(error) => ended(error, &mut self.has_ended),
        }
    }
}
