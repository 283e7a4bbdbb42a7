//! The subscriber: one process's read end of a bus.

use std::any::TypeId;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use lapwing_sys as sys;

use crate::batch::{Batch, Chunk};
use crate::error::{Code, Error, Result};
use crate::event::{Event, EventKind};
use crate::handle::{Handle, Interrupter};
use crate::items::Items;
use crate::position::{Id, Position};
use crate::record::Record;
use crate::text::{text_of, Text};
use crate::timeout::{ns_of, Timeout};
use crate::types::{Row, Types};

const ORDERS: &str = "orders"; // the fold whose entries are described
const ORDERS_SCHEMA: &str = "dbn.mbo"; // and the schema whose default it is

/// Where a subscriber begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// The next record that is published.
    #[default]
    Live,
    /// The oldest that is kept.
    Oldest,
    /// That sequence.
    Sequence(u64),
    /// UTC ns: at it, or a little before.
    Time(u64),
    /// The state of the newest checkpoint, then what follows.
    Snapshot,
    /// After a stored position.
    After(Position),
}

/// What to do where the publisher has lapped this subscriber.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum OnGap {
    /// Read it from the journal.
    #[default]
    Fill = sys::LAPWING_ON_GAP_FILL,
    /// Report it, and go on in the ring.
    Skip = sys::LAPWING_ON_GAP_SKIP,
    /// Report it, and end with stopped-at-gap.
    Stop = sys::LAPWING_ON_GAP_STOP,
    /// Report it, and go on with the newest checkpoint's state.
    Snapshot = sys::LAPWING_ON_GAP_SNAPSHOT,
}

/// How a subscriber or a channel waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Wait {
    /// Spins; needs a core of its own.
    Busy = sys::LAPWING_WAIT_BUSY,
    /// Spins for a while, then yields, then sleeps.
    #[default]
    Backoff = sys::LAPWING_WAIT_BACKOFF,
    /// Sleeps at once.
    Park = sys::LAPWING_WAIT_PARK,
}

/// The newest record of each key, once an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conflate {
    /// Zero: 250 ms.
    pub interval: Duration,
    /// More keys end the interval early; 0: 65,536.
    pub keys_max: u32,
}

/// What is read, and how. Everything but the directory has a default: zero, or empty.
#[derive(Clone, Debug, Default)]
pub struct SubscriberOptions {
    /// Of the bus.
    pub directory: PathBuf,
    /// Shown by `lapwing subscribers`.
    pub name: String,
    pub start: Start,
    pub on_gap: OnGap,
    pub wait: Wait,
    /// A clean close is the end: closed.
    pub end_at_close: bool,
    pub conflate: Option<Conflate>,
    /// Of a state; empty: the schema's default.
    pub fold: String,
    /// What the records have to be: a description in JSON. Empty: anything.
    pub expect: String,
    /// Symbols, even of digits (`005930`), or numbers as `id:5930`; empty: all.
    pub instruments: Vec<String>,
    /// For how long a bus or publisher is waited for; zero: 30 s.
    pub reattach: Duration,
    /// How long the publisher may take for the join; zero: 10 s.
    pub flush_timeout: Duration,
    /// An event says after that time that the publisher is silent; zero: never.
    pub stale_after: Duration,
    /// Behind and live events: beyond that many records; 0: not by this measure.
    pub behind_records: u32,
    /// Likewise, beyond that time; zero: not by this measure.
    pub behind_time: Duration,
}

impl SubscriberOptions {
    /// A bus of such records, and no other.
    pub fn of<R: Record>(directory: impl Into<PathBuf>) -> SubscriberOptions {
        SubscriberOptions {
            directory: directory.into(),
            expect: R::description(),
            ..Default::default()
        }
    }
}

