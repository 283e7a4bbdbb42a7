//! Waits for several sources on one thread.
//!
//! The library's set keeps the address of each source's handle, and polls the source during a wait.
//! No other call may therefore use a source during a wait, and no call may run while a source
//! leaves the set. One lock per set ensures this: every call on the set or on a source holds it. If
//! another thread holds it, the call returns misuse.
//!
//! A source is destroyed only after it has left its set. If it is dropped while another thread
//! waits, it leaves at the end of that wait. Until then, the set shares ownership of its handle.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use lapwing_sys as sys;

use crate::channel::{Channel, Consumer, Duplex, Listener, Producer};
use crate::error::{Code, Error, Result};
use crate::handle::{Handle, Interrupter, Member, Resource};
use crate::numbered::numbered;
use crate::subscriber::{Subscriber, Wait};
use crate::timeout::{limit_ns_of, ns_of, Timeout};

numbered! {
    /// The kind of a source of a [`WaitSet`].
    SourceKind {
        Subscriber = LAPWING_SOURCE_SUBSCRIBER, "subscriber";
        /// A subscriber with [`SubscriberOptions::conflate`](crate::SubscriberOptions::conflate).
        Conflated = LAPWING_SOURCE_CONFLATED, "conflated";
        Consumer = LAPWING_SOURCE_CONSUMER, "consumer";
        Producer = LAPWING_SOURCE_PRODUCER, "producer";
        Duplex = LAPWING_SOURCE_DUPLEX, "duplex";
        Listener = LAPWING_SOURCE_LISTENER, "listener";
        Fd = LAPWING_SOURCE_FD, "fd";
        Timer = LAPWING_SOURCE_TIMER, "timer";
    }
}

/// Identifies a source within its set. The set does not reuse ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(u64);

/// A source that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ready {
    pub kind: SourceKind,
    /// The token that was passed when the source was added.
    pub token: u64,
    pub source: SourceId,
    /// Number of expirations of a timer since it was last ready.
    pub expirations: u64,
    /// Descriptor events, as in poll(2).
    pub events: i16,
}

/// The contents of a set.
pub struct Core {
    handle: Handle<sys::lapwing_wait_set>,
    sources: Vec<Source>,
}

struct Source {
    id: u64,
    held: Held,
}

/// The part of a source that the set owns while the source is in it.
enum Held {
    Handle(Arc<dyn Member>),
    Fd { _open: OwnedFd },
    Timer,
}

/// Waits for several sources on one thread: subscribers, channel ends, listeners, descriptors and
/// timers.
///
/// ```no_run
/// # use lapwing::prelude::*;
/// # use std::time::Duration;
/// # fn main() -> lapwing::Result<()> {
/// let mut buses = [
///     Subscriber::open(&SubscriberOptions::new("./es"))?,
///     Subscriber::open(&SubscriberOptions::new("./nq"))?,
/// ];
/// let mut set = WaitSet::open(Wait::Backoff)?;
/// for (token, bus) in (0..).zip(&buses) {
///     set.add(bus, token)?;
/// }
/// let second = Duration::from_secs(1);
/// let tick = set.add_timer(second, second, 0)?;
/// let mut batch = Batch::new(4096);
/// loop {
///     let ready = set.wait(FOREVER)?;
///     if ready.source == tick {
///         println!("a second has passed");
///     } else if let Chunk::Records(rows) = buses[ready.token as usize].read(&mut batch, NOW)? {
///         println!("{} records of bus {}", rows.len(), ready.token);
///     }
/// }
/// # }
/// ```
///
/// [`wait`](WaitSet::wait) returns a source that is ready, and takes nothing from it. Call the
/// source itself with [`NOW`](crate::NOW). A source with more items is ready again. A source that
/// has ended stays ready until it is removed or dropped.
///
/// A dropped source leaves the set. Only one thread at a time may use a set and its sources. A call
/// that overlaps a call on another thread returns misuse and changes nothing.
#[derive(Debug)]
pub struct WaitSet {
    core: Arc<Mutex<Core>>,
    interrupter: Interrupter,
}

mod sealed {
    pub trait Sealed {
        fn join(
            &self,
            core: &mut super::Core,
            set: &std::sync::Arc<std::sync::Mutex<super::Core>>,
            token: u64,
        ) -> crate::error::Result<u64>;
    }
}
use sealed::Sealed;

/// A type that [`WaitSet::add`] takes: a [`Subscriber`], [`Consumer`], [`Duplex`] or [`Listener`].
pub trait Waitable: Sealed {}

impl WaitSet {
    /// Opens a set. It waits like a subscriber with this option. Errors: limit, system.
    pub fn open(wait: Wait) -> Result<WaitSet> {
        // SAFETY: both pointers are valid.
        let handle = Handle::open(|library, place, error| unsafe {
            library.lapwing_wait_set_open(wait as u32, place, error)
        })?;
        let interrupter = handle.interrupter();
        let core = Arc::new(Mutex::new(Core { handle, sources: Vec::new() }));
        Ok(WaitSet { core, interrupter })
    }

