//! Listens on a path and serves one peer after another.

use std::os::fd::BorrowedFd;
use std::path::Path;

use lapwing_sys as sys;

use super::{Channel, ChannelEnd, ChannelOptions};
use crate::error::Result;
use crate::handle::{Handle, Interrupter};
use crate::text::Text;
use crate::timeout::Timeout;

#[derive(Debug)]
pub struct Listener {
    pub(crate) handle: Handle<sys::lapwing_listener>,
}

impl Listener {
    /// Listens on a path for peers that run as this user or root, or as
    /// [`ChannelOptions::peer_uid`]. It uses no other option.
    ///
    /// Errors: in-use (a process listens there), not-a-lapwing-file, not-permitted, not-found,
    /// path-too-long, system.
    pub fn open(path: impl AsRef<Path>, options: &ChannelOptions) -> Result<Listener> {
        let path = Text::of_path(path.as_ref(), "path")?;
        options.with_c(|given| {
            // SAFETY: the call copies the path and the options.
            let handle = Handle::open(|library, place, error| unsafe {
                library.lapwing_listener_open(path.as_ptr(), given, place, error)
            })?;
            Ok(Listener { handle })
        })
    }

    /// Replaces the process that listens there now, as soon as that process calls accept or tend.
    ///
    /// Errors: no-bus, peer-gone, timed-out, refused, not-permitted, protocol.
    pub fn take_over(
        path: impl AsRef<Path>,
        options: &ChannelOptions,
        timeout: impl Into<Timeout>,
    ) -> Result<Listener> {
        let path = Text::of_path(path.as_ref(), "path")?;
        let timeout = timeout.into();
        options.with_c(|given| {
            // SAFETY: the call copies the path and the options.
            let handle = Handle::open(|library, place, error| unsafe {
                let (path, timeout_ns) = (path.as_ptr(), timeout.ns());
                library.lapwing_listener_take_over(path, given, timeout_ns, place, error)
            })?;
            Ok(Listener { handle })
        })
    }

    /// Serves the next peer: `listener.accept::<Duplex>(…)`.
    ///
    /// Errors: timed-out, would-block, interrupted, closed (handed over), invalid-argument, limit,
    /// no-space, system.
    pub fn accept<E: ChannelEnd>(
        &mut self,
        options: &ChannelOptions,
        timeout: impl Into<Timeout>,
    ) -> Result<E> {
        let timeout = timeout.into();
        options.with_c(|given| {
            // SAFETY: the call copies the options.
            let handle = self.handle.alone(|listener| {
                Handle::open(|library, place, error| unsafe {
                    library.lapwing_listener_accept(
                        listener,
                        E::ROLE.number(),
                        given,
                        timeout.ns(),
                        place,
                        error,
                    )
                })
            })?;
            Ok(E::of(Channel { handle }))
        })
    }

    /// Drops clients that stay silent, and lets a successor take over. Call it while serving a
    /// peer. Never waits. Error: closed (handed over).
    pub fn tend(&mut self) -> Result<()> {
        // SAFETY: the call accesses no buffer of the caller.
        self.handle.call(|library, listener, error| unsafe {
            library.lapwing_listener_tend(listener, error)
        })
    }

    /// For an event loop. The descriptor is readable when the call that was made last, accept or
    /// tend, has something to do. Error: closed (handed over).
    pub fn fd(&self) -> Result<BorrowedFd<'_>> {
        let mut fd = -1;
        // SAFETY: `fd` is valid for writes.
        self.handle.call(|library, listener, error| unsafe {
            library.lapwing_listener_fd(listener, &mut fd, error)
        })?;
        // SAFETY: the descriptor is open for as long as the listener is.
        Ok(unsafe { BorrowedFd::borrow_raw(fd) })
    }

    /// Returns an interrupter, with which another thread ends a wait of this listener.
    pub fn interrupter(&self) -> Interrupter {
        self.handle.interrupter()
    }
}
