//! Channels: messages of any size from one process to another, with backpressure.
//!
//! | this side | the other | |
//! | --- | --- | --- |
//! | [`Producer`] | [`Consumer`] | messages in one direction |
//! | [`Duplex`] | [`Duplex`] | calls and one-way messages in both directions |
//!
//! One process listens ([`Listener`]), and the other connects. Each may have any role.
//!
//! Borrowed payloads are in the other side's memory. The other side is a process of this user or
//! root, unless you named another user. A side that follows the protocol does not write to a
//! message before it is released. If you cannot rely on that, copy a payload before you validate
//! it.

mod consumer;
mod duplex;
mod listener;
mod options;
mod producer;

pub use consumer::{Consumer, Incoming, IncomingMessages, Message, Messages};
pub use duplex::{Call, Duplex, Finished, Outcome, Reply, Request};
pub use listener::Listener;
pub use options::ChannelOptions;
pub use producer::{Claim, Producer};

use std::os::fd::BorrowedFd;
use std::path::Path;

use lapwing_sys as sys;

use crate::error::Result;
use crate::handle::{Handle, Interrupter};
use crate::numbered::numbered;
use crate::position::Id;
use crate::text::Text;
use crate::timeout::Timeout;

numbered! {
    /// The role of a side of a channel.
    ChannelRole {
        Producer = LAPWING_CHANNEL_ROLE_PRODUCER, "producer";
        Consumer = LAPWING_CHANNEL_ROLE_CONSUMER, "consumer";
        /// Calls and one-way messages, in both directions.
        Duplex = LAPWING_CHANNEL_ROLE_DUPLEX, "duplex";
    }
}

/// The current state of a channel.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChannelInfo {
    pub role: ChannelRole,
    /// The same on both sides.
    pub connection_id: Id,
    /// Size of the largest message that may arrive (consumer) or be sent (otherwise).
    pub message_bytes_max: u64,
    pub sent: u64,
    /// Messages that were received and released.
    pub received: u64,
    /// Sent messages that the other side reports as released.
    pub released: u64,
    pub full_waits: u64,
    pub empty_waits: u64,
    pub sleeps: u64,
    /// Wake-ups of the other side; each is a system call.
    pub wakes: u64,
    pub late_replies: u64,
}

/// The part shared by the three kinds of ends.
#[derive(Debug)]
pub struct Channel {
    pub(crate) handle: Handle<sys::lapwing_channel>,
}

impl Channel {
    fn connect(
        path: &Path,
        role: ChannelRole,
        options: &ChannelOptions,
        timeout: Timeout,
    ) -> Result<Channel> {
        let path = Text::of_path(path, "path")?;
        options.with_c(|given| {
            // SAFETY: the call copies the path and the options.
            let handle = Handle::open(|library, place, error| unsafe {
                let (path, timeout_ns) = (path.as_ptr(), timeout.ns());
                library.lapwing_channel_connect(
                    path,
                    role.number(),
                    given,
                    timeout_ns,
                    place,
                    error,
                )
            })?;
            Ok(Channel { handle })
        })
    }

    /// For an event loop. True: nothing has arrived or, for a producer, there is no room for
    /// `bytes`. [`fd`](Channel::fd) becomes readable when that may have changed. False: try at
    /// once. The result is valid until the next call on this channel.
    pub fn arm(&mut self, bytes: usize) -> Result<bool> {
        let mut armed = 0;
        // SAFETY: `armed` is valid for writes.
        self.handle.call(|library, channel, error| unsafe {
            library.lapwing_channel_arm(channel, bytes, &mut armed, error)
        })?;
        Ok(armed != 0)
    }

