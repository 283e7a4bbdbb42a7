//! Calls and one-way messages in both directions.

use std::fmt;

use lapwing_sys as sys;

use super::{end, outgoing, payload_of, sealed, send, Channel};
use crate::error::Result;
use crate::timeout::Timeout;

/// One side of a duplex channel. Either side may call the other.
#[derive(Debug)]
pub struct Duplex {
    channel: Channel,
}

end!(Duplex);

impl sealed::Sealed for Duplex {
    fn of(channel: Channel) -> Duplex {
        Duplex { channel }
    }
}

/// Identifies a pending call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Call(u64);

/// The other side's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A reply. The server chooses its type.
    Reply { message_type: u32 },
    /// An error. The server chooses its number, and the payload is its text.
    Error { code: u32 },
}

/// The answer to a call. Its payload is borrowed from the [`Duplex`].
#[derive(Clone, Copy)]
pub struct Reply<'d> {
    pub outcome: Outcome,
    /// The call had already ended (only with
    /// [`ChannelOptions::late_replies`](crate::ChannelOptions::late_replies)).
    pub is_late: bool,
    pub payload: &'d [u8],
}

impl fmt::Debug for Reply<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("outcome", &self.outcome)
            .field("is_late", &self.is_late)
            .field("payload", &format_args!("{} bytes", self.payload.len()))
            .finish()
    }
}

/// A call that has ended.
#[derive(Debug)]
pub struct Finished<'d> {
    pub call: Call,
    /// An error if the call ended without an answer, for example timed-out.
    pub reply: Result<Reply<'d>>,
}

/// A call or a one-way message from the other side.
///
/// Its payload stays valid until the next request is received. Replies may be sent in the meantime.
pub struct Request<'d> {
    duplex: &'d Duplex,
    given: sys::lapwing_request,
}

impl Request<'_> {
    /// The call to answer; `None` for a one-way message, which has no answer. You can keep the call
    /// and answer it later with [`Duplex::reply`].
    pub fn call(&self) -> Option<Call> {
        (self.given.call != 0).then_some(Call(self.given.call))
    }

    /// The message's type, chosen by the sender.
    pub fn message_type(&self) -> u32 {
        self.given.message.type_
    }

    /// The payload, in the other side's memory.
    pub fn payload(&self) -> &[u8] {
        // SAFETY: nothing receives while the request borrows the duplex.
        unsafe { payload_of(&self.given.message) }
    }

    /// Answers the call. Errors: misuse (this is not a call, or it was already answered), and those
    /// of [`Producer::send`](crate::Producer::send).
    pub fn reply(
        &self,
        message_type: u32,
        payload: &[u8],
        timeout: impl Into<Timeout>,
    ) -> Result<()> {
        self.duplex.answer(self.given.call, message_type, payload, None, timeout.into())
    }

    /// Answers the call with an error: a number that the server chooses, and a text.
    pub fn reply_error(&self, code: u32, text: &str, timeout: impl Into<Timeout>) -> Result<()> {
        self.duplex.answer(self.given.call, 0, text.as_bytes(), Some(code), timeout.into())
    }
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("call", &self.call())
            .field("message_type", &self.message_type())
            .field("bytes", &self.payload().len())
            .finish()
    }
}

