//! The log of all publishers in the process. By default its lines are dropped.

use std::ffi::{c_char, c_void, CStr};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use crate::error::{library, Code, Error, Result};

const LINE_BYTES_MAX: usize = 4096;

type Sink = Box<dyn Fn(&str) + Send + Sync>;

/// The current sink. It is boxed twice, because the library keeps a thin pointer.
static SINK: Mutex<Option<Box<Sink>>> = Mutex::new(None);

/// From now on, passes every line to `sink`, one at a time, on library threads. `sink` must not
/// call Lapwing, and a panic in it ends the process.
pub fn set(sink: impl Fn(&str) + Send + Sync + 'static) -> Result<()> {
    replace(Some(Box::new(Box::new(sink))), false)
}

/// Puts lines into a queue of 256, from which [`read`] takes them. If it is full, the oldest is
/// dropped.
pub fn queue() -> Result<()> {
    replace(None, true)
}

/// Drops lines again, which is the default.
pub fn off() -> Result<()> {
    replace(None, false)
}

fn replace(sink: Option<Box<Sink>>, has_queue: bool) -> Result<()> {
    let library = library()?;
    let mut current = SINK.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: `sink` lives in SINK until the library no longer calls it: until the next call that
    // sets another one returns. `forward` takes the type that `user` points to.
    unsafe {
        match &sink {
            Some(sink) => {
                let user: *const Sink = &**sink;
                library.lapwing_log_set(Some(forward), user.cast_mut().cast());
            }
            None if has_queue => library.lapwing_log_queue(),
            None => library.lapwing_log_set(None, ptr::null_mut()),
        }
    }
    *current = sink;
    Ok(())
}

unsafe extern "C" fn forward(user: *mut c_void, line: *const c_char) {
    // SAFETY: `user` is the pointer from replace(), and `line` ends with a zero.
    let (sink, line) = unsafe { (&*user.cast::<Sink>(), CStr::from_ptr(line)) };
    sink(&line.to_string_lossy());
}

/// The result of [`read`]: a line from the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The oldest line; `None` if the queue is empty.
    pub text: Option<String>,
    /// Lines that were dropped since the last call.
    pub dropped: u64,
}

/// Takes the oldest line from the queue. Never waits.
pub fn read() -> Result<Line> {
    let library = library()?;
    let mut text = vec![0u8; LINE_BYTES_MAX];
    let mut dropped = 0;
    // SAFETY: the buffer has the given length.
    let result =
        unsafe { library.lapwing_log_read(text.as_mut_ptr().cast(), text.len(), &mut dropped) };
    match Code::from_number(result) {
        Code::WouldBlock => Ok(Line { text: None, dropped }),
        code if code.number() != 0 => Err(Error::bare(result)),
        _ => {
            text.truncate(text.iter().position(|&byte| byte == 0).unwrap_or(0));
            Ok(Line { text: Some(String::from_utf8_lossy(&text).into_owned()), dropped })
        }
    }
}