    /// For an event loop: see [`arm`](Channel::arm). Error: closed.
    pub fn fd(&self) -> Result<BorrowedFd<'_>> {
        let mut fd = -1;
        // SAFETY: `fd` is valid for writes.
        self.handle.call(|library, channel, error| unsafe {
            library.lapwing_channel_fd(channel, &mut fd, error)
        })?;
        // SAFETY: the descriptor is open for as long as the channel is.
        Ok(unsafe { BorrowedFd::borrow_raw(fd) })
    }

    pub fn info(&self) -> Result<ChannelInfo> {
        let mut info = sys::lapwing_channel_info {
            struct_size: size_of::<sys::lapwing_channel_info>() as u32,
            ..Default::default()
        };
        // SAFETY: `info.struct_size` is set.
        self.handle.call(|library, channel, error| unsafe {
            library.lapwing_channel_inspect(channel, &mut info, error)
        })?;
        Ok(ChannelInfo {
            role: ChannelRole::from_number(info.role),
            connection_id: info.connection_id.into(),
            message_bytes_max: info.message_bytes_max,
            sent: info.sent,
            received: info.received,
            released: info.released,
            full_waits: info.full_waits,
            empty_waits: info.empty_waits,
            sleeps: info.sleeps,
            wakes: info.wakes,
            late_replies: info.late_replies,
        })
    }

    /// Returns an interrupter, with which another thread ends a waiting call.
    pub fn interrupter(&self) -> Interrupter {
        self.handle.interrupter()
    }

    /// Ends the channel and notifies the other side at once. Idempotent. Dropping does the same.
    pub fn close(&mut self) -> Result<()> {
        // SAFETY: the call accesses no buffer of the caller.
        self.handle.call(|library, channel, error| unsafe {
            library.lapwing_channel_close(channel, error)
        })
    }
}

mod sealed {
    pub trait Sealed {
        fn of(channel: super::Channel) -> Self;
    }
}

/// An end of a channel: [`Producer`], [`Consumer`] or [`Duplex`]. [`Listener::accept`] returns one.
pub trait ChannelEnd: sealed::Sealed + Sized {
    const ROLE: ChannelRole;
}

/// Makes a struct with a field `channel` a channel end.
macro_rules! end {
    ($type:ident) => {
        impl crate::channel::ChannelEnd for $type {
            const ROLE: crate::channel::ChannelRole = crate::channel::ChannelRole::$type;
        }

        impl $type {
            /// Connects to the process that listens on the path.
            ///
            /// Errors: no-bus (nothing is at the path), peer-gone (no process listens), timed-out,
            /// refused, not-permitted, invalid-argument, abi-mismatch, protocol, no-space, limit,
            /// unsupported, system.
            pub fn connect(
                path: impl AsRef<std::path::Path>,
                options: &crate::channel::ChannelOptions,
                timeout: impl Into<crate::timeout::Timeout>,
            ) -> crate::error::Result<$type> {
                use crate::channel::{sealed::Sealed, Channel, ChannelRole};
                let timeout = timeout.into();
                Channel::connect(path.as_ref(), ChannelRole::$type, options, timeout).map($type::of)
            }
        }

        impl std::ops::Deref for $type {
            type Target = crate::channel::Channel;

            fn deref(&self) -> &crate::channel::Channel {
                &self.channel
            }
        }

        impl std::ops::DerefMut for $type {
            fn deref_mut(&mut self) -> &mut crate::channel::Channel {
                &mut self.channel
            }
        }
    };
}
use end;

/// Converts a message for the library, which copies the payload.
fn outgoing(message_type: u32, payload: &[u8]) -> sys::lapwing_message {
    sys::lapwing_message {
        payload: payload.as_ptr().cast(),
        bytes: payload.len(),
        type_: message_type,
        reserved: 0,
    }
}

/// Returns the payload of a message from the library.
///
/// # Safety
/// The message must stay borrowed for as long as the reference lives.
unsafe fn payload_of<'a>(message: &sys::lapwing_message) -> &'a [u8] {
    match message.payload.is_null() {
        true => &[],
        // SAFETY: guaranteed by the caller.
        false => unsafe { std::slice::from_raw_parts(message.payload.cast::<u8>(), message.bytes) },
    }
}

/// Sends messages in order. On failure, the error's `progress` is the number of messages sent.
fn send(channel: &Channel, messages: &[(u32, &[u8])], timeout: Timeout) -> Result<()> {
    // One message, the usual case, needs no allocation.
    let send = |messages: &[sys::lapwing_message]| {
        let mut sent = 0;
        // SAFETY: the payloads live until the call has copied them.
        let done = channel.handle.call(|library, channel, error| unsafe {
            library.lapwing_channel_send(
                channel,
                messages.as_ptr(),
                messages.len(),
                timeout.ns(),
                &mut sent,
                error,
            )
        });
        done.map_err(|error| error.with_progress(sent as u64))
    };
    match messages {
        [(message_type, payload)] => send(&[outgoing(*message_type, payload)]),
        _ => {
            let messages = messages.iter().map(|(of, payload)| outgoing(*of, payload));
            send(&messages.collect::<Vec<_>>())
        }
    }
}