    /// Adds a source. Choose any `token`; it need not be unique.
    ///
    /// Errors: limit (127 sources), misuse (it is already in a set), invalid-argument (it uses
    /// [`Wait::Busy`] but the set does not).
    pub fn add(&mut self, source: &impl Waitable, token: u64) -> Result<SourceId> {
        let mut core = turn(&self.core)?;
        source.join(&mut core, &self.core, token).map(SourceId)
    }

    /// Adds a producer. It is ready when there is room for a message of `bytes`. A wait aborts an
    /// open claim. Errors: those of [`add`](WaitSet::add).
    pub fn add_producer(
        &mut self,
        producer: &Producer,
        bytes: usize,
        token: u64,
    ) -> Result<SourceId> {
        turn(&self.core)?.join_channel(producer, bytes, &self.core, token).map(SourceId)
    }

    /// Adds a descriptor. The set closes it when it leaves the set. To keep the original, add a
    /// duplicate (`try_clone`). `events` can contain POLLIN, POLLOUT, POLLPRI and POLLRDHUP of
    /// poll(2).
    ///
    /// Errors: invalid-argument (the descriptor cannot be polled, or `events` contains others),
    /// limit.
    pub fn add_fd(&mut self, fd: impl Into<OwnedFd>, events: i16, token: u64) -> Result<SourceId> {
        let fd = fd.into();
        let (number, events) = (fd.as_raw_fd(), u32::from(events as u16));
        // SAFETY: the set keeps the descriptor open until it has left.
        turn(&self.core)?.add(Held::Fd { _open: fd }, |library, set, id, error| unsafe {
            library.lapwing_wait_set_add_fd(set, number, events, token, id, error)
        })
    }

    /// Adds a timer. It is ready after `first`, and then at intervals of `every`. If `first` is
    /// `None`, the timer starts with [`set_timer`](WaitSet::set_timer). If `every` is `None`, it is
    /// ready only once.
    pub fn add_timer(
        &mut self,
        first: impl Into<Option<Duration>>,
        every: impl Into<Option<Duration>>,
        token: u64,
    ) -> Result<SourceId> {
        let (first_ns, every_ns) = (limit_ns_of(first.into()), every_ns_of(every.into()));
        // SAFETY: the call accesses no buffer of the caller.
        turn(&self.core)?.add(Held::Timer, |library, set, id, error| unsafe {
            library.lapwing_wait_set_add_timer(set, first_ns, every_ns, token, id, error)
        })
    }

    /// Restarts a timer. The arguments are those of [`add_timer`](WaitSet::add_timer). Error:
    /// not-found.
    pub fn set_timer(
        &mut self,
        timer: SourceId,
        first: impl Into<Option<Duration>>,
        every: impl Into<Option<Duration>>,
    ) -> Result<()> {
        let (first_ns, every_ns) = (limit_ns_of(first.into()), every_ns_of(every.into()));
        // SAFETY: the call accesses no buffer of the caller.
        turn(&self.core)?.handle.call(|library, set, error| unsafe {
            library.lapwing_wait_set_set_timer(set, timer.0, first_ns, every_ns, error)
        })
    }

    /// Removes a source. Error: not-found (it is not in the set).
    pub fn remove(&mut self, source: SourceId) -> Result<()> {
        turn(&self.core)?.remove(source.0)
    }

    /// Waits for the next source that is ready. Sources take turns.
    ///
    /// Errors: would-block, timed-out, interrupted.
    pub fn wait(&mut self, timeout: impl Into<Timeout>) -> Result<Ready> {
        let timeout = timeout.into();
        let mut ready = sys::lapwing_ready {
            struct_size: size_of::<sys::lapwing_ready>() as u32,
            ..Default::default()
        };
        let mut core = turn(&self.core)?;
        // SAFETY: `ready.struct_size` is set. The lock is held, so no other call uses a source.
        let done = core.handle.call(|library, set, error| unsafe {
            library.lapwing_wait_set_wait(set, &mut ready, timeout.ns(), error)
        });
        core.drop_abandoned();
        done?;
        Ok(Ready {
            kind: SourceKind::from_number(ready.kind),
            token: ready.token,
            source: SourceId(ready.source),
            expirations: ready.expirations,
            events: ready.events as i16,
        })
    }

    /// Returns an interrupter, with which another thread ends a wait of this set. Interrupters of
    /// its sources do not end it.
    pub fn interrupter(&self) -> Interrupter {
        self.interrupter.clone()
    }
}

fn every_ns_of(every: Option<Duration>) -> i64 {
    every.map_or(0, ns_of)
}

