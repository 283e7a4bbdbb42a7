//! Lapwing: a broadcast bus for market data on one Linux machine, in shared memory.
//!
//! One process publishes records of a fixed size. Any number of processes read them, each at its
//! own pace. No record is lost: a reader that was lapped, crashed or started late gets the exact
//! range that it missed, and then reads the missed records from the journal.
//!
//! ```no_run
//! use lapwing::prelude::*;
//!
//! # fn main() -> lapwing::Result<()> {
//! let options = PublisherOptions::new("./quotes").record_bytes(16);
//! let mut publisher = Publisher::open(&options, FOREVER)?;
//! publisher.publish(&[100_i64, 101], FOREVER)?;
//!
//! let options = SubscriberOptions::new("./quotes").start(Start::Oldest);
//! for item in Subscriber::open(&options)?.items::<[i64; 2]>(FOREVER) {
//!     match item? {
//!         Item::Record { sequence, record } => println!("{sequence}: {record:?}"),
//!         Item::State(_) => {}
//!         Item::Event(event) => println!("{event}"), // a gap, a loss, a new session
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | | |
//! | --- | --- |
//! | [`Publisher`] | writes a bus |
//! | [`Subscriber`] | reads a bus: [`Batch`]es of rows, [`Items`], single records, a `Stream` |
//! | [`Cursor`] | stores on disk how far a program has read |
//! | [`History`] | reads the journal by sequence, and maps it |
//! | [`Symbols`] | finds the instrument of a symbol by date |
//! | [`Books`] | maintains the order books of a `dbn.mbo` bus |
//! | [`Schema`], [`record!`] | describe records |
//! | [`Producer`], [`Consumer`], [`Duplex`], [`Listener`] | channels, each to one other process |
//! | [`WaitSet`] | waits for several sources on one thread |
//! | [`log`] | receives the lines that publishers log |
//!
//! **Errors.** Every call that can fail returns an [`Error`] with a [`Code`]. A gap is an
//! [`Event`], not an error.
//!
//! **Threads.** Handles are `Send` and not `Sync`: any thread may use a handle, but only one at a
//! time. An [`Interrupter`] ends a wait from another thread. A call that may wait takes a
//! [`Timeout`].
//!
//! **Fork.** In a forked child every call returns forked, and dropping a handle only frees memory.
//! The parent is not affected.
//!
//! **The library.** The first call loads `liblapwing.so.1`: the file that `LAPWING_LIBRARY` names,
//! or else the library that was built with this crate, or else the system's. A library with an
//! incompatible ABI is refused.

#![deny(unsafe_op_in_unsafe_fn)]
#![warn(missing_debug_implementations)]

mod batch;
mod books;
mod channel;
mod cursor;
pub mod dbn;
mod error;
mod event;
mod handle;
mod history;
mod items;
pub mod log;
mod memory;
mod numbered;
mod options;
mod position;
pub mod prelude;
mod publisher;
#[doc(hidden)]
pub mod record;
mod schema;
#[cfg(feature = "tokio")]
mod stream;
mod subscriber;
mod symbols;
mod text;
mod timeout;
mod types;
mod wait_set;

pub use batch::{Batch, Chunk, Rows};
pub use books::{Book, BookKey, Books, BooksInfo, Level, Order, Side as BookSide};
pub use channel::{
    Call, Channel, ChannelEnd, ChannelInfo, ChannelOptions, ChannelRole, Claim, Consumer, Duplex,
    Finished, Incoming, IncomingMessages, Listener, Message, Messages, Outcome, Producer, Reply,
    Request,
};
pub use cursor::{Commit, Cursor};
pub use error::{Code, Error, Result};
pub use event::{Cause, Event, EventKind, Gap};
pub use handle::Interrupter;
pub use history::{History, HistoryInfo, View};
pub use items::{Item, Items};
pub use position::{Id, Position};
pub use publisher::{
    JournalState, OnJournalFailure, OnJournalLag, Publisher, PublisherInfo, PublisherOptions,
    Settled,
};
pub use record::{Meaning, Record};
pub use schema::{Field, FieldType, Role, Schema, Unit, Value};
#[cfg(feature = "tokio")]
pub use stream::ItemStream;
pub use subscriber::{Ages, OnGap, Start, Subscriber, SubscriberInfo, SubscriberOptions, Wait};
pub use symbols::{SymbolMapping, Symbols};
pub use timeout::{Timeout, FOREVER, NOW};
pub use types::Row;
pub use wait_set::{Ready, SourceId, SourceKind, WaitSet, Waitable};

/// The version of the loaded library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// `0.2.0` for example.
    pub release: &'static str,
    pub abi_major: u16,
    pub abi_minor: u16,
}

/// Returns the version of the library. Loads the library if no earlier call did.
///
/// Errors: not-found (the library is not on this machine), abi-mismatch.
pub fn version() -> Result<Version> {
    let library = error::library()?;
    let mut abi = 0;
    // SAFETY: the returned string is static.
    let release = unsafe { std::ffi::CStr::from_ptr(library.lapwing_version(&mut abi)) };
    Ok(Version {
        release: release.to_str().unwrap_or("unknown"),
        abi_major: (abi >> 16) as u16,
        abi_minor: abi as u16,
    })
}
