//! The kernel's part of the protocols: a futex, an eventfd, a socket, and membarrier.
//!
//! None of them sleeps with a deadline, although every wait in Lapwing has one. A deadline would
//! turn a lost wake-up into a late one. Without it, it is a deadlock, which loom reports.

use loom::sync::atomic::{AtomicU32, Ordering};
use loom::sync::Mutex;
use loom::thread::{self, Thread};

/// A futex word and its sleepers. Comparing the word and joining the sleepers is one step with
/// respect to every wake: the mutex models the lock on the kernel's hash bucket.
pub struct Futex {
    word: AtomicU32,
    sleepers: Mutex<Vec<Thread>>,
}

impl Futex {
    pub fn new() -> Self {
        Self { word: AtomicU32::new(0), sleepers: Mutex::new(Vec::new()) }
    }

    /// `load_bell`.
    pub fn load(&self, order: Ordering) -> u32 {
        self.word.load(order)
    }

    /// `bump_bell`: only one thread bumps a given bell, so a load and a store are sufficient.
    pub fn bump(&self, order: Ordering) {
        let next = self.word.load(Ordering::Relaxed) + 1;
        self.word.store(next, order);
    }

    /// FUTEX_WAIT: sleeps unless the word has changed since it was `seen`.
    pub fn wait(&self, seen: u32) {
        let mut sleepers = self.sleepers.lock().unwrap();
        if self.word.load(Ordering::Relaxed) == seen {
            sleepers.push(thread::current());
            drop(sleepers);
            thread::park();
        }
    }

    /// FUTEX_WAKE of at most `count_max` sleepers.
    pub fn wake(&self, count_max: usize) {
        let mut sleepers = self.sleepers.lock().unwrap();
        let count = count_max.min(sleepers.len());
        sleepers.drain(..count).for_each(|sleeper| sleeper.unpark());
    }

    /// FUTEX_WAKE of all sleepers.
    pub fn wake_all(&self) {
        self.wake(usize::MAX);
    }
}

/// An eventfd: `read` sleeps until a value has been written, and takes all of it.
pub struct EventFd {
    state: Mutex<EventFdState>,
}

struct EventFdState {
    written: u64,
    sleepers: Vec<Thread>,
}

impl EventFd {
    pub fn new() -> Self {
        Self { state: Mutex::new(EventFdState { written: 0, sleepers: Vec::new() }) }
    }

    pub fn write(&self) {
        let mut state = self.state.lock().unwrap();
        state.written += 1;
        state.sleepers.drain(..).for_each(|sleeper| sleeper.unpark());
    }

    pub fn read(&self) {
        loop {
            let mut state = self.state.lock().unwrap();
            if state.written > 0 {
                state.written = 0;
                return;
            }
            state.sleepers.push(thread::current());
            drop(state);
            thread::park();
        }
    }
}

/// One end of a packet socket: readable until the last packet is taken, and permanently after the
/// other end is closed.
pub struct Socket {
    state: Mutex<SocketState>,
    packets_max: usize,
}

struct SocketState {
    packets: usize,
    is_ended: bool,
    sleepers: Vec<Thread>,
}

impl Socket {
    pub fn new(packets_max: usize) -> Self {
        let state = SocketState { packets: 0, is_ended: false, sleepers: Vec::new() };
        Self { state: Mutex::new(state), packets_max }
    }

    /// The other end sends a packet with send(MSG_DONTWAIT). A packet beyond the limit is refused.
    pub fn send(&self) {
        let mut state = self.state.lock().unwrap();
        state.packets = (state.packets + 1).min(self.packets_max);
        state.sleepers.drain(..).for_each(|sleeper| sleeper.unpark());
    }

    /// The other end is closed, by close() or because its process has ended.
    pub fn end(&self) {
        let mut state = self.state.lock().unwrap();
        state.is_ended = true;
        state.sleepers.drain(..).for_each(|sleeper| sleeper.unpark());
    }

    /// poll(POLLIN): sleeps until it is readable, and takes nothing.
    pub fn poll(&self) {
        loop {
            let mut state = self.state.lock().unwrap();
            if state.packets > 0 || state.is_ended {
                return;
            }
            state.sleepers.push(thread::current());
            drop(state);
            thread::park();
        }
    }

    /// recv(MSG_DONTWAIT) until it is empty. Returns true if the other end is closed.
    pub fn drain(&self) -> bool {
        let mut state = self.state.lock().unwrap();
        state.packets = 0;
        state.is_ended
    }
}

/// A thread that another thread's membarrier(GLOBAL_EXPEDITED) interrupts: it executes a full
/// barrier at an arbitrary point. The model keeps only which side of one point in the thread's code
/// this is. Either everything up to the point is ordered before the caller's next actions, or the
/// caller's earlier actions are ordered before everything from the point on.
pub struct Interruptible {
    place: Mutex<()>,
}

impl Interruptible {
    pub fn new() -> Self {
        Self { place: Mutex::new(()) }
    }

    /// Called by the thread itself at the point.
    pub fn may_be_interrupted(&self) {
        drop(self.place.lock().unwrap());
    }

    /// membarrier, called by another thread.
    pub fn interrupt(&self) {
        drop(self.place.lock().unwrap());
    }
}
