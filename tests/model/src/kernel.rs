//! What the protocols ask of the kernel: a futex and an eventfd.
//!
//! Both sleep without a deadline, although every wait in Lapwing has one. A deadline would turn a
//! lost wake-up into a late one; without it, it is a deadlock, which loom reports.

use loom::sync::atomic::{AtomicU32, Ordering};
use loom::sync::Mutex;
use loom::thread::{self, Thread};

/// A futex word and its sleepers. Comparing the word and joining the sleepers is one step with
/// respect to every wake: the mutex stands for the lock of the kernel's hash bucket.
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

    /// `bump_bell`: only one thread bumps a given bell, so a load and a store do.
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

/// An eventfd: `read` sleeps until something was written, and takes all of it.
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