/// A subscriber as of now.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SubscriberInfo {
    /// Of the session that was delivered last; 0: none was.
    pub record_bytes: u32,
    pub schema: String,
    /// From the first entry of a state on.
    pub fold: String,
    /// The two ids of [`Subscriber::position`].
    pub journal_id: Id,
    pub session_id: Id,
    /// The newest record; 0 while no bus is attached.
    pub head: u64,
    /// Records behind it.
    pub lag: u64,
    /// No power cut takes a record up to here back.
    pub durable: u64,
    /// It reads the ring, at most `behind_records` behind.
    pub is_live: bool,
    /// [`Schema::of_bus`](crate::Schema::of_bus) has the fields.
    pub is_described: bool,
    /// Delivered.
    pub records: u64,
    /// Since the last reset.
    pub first: u64,
    pub last: u64,
    pub gaps: u64,
    pub lost: u64,
    /// After a gap, not delivered since a state has them.
    pub in_state: u64,
    pub filled: u64,
    pub duplicates: u64,
    pub out_of_order: u64,
    pub sessions: u64,
    pub reattached: u64,
    /// Of all states.
    pub state_entries: u64,
    /// Of other instruments.
    pub filtered: u64,
    /// Replaced by newer ones of their keys.
    pub conflated: u64,
    /// Keys whose newest record waits for the end of the interval.
    pub waiting: u64,
}

/// Reads a bus: records, state and events, each exactly where it belongs.
///
/// | | |
/// | --- | --- |
/// | [`read`](Subscriber::read) | rows of records or of a state, as many as there are, or an event |
/// | [`take`](Subscriber::take) | the next record and nothing else: the fastest for one record |
/// | [`items`](Subscriber::items) | an iterator of records, state and events, which ends at close |
/// | `into_stream` | the same as a `Stream`, with the feature `tokio` |
///
/// They may be mixed; each goes on where the last one ended.
#[derive(Debug)]
pub struct Subscriber {
    handle: Handle<sys::lapwing_subscriber>,
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(crate) conflates_every: Option<Duration>,
    directory: PathBuf,
    fold: String,
    // Of the session that is read; None before the first one, and if it is not described.
    records: Option<Arc<Types>>,
    state: Option<Arc<Types>>,
    last_type: Option<TypeId>,
}

impl Subscriber {
    /// Checks the options. Never waits: the calls that read find the bus.
    pub fn open(options: &SubscriberOptions) -> Result<Subscriber> {
        let directory = Text::of_path(&options.directory, "options.directory")?;
        let name = Text::of(&options.name, "options.name")?;
        let fold = Text::of(&options.fold, "options.fold")?;
        let expect = Text::of(&options.expect, "options.expect")?;
        let instruments = options.instruments.iter();
        let instruments: Vec<Text> =
            instruments.map(|one| Text::of(one, "options.instruments")).collect::<Result<_>>()?;
        let instruments: Vec<*const c_char> = instruments.iter().map(Text::as_ptr).collect();
        let (start, start_value, start_position) = match options.start {
            Start::Live => (sys::LAPWING_START_LIVE, 0, Position::default()),
            Start::Oldest => (sys::LAPWING_START_OLDEST, 0, Position::default()),
            Start::Sequence(first) => (sys::LAPWING_START_SEQUENCE, first, Position::default()),
            Start::Time(utc_ns) => (sys::LAPWING_START_TIME, utc_ns, Position::default()),
            Start::Snapshot => (sys::LAPWING_START_SNAPSHOT, 0, Position::default()),
            Start::After(position) => (sys::LAPWING_START_AFTER, 0, position),
        };
        let end_at_close =
            if options.end_at_close { sys::LAPWING_SUBSCRIBER_END_AT_CLOSE } else { 0 };
        let conflates =
            if options.conflate.is_some() { sys::LAPWING_SUBSCRIBER_CONFLATE } else { 0 };
        let conflate = options.conflate.unwrap_or_default();
        let given = sys::lapwing_subscriber_options {
            struct_size: size_of::<sys::lapwing_subscriber_options>() as u32,
            flags: end_at_close | conflates,
            directory: directory.as_ptr(),
            name: name.as_ptr(),
            start,
            on_gap: options.on_gap as u32,
            wait: options.wait as u32,
            behind_records: options.behind_records,
            start_value,
            start_position: start_position.to_c(),
            fold: fold.as_ptr(),
            expect: expect.as_ptr(),
            instruments: match instruments.is_empty() {
                true => ptr::null(),
                false => instruments.as_ptr(),
            },
            instrument_count: instruments.len(),
            reattach_ns: ns_of(options.reattach),
            flush_timeout_ns: ns_of(options.flush_timeout),
            stale_after_ns: ns_of(options.stale_after),
            behind_ns: ns_of(options.behind_time),
            conflate_interval_ns: ns_of(conflate.interval),
            conflate_keys_max: conflate.keys_max,
            reserved: 0,
        };
        // SAFETY: all that `given` points at lives until the call has copied it.
        let handle = Handle::open(|library, place, error| unsafe {
            library.lapwing_subscriber_open(&given, place, error)
        })?;
        let conflates_every = options.conflate.map(|conflate| match conflate.interval {
            Duration::ZERO => Duration::from_millis(250),
            interval => interval,
        });
        Ok(Subscriber {
            handle,
            conflates_every,
            directory: options.directory.clone(),
            fold: options.fold.clone(),
            records: None,
            state: None,
            last_type: None,
        })
    }