impl Duplex {
    /// Calls the other side, and waits for its answer.
    ///
    /// Errors: timed-out, interrupted, misuse (the request exceeds the maximum size), limit (too
    /// many calls are pending). Final errors: closed, peer-gone, corrupt.
    pub fn call(
        &mut self,
        message_type: u32,
        payload: &[u8],
        timeout: impl Into<Timeout>,
    ) -> Result<Reply<'_>> {
        let call = self.start(message_type, payload, timeout)?;
        self.finish(call)
    }

    /// Sends a request. The reply must arrive within the timeout.
    pub fn start(
        &mut self,
        message_type: u32,
        payload: &[u8],
        timeout: impl Into<Timeout>,
    ) -> Result<Call> {
        let (request, timeout) = (outgoing(message_type, payload), timeout.into());
        let mut call = 0;
        // SAFETY: the call copies the payload.
        self.channel.handle.call(|library, channel, error| unsafe {
            library.lapwing_channel_start(channel, &request, timeout.ns(), &mut call, error)
        })?;
        Ok(Call(call))
    }

    /// Waits until that call ends, at most until the call's own timeout. Error: misuse (it is not
    /// pending). Other errors, such as timed-out, mean that it ended without an answer.
    pub fn finish(&mut self, call: Call) -> Result<Reply<'_>> {
        self.finish_one(|library, channel, given, error| {
            // SAFETY: `given.struct_size` is set.
            unsafe { library.lapwing_channel_finish(channel, call.0, given, error) }
        })
        .reply
    }

    /// Returns the next call that ends, or a late reply. Errors: timed-out, would-block,
    /// interrupted (no call has ended), misuse (no call is pending).
    pub fn finish_any(&mut self, timeout: impl Into<Timeout>) -> Result<Finished<'_>> {
        let timeout = timeout.into();
        let finished = self.finish_one(|library, channel, given, error| {
            // SAFETY: `given.struct_size` is set.
            unsafe { library.lapwing_channel_finish_any(channel, timeout.ns(), given, error) }
        });
        match finished {
            Finished { call: Call(0), reply: Err(error) } => Err(error),
            finished => Ok(finished),
        }
    }

    fn finish_one(
        &mut self,
        finish: impl FnOnce(
            &sys::Lapwing,
            *mut sys::lapwing_channel,
            *mut sys::lapwing_reply,
            *mut sys::lapwing_error,
        ) -> sys::lapwing_result,
    ) -> Finished<'_> {
        let mut given = empty_reply();
        let ended = self
            .channel
            .handle
            .call(|library, channel, error| finish(library, channel, &mut given, error));
        let reply = ended.map(|()| Reply {
            outcome: match given.is_error {
                0 => Outcome::Reply { message_type: given.message.type_ },
                _ => Outcome::Error { code: given.code },
            },
            is_late: given.is_late != 0,
            // SAFETY: the payload stays valid until the next start or finish, and the duplex is
            // borrowed until then.
            payload: unsafe { payload_of(&given.message) },
        });
        Finished { call: Call(given.call), reply }
    }

    /// Ends a call without a reply.
    pub fn cancel(&mut self, call: Call) -> Result<()> {
        // SAFETY: the call accesses no buffer of the caller.
        self.channel.handle.call(|library, channel, error| unsafe {
            library.lapwing_channel_cancel(channel, call.0, error)
        })
    }

    /// Returns the next call or one-way message from the other side.
    ///
    /// Errors: timed-out, would-block, interrupted. Final errors: closed, peer-gone, corrupt.
    pub fn receive(&mut self, timeout: impl Into<Timeout>) -> Result<Request<'_>> {
        let timeout = timeout.into();
        let mut given = sys::lapwing_request {
            struct_size: size_of::<sys::lapwing_request>() as u32,
            ..Default::default()
        };
        // SAFETY: `given.struct_size` is set.
        self.channel.handle.call(|library, channel, error| unsafe {
            library.lapwing_channel_next(channel, timeout.ns(), &mut given, error)
        })?;
        Ok(Request { duplex: self, given })
    }

    /// Answers a call that [`receive`](Duplex::receive) returned. Calls may be answered in any
    /// order. Errors: those of [`Request::reply`].
    pub fn reply(
        &mut self,
        call: Call,
        message_type: u32,
        payload: &[u8],
        timeout: impl Into<Timeout>,
    ) -> Result<()> {
        self.answer(call.0, message_type, payload, None, timeout.into())
    }

    /// Answers the call with an error: a number that the server chooses, and a text.
    pub fn reply_error(
        &mut self,
        call: Call,
        code: u32,
        text: &str,
        timeout: impl Into<Timeout>,
    ) -> Result<()> {
        self.answer(call.0, 0, text.as_bytes(), Some(code), timeout.into())
    }

    fn answer(
        &self,
        call: u64,
        message_type: u32,
        payload: &[u8],
        error_code: Option<u32>,
        timeout: Timeout,
    ) -> Result<()> {
        let reply = sys::lapwing_reply {
            is_error: error_code.is_some().into(),
            code: error_code.unwrap_or(0),
            call,
            message: outgoing(message_type, payload),
            ..empty_reply()
        };
        // SAFETY: the call copies the payload.
        self.channel.handle.call(|library, channel, error| unsafe {
            library.lapwing_channel_reply(channel, &reply, timeout.ns(), error)
        })
    }

    /// Sends a one-way message, which has no answer. Errors: those of
    /// [`Producer::send`](crate::Producer::send).
    pub fn send(
        &mut self,
        message_type: u32,
        payload: &[u8],
        timeout: impl Into<Timeout>,
    ) -> Result<()> {
        send(&self.channel, &[(message_type, payload)], timeout.into())
    }

    /// Sends one-way messages in order. On failure, [`Error::progress`](crate::Error::progress)
    /// returns the number of messages that were sent.
    pub fn send_all(
        &mut self,
        messages: &[(u32, &[u8])],
        timeout: impl Into<Timeout>,
    ) -> Result<()> {
        send(&self.channel, messages, timeout.into())
    }
}

fn empty_reply() -> sys::lapwing_reply {
    sys::lapwing_reply { struct_size: size_of::<sys::lapwing_reply>() as u32, ..Default::default() }
}
