//! The sending side.

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
    /// Copies a message into the channel. Its type is the sender's to choose.
    ///
    /// Errors: timed-out, would-block, interrupted, misuse (it is above the maximum), and for good
    /// closed, peer-gone, corrupt.
    pub fn send(
        &mut self,
        message_type: u32,
        payload: &[u8],
        timeout: impl Into<Timeout>,
    ) -> Result<()> {
        send(&self.channel, &[(message_type, payload)], timeout.into())
    }

    /// Messages, type and payload each, in order. Where it fails,
    /// [`Error::progress`](crate::Error::progress) of them are sent.
    pub fn send_all(
        &mut self,
        messages: &[(u32, &[u8])],
        timeout: impl Into<Timeout>,
    ) -> Result<()> {
        send(&self.channel, messages, timeout.into())
    }

    /// Room for a message of up to `bytes` in the channel's memory, to be written there and
    /// committed: without a copy. Dropping the claim gives it up.
    pub fn claim(&mut self, bytes: usize, timeout: impl Into<Timeout>) -> Result<Claim<'_>> {
        let timeout = timeout.into();
        let mut payload = ptr::null_mut();
        // SAFETY: `payload` is a place for it.
        self.channel.handle.call(|library, channel, error| unsafe {
            library.lapwing_channel_claim(channel, bytes, timeout.ns(), &mut payload, error)
        })?;
        // SAFETY: it is ours until commit or abort, and shared memory is always initialised.
        let payload = match payload.is_null() {
            true => &mut [],
            false => unsafe { slice::from_raw_parts_mut(payload.cast::<u8>(), bytes) },
        };
        Ok(Claim { producer: self, payload })
    }

    /// Waits until the consumer has released everything.
    pub fn drain(&mut self, timeout: impl Into<Timeout>) -> Result<()> {
        let timeout = timeout.into();
        // SAFETY: no memory is given.
        self.channel.handle.call(|library, channel, error| unsafe {
            library.lapwing_channel_drain(channel, timeout.ns(), error)
        })
    }
}

/// A message that is being written: bytes of the channel, with what was there before.
#[must_use = "a claim that is dropped sends nothing"]
#[derive(Debug)]
pub struct Claim<'p> {
    producer: &'p mut Producer,
    payload: &'p mut [u8],
}

impl Claim<'_> {
    /// Sends all of it.
    pub fn commit(self, message_type: u32) -> Result<()> {
        let bytes = self.payload.len();
        self.commit_first(bytes, message_type)
    }

    /// Sends the first `bytes` of it. Error: misuse (it is smaller).
    pub fn commit_first(self, bytes: usize, message_type: u32) -> Result<()> {
        // SAFETY: no memory is given.
        self.producer.channel.handle.call(|library, channel, error| unsafe {
            library.lapwing_channel_commit(channel, bytes, message_type, error)
        })?;
        std::mem::forget(self); // there is no claim to abort
        Ok(())
    }

    /// Gives it up. Dropping does the same.
    pub fn abort(self) -> Result<()> {
        let aborted = self.give_up();
        std::mem::forget(self);
        aborted
    }

    fn give_up(&self) -> Result<()> {
        // SAFETY: no memory is given.
        self.producer.channel.handle.call(|library, channel, error| unsafe {
            library.lapwing_channel_abort(channel, error)
        })
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        // It fails where the channel has ended, which the next call says.
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