    /// Rows, as many as are there and fit, or one event. Waits until there is one of them.
    ///
    /// Errors: would-block, timed-out, interrupted (nothing came); too-small, of
    /// [`Batch::fixed`] only. Any other is the end, and stays: closed (with `end_at_close`),
    /// publisher-gone, no-bus, stopped-at-gap, record-size …
    pub fn read<'b>(
        &mut self,
        batch: &'b mut Batch,
        timeout: impl Into<Timeout>,
    ) -> Result<Chunk<'b>> {
        let timeout = timeout.into();
        // SAFETY: the batch says what its memory holds.
        let chunk = batch.fill(self.records.as_ref(), self.state.as_ref(), |batch| {
            self.handle.call(|library, subscriber, error| unsafe {
                library.lapwing_subscriber_read(subscriber, batch, timeout.ns(), error)
            })
        })?;
        if let Chunk::Event(event) = chunk {
            if matches!(event.kind(), EventKind::Session | EventKind::Reset) {
                self.begin_session(event);
            }
        }
        Ok(chunk)
    }

    #[cold]
    fn begin_session(&mut self, event: &Event) {
        self.last_type = None;
        self.records =
            event.is_described().then(|| Arc::new(Types::read(&self.directory, event.schema())));
        let has_orders =
            self.fold == ORDERS || (self.fold.is_empty() && event.schema() == ORDERS_SCHEMA);
        self.state = has_orders.then(|| Arc::new(Types::entries(ORDERS)));
    }

    /// Before the first session there are no records and nothing to compare with.
    #[inline]
    fn accept<R: Row>(&mut self) -> Result<()> {
        let this = Some(TypeId::of::<R>());
        if self.last_type != this {
            if let Some(types) = &self.records {
                types.check::<R>()?;
                self.last_type = this;
            }
        }
        Ok(())
    }

    /// The next record and its sequence. `None`: an event or an entry of a state stands before it,
    /// which [`read`](Subscriber::read) gives.
    ///
    /// Errors: record-size (records have another size, or other fields: see [`Row`]); otherwise those
    /// of [`read`](Subscriber::read), which returns the message.
    #[inline]
    pub fn take<R: Row>(&mut self, timeout: impl Into<Timeout>) -> Result<Option<(u64, R)>> {
        self.accept::<R>()?;
        let mut record = MaybeUninit::<R>::uninit();
        // SAFETY: `record` has that size.
        let sequence =
            unsafe { self.take_at(record.as_mut_ptr().cast(), size_of::<R>(), timeout.into()) }?;
        // SAFETY: all its bytes were written, and any bytes are a value of R.
        Ok(sequence.map(|sequence| (sequence, unsafe { record.assume_init() })))
    }

    /// As [`take`](Subscriber::take), into memory of the record's size. Returns the sequence.
    pub fn take_bytes(
        &mut self,
        record: &mut [u8],
        timeout: impl Into<Timeout>,
    ) -> Result<Option<u64>> {
        // SAFETY: `record` has that size.
        unsafe { self.take_at(record.as_mut_ptr(), record.len(), timeout.into()) }
    }

    /// # Safety
    /// `record_bytes` bytes at `record` can be written.
    #[inline]
    unsafe fn take_at(
        &mut self,
        record: *mut u8,
        record_bytes: usize,
        timeout: Timeout,
    ) -> Result<Option<u64>> {
        let mut sequence = 0;
        // SAFETY: as the caller says.
        let result = self.handle.bare(|library, subscriber| unsafe {
            let (record, timeout_ns) = (record.cast(), timeout.ns());
            library.lapwing_subscriber_take(
                subscriber,
                record,
                record_bytes,
                timeout_ns,
                &mut sequence,
            )
        });
        match result {
            0 => Ok(Some(sequence)),
            result if Code::from_number(result) == Code::EVENT_DUE => Ok(None),
            result => Err(Error::bare(result)),
        }
    }

    /// Records, state and events, one by one. Each step waits for at most the timeout. It ends
    /// after a clean close, if `end_at_close` is set, and after an error that stays.
    ///
    /// The iterator reads nothing ahead: whatever comes after it, goes on behind its last item.
    pub fn items<R: Row>(&mut self, timeout: impl Into<Timeout>) -> Items<'_, R> {
        Items::of(self, timeout.into())
    }

    /// The same for an event loop of tokio. Error: invalid-argument with [`Wait::Busy`].
    #[cfg(feature = "tokio")]
    pub fn into_stream<R: Row>(self) -> Result<crate::ItemStream<R>> {
        crate::ItemStream::of(self)
    }

    pub fn info(&self) -> Result<SubscriberInfo> {
        let mut info = sys::lapwing_subscriber_info {
            struct_size: size_of::<sys::lapwing_subscriber_info>() as u32,
            ..Default::default()
        };
        // SAFETY: `info` says its size.
        self.handle.call(|library, subscriber, error| unsafe {
            library.lapwing_subscriber_inspect(subscriber, &mut info, error)
        })?;
        Ok(SubscriberInfo {
            record_bytes: info.record_bytes,
            schema: text_of(&info.schema).to_owned(),
            fold: text_of(&info.fold).to_owned(),
            journal_id: info.journal_id.into(),
            session_id: info.session_id.into(),
            head: info.head,
            lag: info.lag,
            durable: info.durable,
            is_live: info.is_live != 0,
            is_described: info.is_described != 0,
            records: info.records,
            first: info.first,
            last: info.last,
            gaps: info.gaps,
            lost: info.lost,
            in_state: info.in_state,
            filled: info.filled,
            duplicates: info.duplicates,
            out_of_order: info.out_of_order,
            sessions: info.sessions,
            reattached: info.reattached,
            state_entries: info.state_entries,
            filtered: info.filtered,
            conflated: info.conflated,
            waiting: info.waiting,
        })
    }

    /// The position to store: after everything that was delivered.
    pub fn position(&self) -> Result<Position> {
        self.position_at(0)
    }

    /// The position after that row of the last batch. Error: invalid-argument (it is none of them).
    pub fn position_after(&self, sequence: u64) -> Result<Position> {
        match sequence {
            0 => Err(Error::new(
                Code::INVALID_ARGUMENT,
                "0 is the sequence of no row; position() is after everything that was delivered",
            )),
            sequence => self.position_at(sequence),
        }
    }

    fn position_at(&self, sequence: u64) -> Result<Position> {
        let mut position = sys::lapwing_position::default();
        // SAFETY: `position` is a place for one.
        self.handle.call(|library, subscriber, error| unsafe {
            library.lapwing_subscriber_position(subscriber, sequence, &mut position, error)
        })?;
        Ok(position.into())
    }

    /// For an event loop: readable when a call that answered would-block, timed-out or interrupted
    /// may have something. Costs a helper thread. With conflation also call at the interval's end.
    ///
    /// Error: invalid-argument with [`Wait::Busy`].
    pub fn fd(&self) -> Result<BorrowedFd<'_>> {
        let mut fd = -1;
        // SAFETY: `fd` is a place for it.
        self.handle.call(|library, subscriber, error| unsafe {
            library.lapwing_subscriber_fd(subscriber, &mut fd, error)
        })?;
        // SAFETY: it is open for as long as the subscriber is.
        Ok(unsafe { BorrowedFd::borrow_raw(fd) })
    }

    /// Ends a wait of this subscriber from another thread.
    pub fn interrupter(&self) -> Interrupter {
        self.handle.interrupter()
    }
}
