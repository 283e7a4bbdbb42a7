//! The receiving side.

use std::fmt;
use std::ops::Deref;

use lapwing_sys as sys;

use super::{end, payload_of, sealed, Channel};
use crate::error::Result;
use crate::items::ended;
use crate::timeout::Timeout;

/// Most messages of one peek.
const PEEK_MESSAGES_MAX: usize = 4096;

/// Receives the messages of a [`Producer`](crate::Producer).
///
/// [`peek`](Consumer::peek) borrows them where they are, and [`release`](Consumer::release) gives
/// their room back: a message that is released cannot be used, since that does not compile.
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
    peeked: Vec<sys::lapwing_message>, // memory that is used again
}

// SAFETY: `peeked` points into the channel's memory, which any thread may read, one at a time.
unsafe impl Send for Consumer {}

end!(Consumer);

impl sealed::Sealed for Consumer {
    fn of(channel: Channel) -> Consumer {
        Consumer { channel, peeked: Vec::new() }
    }
}

impl Consumer {
    /// Borrows up to `max` messages, and 4,096 at most, from the first that is not released on.
    /// Waits until there is a message. Messages that are not released are returned again.
    ///
    /// Errors: timed-out, would-block, interrupted, and for good closed, peer-gone, corrupt.
    pub fn peek(&mut self, max: usize, timeout: impl Into<Timeout>) -> Result<Messages<'_>> {
        let (max, timeout) = (max.min(PEEK_MESSAGES_MAX), timeout.into());
        if self.peeked.len() < max {
            self.peeked.resize(max, Default::default());
        }
        let (messages, mut count) = (self.peeked.as_mut_ptr(), 0);
        // SAFETY: there is memory for `max` messages.
        self.channel.handle.call(|library, channel, error| unsafe {
            library.lapwing_channel_peek(channel, messages, max, timeout.ns(), &mut count, error)
        })?;
        Ok(Messages { consumer: self, count })
    }

    /// Gives back the first `count` messages of the last peek. Error: misuse (there were fewer).
    pub fn release(&mut self, count: usize) -> Result<()> {
        // SAFETY: no message is borrowed any more.
        self.channel.handle.call(|library, channel, error| unsafe {
            library.lapwing_channel_release(channel, count, error)
        })
    }

    /// Copies the next message and releases it. `payload` is emptied first. Returns the message's
    /// type.
    pub fn receive(&mut self, payload: &mut Vec<u8>, timeout: impl Into<Timeout>) -> Result<u32> {
        let messages = self.peek(1, timeout)?;
        payload.clear();
        payload.extend_from_slice(messages[0].payload());
        let message_type = messages[0].message_type();
        messages.release()?;
        Ok(message_type)
    }

    /// Copies of the messages, one by one. Each step waits for at most the timeout. It ends after a
    /// clean close, and after an error that stays.
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
    /// Gives all of them back.
    pub fn release(self) -> Result<()> {
        self.consumer.release(self.count)
    }

    /// Gives the first `count` back; the others come again.
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

/// A message that is borrowed.
#[repr(transparent)]
pub struct Message(sys::lapwing_message);

impl Message {
    /// The sender's to choose.
    pub fn message_type(&self) -> u32 {
        self.0.type_
    }

    /// In the producer's memory.
    pub fn payload(&self) -> &[u8] {
        // SAFETY: a Message is seen through Messages alone, until they are released.
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

/// An iterator of messages: [`Consumer::messages`].
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