/// Takes the set's lock, if no other thread holds it.
pub(crate) fn turn(core: &Mutex<Core>) -> Result<MutexGuard<'_, Core>> {
    match core.try_lock() {
        Ok(core) => Ok(core),
        Err(TryLockError::Poisoned(core)) => Ok(core.into_inner()),
        Err(TryLockError::WouldBlock) => Err(Error::new(
            Code::Misuse,
            "another thread uses the wait set or one of its sources. End that call first.",
        )),
    }
}

impl Core {
    fn add(
        &mut self,
        held: Held,
        add: impl FnOnce(
            &sys::Lapwing,
            *mut sys::lapwing_wait_set,
            *mut u64,
            *mut sys::lapwing_error,
        ) -> sys::lapwing_result,
    ) -> Result<SourceId> {
        self.drop_abandoned();
        let mut id = 0;
        self.handle.call(|library, set, error| add(library, set, &mut id, error))?;
        self.sources.push(Source { id, held });
        Ok(SourceId(id))
    }

    fn join<T: Resource>(
        &mut self,
        handle: &Handle<T>,
        set: &Arc<Mutex<Core>>,
        add: impl FnOnce(
            &sys::Lapwing,
            *mut sys::lapwing_wait_set,
            *mut T,
            *mut u64,
            *mut sys::lapwing_error,
        ) -> sys::lapwing_result,
    ) -> Result<u64> {
        let member = handle.member();
        if member.membership().is_in_a_set() {
            return Err(Error::new(
                Code::Misuse,
                "the source cannot be added: it is in a wait set. Remove it from that set first.",
            ));
        }
        let held = Held::Handle(Arc::clone(&member));
        let pointer = handle.pointer();
        let SourceId(id) =
            self.add(held, |library, set, id, error| add(library, set, pointer, id, error))?;
        member.membership().enter(set, id);
        Ok(id)
    }

    fn join_channel(
        &mut self,
        channel: &Channel,
        bytes: usize,
        set: &Arc<Mutex<Core>>,
        token: u64,
    ) -> Result<u64> {
        // SAFETY: the channel leaves the set before it is destroyed.
        self.join(&channel.handle, set, |library, set, channel, id, error| unsafe {
            library.lapwing_wait_set_add_channel(set, channel, bytes, token, id, error)
        })
    }

    pub(crate) fn remove(&mut self, id: u64) -> Result<()> {
        // SAFETY: the call accesses no buffer of the caller.
        let removed = self
            .handle
            .call(|library, set, error| unsafe { library.lapwing_wait_set_remove(set, id, error) });
        if let Some(index) = self.sources.iter().position(|source| source.id == id) {
            if let Held::Handle(member) = self.sources.remove(index).held {
                member.membership().leave();
            }
        }
        removed
    }

    /// Removes the sources that were dropped while the set was in use.
    fn drop_abandoned(&mut self) {
        let is_abandoned = |source: &Source| match &source.held {
            Held::Handle(member) => Arc::strong_count(member) == 1,
            Held::Fd { .. } | Held::Timer => false,
        };
        while let Some(source) = self.sources.iter().find(|source| is_abandoned(source)) {
            let _ = self.remove(source.id); // fails in a forked child
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        while let Some(source) = self.sources.last() {
            let _ = self.remove(source.id); // fails in a forked child
        }
    }
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("sources", &self.sources.len()).finish_non_exhaustive()
    }
}

impl Sealed for Subscriber {
    fn join(&self, core: &mut Core, set: &Arc<Mutex<Core>>, token: u64) -> Result<u64> {
        // SAFETY: the subscriber leaves the set before it is destroyed.
        core.join(&self.handle, set, |library, set, subscriber, id, error| unsafe {
            library.lapwing_wait_set_add_subscriber(set, subscriber, token, id, error)
        })
    }
}

impl Sealed for Consumer {
    fn join(&self, core: &mut Core, set: &Arc<Mutex<Core>>, token: u64) -> Result<u64> {
        core.join_channel(self, 0, set, token)
    }
}

impl Sealed for Duplex {
    fn join(&self, core: &mut Core, set: &Arc<Mutex<Core>>, token: u64) -> Result<u64> {
        core.join_channel(self, 0, set, token)
    }
}

impl Sealed for Listener {
    fn join(&self, core: &mut Core, set: &Arc<Mutex<Core>>, token: u64) -> Result<u64> {
        // SAFETY: the listener leaves the set before it is destroyed.
        core.join(&self.handle, set, |library, set, listener, id, error| unsafe {
            library.lapwing_wait_set_add_listener(set, listener, token, id, error)
        })
    }
}

impl Waitable for Subscriber {}
impl Waitable for Consumer {}
impl Waitable for Duplex {}
impl Waitable for Listener {}
