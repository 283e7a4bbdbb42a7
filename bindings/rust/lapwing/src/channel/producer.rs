//! The sending side of a channel.

use std::ops::{Deref, DerefMut};
use std::ptr;
use std::slice;

use super::{end, sealed, send, Channel};
use crate::error::Result;
use crate::timeout::Timeout;

/// Sends messages to a [`Consumer`](crate::Consumer).
#[derive(Debug)]
pub struct Producer {
    channel: Channel,
}

end!(Producer);

impl sealed::Sealed for Producer {
    fn of(channel: Channel) -> Producer {
        Producer { channel }
    }
}

impl Producer {
    /// Copies a message into the channel. The sender chooses its type.
    ///
    /// Errors: timed-out, would-block, interrupted, misuse (it exceeds the maximum size). Final
    /// errors: closed, peer-gone, corrupt.
    pub fn send(
        &mut self,
        message_type: u32,
        payload: &[u8],
        timeout: impl Into<Timeout>,
    ) -> Result<()> {
        send(&self.channel, &[(message_type, payload)], timeout.into())
    }

    /// Sends messages, each a type and a payload, in order. On failure,
    /// [`Error::progress`](crate::Error::progress) returns the number of messages that were sent.
    pub fn send_all(
        &mut self,
        messages: &[(u32, &[u8])],
        timeout: impl Into<Timeout>,
    ) -> Result<()> {
        send(&self.channel, messages, timeout.into())
    }

    /// Returns room for a message of up to `bytes` in the channel's memory. Write the message there
    /// and commit it; it is not copied. Dropping the claim abandons it.
    pub fn claim(&mut self, bytes: usize, timeout: impl Into<Timeout>) -> Result<Claim<'_>> {
        let timeout = timeout.into();
        let mut payload = ptr::null_mut();
        // SAFETY: `payload` is valid for writes.
        self.channel.handle.call(|library, channel, error| unsafe {
            library.lapwing_channel_claim(channel, bytes, timeout.ns(), &mut payload, error)
        })?;
        // SAFETY: the claim owns it until commit or abort, and shared memory is always initialised.
        let payload = match payload.is_null() {
            true => &mut [],
            false => unsafe { slice::from_raw_parts_mut(payload.cast::<u8>(), bytes) },
        };
        Ok(Claim { producer: self, payload })
    }

    /// Waits until the consumer has released everything.
    pub fn drain(&mut self, timeout: impl Into<Timeout>) -> Result<()> {
        let timeout = timeout.into();
        // SAFETY: the call accesses no buffer of the caller.
        self.channel.handle.call(|library, channel, error| unsafe {
            library.lapwing_channel_drain(channel, timeout.ns(), error)
        })
    }
}

/// A message that is being written, in the channel's memory. It initially contains old bytes.
#[must_use = "a claim that is dropped sends nothing"]
#[derive(Debug)]
pub struct Claim<'p> {
    producer: &'p mut Producer,
    payload: &'p mut [u8],
}

impl Claim<'_> {
    /// Sends the whole claim.
    pub fn commit(self, message_type: u32) -> Result<()> {
        let bytes = self.payload.len();
        self.commit_first(bytes, message_type)
    }

    /// Sends the first `bytes` of the claim. Error: misuse (the claim is smaller).
    pub fn commit_first(self, bytes: usize, message_type: u32) -> Result<()> {
        // SAFETY: the call accesses no buffer of the caller.
        self.producer.channel.handle.call(|library, channel, error| unsafe {
            library.lapwing_channel_commit(channel, bytes, message_type, error)
        })?;
        std::mem::forget(self); // the claim is sent: do not abort it
        Ok(())
    }

    /// Abandons the claim. Dropping does the same.
    pub fn abort(self) -> Result<()> {
        let aborted = self.give_up();
        std::mem::forget(self);
        aborted
    }

    fn give_up(&self) -> Result<()> {
        // SAFETY: the call accesses no buffer of the caller.
        self.producer.channel.handle.call(|library, channel, error| unsafe {
            library.lapwing_channel_abort(channel, error)
        })
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        // This fails if the channel has ended. The next call reports that.
        let _ = self.give_up();
    }
}

impl Deref for Claim<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.payload
    }
}

impl DerefMut for Claim<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.payload
    }
}
