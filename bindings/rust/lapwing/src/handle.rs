//! Handles to library objects, which are destroyed on drop, and interrupters of handles.
//!
//! Any thread may use a handle, but only one at a time, so handles are `Send` and not `Sync`. Only
//! an interrupt may come from another thread. It keeps the handle alive while it runs.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use lapwing_sys as sys;

use crate::error::{check, library, Code, Error, Result};
use crate::wait_set::{turn, Core};

/// An opaque type of lapwing.h.
pub(crate) trait Resource: 'static {
    /// # Safety
    /// `*place` must be an open handle that no call uses.
    unsafe fn destroy(library: &sys::Lapwing, place: *mut *mut Self);
}

/// A resource whose waits can be interrupted.
pub(crate) trait Waits: Resource {
    /// # Safety
    /// `pointer` must be an open handle.
    unsafe fn interrupt(library: &sys::Lapwing, pointer: *mut Self);
}

macro_rules! resource {
    ($type:ident, $destroy:ident $(, $interrupt:ident)?) => {
        impl Resource for sys::$type {
            unsafe fn destroy(library: &sys::Lapwing, place: *mut *mut Self) {
                unsafe { library.$destroy(place) }
            }
        }
        $(impl Waits for sys::$type {
            unsafe fn interrupt(library: &sys::Lapwing, pointer: *mut Self) {
                unsafe { library.$interrupt(pointer) }
            }
        })?
    };
}

resource!(lapwing_publisher, lapwing_publisher_destroy, lapwing_publisher_interrupt);
resource!(lapwing_subscriber, lapwing_subscriber_destroy, lapwing_subscriber_interrupt);
resource!(lapwing_cursor, lapwing_cursor_destroy);
resource!(lapwing_history, lapwing_history_destroy);
resource!(lapwing_books, lapwing_books_destroy);
resource!(lapwing_listener, lapwing_listener_destroy, lapwing_listener_interrupt);
resource!(lapwing_channel, lapwing_channel_destroy, lapwing_channel_interrupt);
resource!(lapwing_symbols, lapwing_symbols_destroy);
resource!(lapwing_wait_set, lapwing_wait_set_destroy, lapwing_wait_set_interrupt);

/// The wait set that a handle is in, if any.
#[derive(Default)]
pub(crate) struct Membership {
    is_in_a_set: AtomicBool, // lets calls skip the mutex: most handles are not in a set
    place: Mutex<Option<Place>>,
}

#[derive(Clone)]
struct Place {
    set: Weak<Mutex<Core>>,
    source: u64,
}

impl Membership {
    #[inline]
    pub(crate) fn is_in_a_set(&self) -> bool {
        // Pairs with leave(): a call that finds no set comes after the set's last use of the
        // handle.
        self.is_in_a_set.load(Ordering::Acquire)
    }

    pub(crate) fn enter(&self, set: &Arc<Mutex<Core>>, source: u64) {
        *self.place() = Some(Place { set: Arc::downgrade(set), source });
        self.is_in_a_set.store(true, Ordering::Release);
    }

    /// Must be called after the set's last use of the handle.
    pub(crate) fn leave(&self) {
        *self.place() = None;
        self.is_in_a_set.store(false, Ordering::Release);
    }

    fn place(&self) -> MutexGuard<'_, Option<Place>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a call while no other thread uses the set. Error: misuse.
    #[cold]
    fn in_turn<R>(&self, call: impl FnOnce() -> Result<R>) -> Result<R> {
        let set = self.place().as_ref().and_then(|place| place.set.upgrade());
        let Some(set) = set else {
            return Err(Error::new(
                Code::Misuse,
                "another thread drops the wait set of this handle. End that first.",
            ));
        };
        let _turn = turn(&set)?;
        call()
    }

    /// Removes a dropped handle from its set. If another thread uses the set, the set removes it
    /// later.
    #[cold]
    fn drop_out(&self) {
        let place = self.place().clone();
        if let Some((set, source)) =
            place.and_then(|place| Some((place.set.upgrade()?, place.source)))
        {
            if let Ok(mut core) = turn(&set) {
                let _ = core.remove(source); // fails in a forked child
            }
        }
    }
}

/// The part of a handle that a wait set co-owns.
pub(crate) trait Member: Send + Sync {
    fn membership(&self) -> &Membership;
}

impl<T: Resource> Member for Owned<T> {
    fn membership(&self) -> &Membership {
        &self.membership
    }
}

