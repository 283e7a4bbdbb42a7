//! The objects that steps have created, by name.
//!
//! A step that runs in its own thread holds its object. Any other step with the object returns
//! misuse, as the library does in languages where such a call compiles. A destroyed object is
//! removed from its map, so later steps return misuse.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lapwing::{
    Books, Call, Consumer, Cursor, Duplex, History, Interrupter, Listener, Position, Producer,
    Publisher, Subscriber, View,
};

use crate::answer::{ok, Answer, Failure};

pub struct Named<T>(Mutex<HashMap<String, Arc<Mutex<T>>>>);

impl<T> Default for Named<T> {
    fn default() -> Named<T> {
        Named(Mutex::default())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Named<T> {
    pub fn put(&self, name: &str, object: T) {
        locked(&self.0).insert(name.to_owned(), Arc::new(Mutex::new(object)));
    }

    pub fn with<R>(
        &self,
        name: &str,
        work: impl FnOnce(&mut T) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let found = locked(&self.0).get(name).cloned().ok_or_else(Failure::misuse)?;
        let mut object = found.try_lock().map_err(|_| Failure::misuse())?;
        work(&mut object)
    }

    pub fn destroy(&self, name: &str) -> Answer {
        locked(&self.0).remove(name).ok_or_else(Failure::misuse)?;
        ok()
    }
}

impl<T: Copy> Named<T> {
    pub fn get(&self, name: &str) -> Result<T, Failure> {
        self.with(name, |value| Ok(*value))
    }
}

pub struct Reading {
    pub subscriber: Subscriber,
    /// Rows have the column `conflated`.
    pub is_sparse: bool,
}

pub enum Side {
    Producer(Producer),
    Consumer(Consumer),
    Duplex(Duplex),
}

#[derive(Default)]
pub struct Objects {
    pub publishers: Named<Publisher>,
    pub readings: Named<Reading>,
    pub positions: Named<Position>,
    pub cursors: Named<Cursor>,
    pub histories: Named<History>,
    pub views: Named<View>,
    pub books: Named<Books>,
    pub listeners: Named<Listener>,
    pub sides: Named<Side>,
    /// The calls on all channels in the order in which they were started. The first is number 1.
    started: Mutex<Vec<Call>>,
    /// Calls from the other side, or None for a one-way message.
    pub requests: Named<Option<Call>>,
    /// Interrupters by the names of their objects.
    interrupters: Mutex<HashMap<String, Interrupter>>,
}

impl Objects {
    /// Adds a call that was started, and returns its number.
    pub fn add_call(&self, call: Call) -> usize {
        let mut started = locked(&self.started);
        started.push(call);
        started.len()
    }

    /// Returns the call with that number; misuse if there is none.
    pub fn call(&self, number: usize) -> Result<Call, Failure> {
        let started = locked(&self.started);
        let call = number.checked_sub(1).and_then(|index| started.get(index));
        call.copied().ok_or_else(Failure::misuse)
    }

    /// Returns the number of a call; 0 if it was not started here.
    pub fn number_of(&self, call: Call) -> usize {
        locked(&self.started).iter().position(|&one| one == call).map_or(0, |index| index + 1)
    }

    pub fn put_interrupter(&self, name: &str, interrupter: Interrupter) {
        locked(&self.interrupters).insert(name.to_owned(), interrupter);
    }

    pub fn interrupt(&self, name: &str) -> Answer {
        let interrupter = locked(&self.interrupters).get(name).cloned();
        match interrupter {
            Some(interrupter) if interrupter.interrupt() => ok(),
            _ => Err(Failure::misuse()),
        }
    }
}