struct Owned<T: Resource> {
    pointer: NonNull<T>,
    library: &'static sys::Lapwing,
    membership: Membership,
}

// SAFETY: any thread may use a handle, but only one at a time (rule 4 of lapwing.h), and Handle is
// not Sync. An Interrupter may interrupt at any time.
unsafe impl<T: Resource> Send for Owned<T> {}
unsafe impl<T: Resource> Sync for Owned<T> {}

impl<T: Resource> Drop for Owned<T> {
    fn drop(&mut self) {
        let mut pointer = self.pointer.as_ptr();
        // SAFETY: the handle is no longer shared.
        unsafe { T::destroy(self.library, &mut pointer) }
    }
}

pub(crate) struct Handle<T: Resource> {
    owned: Arc<Owned<T>>,
    not_sync: PhantomData<Cell<()>>,
}

impl<T: Resource> Handle<T> {
    pub(crate) fn open(
        open: impl FnOnce(&sys::Lapwing, *mut *mut T, *mut sys::lapwing_error) -> i32,
    ) -> Result<Handle<T>> {
        let library = library()?;
        let mut pointer = ptr::null_mut();
        check(|error| open(library, &mut pointer, error))?;
        let pointer = NonNull::new(pointer).expect("an open that succeeds returns a handle");
        let owned = Owned { pointer, library, membership: Membership::default() };
        Ok(Handle { owned: Arc::new(owned), not_sync: PhantomData })
    }

    /// Makes a call with this handle, and converts its result and error.
    #[inline]
    pub(crate) fn call(
        &self,
        call: impl FnOnce(&sys::Lapwing, *mut T, *mut sys::lapwing_error) -> sys::lapwing_result,
    ) -> Result<()> {
        self.alone(|pointer| check(|error| call(self.owned.library, pointer, error)))
    }

    /// Uses the handle while no wait set uses it.
    #[inline]
    pub(crate) fn alone<R>(&self, work: impl FnOnce(*mut T) -> Result<R>) -> Result<R> {
        let work = || work(self.owned.pointer.as_ptr());
        match self.owned.membership.is_in_a_set() {
            true => self.owned.membership.in_turn(work),
            false => work(),
        }
    }

    /// For the wait set that the handle is added to.
    pub(crate) fn pointer(&self) -> *mut T {
        self.owned.pointer.as_ptr()
    }

    pub(crate) fn member(&self) -> Arc<dyn Member> {
        Arc::clone(&self.owned) as Arc<dyn Member>
    }
}

impl<T: Resource> Drop for Handle<T> {
    fn drop(&mut self) {
        if self.owned.membership.is_in_a_set() {
            self.owned.membership.drop_out();
        }
    }
}

impl<T: Resource> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.owned.pointer, f)
    }
}

impl<T: Waits> Handle<T> {
    pub(crate) fn interrupter(&self) -> Interrupter {
        let owned: Weak<Owned<T>> = Arc::downgrade(&self.owned);
        Interrupter(owned)
    }
}

trait Interrupt: Send + Sync {
    fn interrupt(&self);
}

impl<T: Waits> Interrupt for Owned<T> {
    fn interrupt(&self) {
        // SAFETY: only Drop destroys the handle.
        unsafe { T::interrupt(self.library, self.pointer.as_ptr()) }
    }
}

/// Ends the waits of a publisher, subscriber, listener, channel or wait set from any thread.
///
/// It does not keep its handle open. In a signal handler, use it only while the handle is certain
/// to exist: if the handle were dropped at that moment, the signal handler would free it.
#[derive(Clone)]
pub struct Interrupter(Weak<dyn Interrupt>);

impl Interrupter {
    /// Ends the current wait, or the next one if there is none. The waiting call returns
    /// [`Code::Interrupted`](crate::Code::Interrupted). If the handle was dropped, this does
    /// nothing and returns false.
    pub fn interrupt(&self) -> bool {
        match self.0.upgrade() {
            Some(owned) => {
                owned.interrupt();
                true
            }
            None => false,
        }
    }
}

impl fmt::Debug for Interrupter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupter").field("is_open", &(self.0.strong_count() > 0)).finish()
    }
}

/// The error for a value from a later release of the library, which this crate does not know.
pub(crate) fn unknown(what: &str, number: u32) -> Error {
    Error::new(
        crate::Code::Unsupported,
        format!(
            "the library returned {what} {number}, which this crate does not know; use a newer crate"
        ),
    )
}
