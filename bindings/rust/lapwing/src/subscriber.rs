//! The subscriber: one process's read end of a bus.

use std::any::TypeId;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lapwing_sys as sys;

use crate::batch::{other_size, Batch, Chunk};
use crate::error::{library, Code, Error, Result};
use crate::event::{Event, EventKind};
use crate::handle::{Handle, Interrupter};
use crate::items::Items;
use crate::options::options;
use crate::position::{Id, Position};
use crate::record::Record;
use crate::schema::{self, Schema};
use crate::text::{text_of, Text};
use crate::timeout::{limit_ns_of, ns_of, Timeout};
use crate::types::{Row, Types};

const ORDERS: &str = "orders"; // the fold whose entries have a schema
const ORDERS_SCHEMA: &str = "dbn.mbo"; // its default fold is ORDERS

/// Where a subscriber begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// The next record that is published.
    #[default]
    Live,
    /// The oldest retained record.
    Oldest,
    /// The record with that sequence.
    Sequence(u64),
    /// At that time, UTC ns, or a little before.
    Time(u64),
    /// The state of the newest checkpoint, then the records after it.
    Snapshot,
    /// After a stored position.
    After(Position),
}

/// The action when the publisher has lapped this subscriber.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum OnGap {
    /// Read the missing records from the journal.
    #[default]
    Fill = sys::LAPWING_ON_GAP_FILL,
    /// Report the gap, and continue in the ring.
    Skip = sys::LAPWING_ON_GAP_SKIP,
    /// Report the gap, and end with stopped-at-gap.
    Stop = sys::LAPWING_ON_GAP_STOP,
    /// Report the gap, and continue with the newest checkpoint's state.
    Snapshot = sys::LAPWING_ON_GAP_SNAPSHOT,
}

/// How a subscriber or a channel waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Wait {
    /// Spins; needs its own core.
    Busy = sys::LAPWING_WAIT_BUSY,
    /// Spins for a while, then yields, then sleeps.
    #[default]
    Backoff = sys::LAPWING_WAIT_BACKOFF,
    /// Sleeps at once.
    Park = sys::LAPWING_WAIT_PARK,
}

options! {
    /// Options of a subscriber. Every option but the directory has a default.
    ///
    /// ```
    /// use lapwing::{Start, SubscriberOptions};
    ///
    /// SubscriberOptions::new("./es").start(Start::Oldest).end_at_close(true).reattach(None);
    /// ```
    ///
    /// `None` for a duration means no limit.
    SubscriberOptions {
        /// Bus directory.
        directory(impl Into<PathBuf>): PathBuf = PathBuf::new();
        /// Shown by `lapwing subscribers`. Default: none.
        name(impl Into<String>): String = String::new();
        /// Default: [`Start::Live`].
        start(Start): Start = Start::default();
        /// Default: [`OnGap::Fill`].
        on_gap(OnGap): OnGap = OnGap::default();
        /// Default: [`Wait::Backoff`].
        wait(Wait): Wait = Wait::default();
        /// A clean close ends the subscriber, with the error closed. Default: false.
        end_at_close(bool): bool = false;
        /// The subscriber only displays records: see docs/how-to/monitor.md. Default: false.
        observes(bool): bool = false;
        /// Measures the age of every Nth record for [`Subscriber::ages`]; 0: none. Default: 0.
        measure_every(u32): u32 = 0;
        /// Delivers only the newest record of each key, once every interval. `None`: every record.
        /// Default: `None`.
        conflate(impl Into<Option<Duration>>): Option<Duration> = None;
        /// With `conflate`: maximum number of keys. More keys end the interval early. Default:
        /// 65,536.
        conflate_keys_max(u32): u32 = 65_536;
        /// Fold of the state. Default: the schema's default fold.
        fold(impl Into<String>): String = String::new();
        /// The schema that the records must match: a [`Schema`], or its text. Default: any.
        /// [`of`](SubscriberOptions::of) sets it from a struct.
        expect(impl Into<String>): String = String::new();
        /// How long to wait for the bus or a publisher. `None`: no limit. Default: 30 s.
        reattach(impl Into<Option<Duration>>): Option<Duration> = Some(Duration::from_secs(30));
        /// How long the publisher may take to answer the join. `None`: no limit. Default: 10 s.
        flush_timeout(impl Into<Option<Duration>>): Option<Duration> =
            Some(Duration::from_secs(10));
        /// Silence of the publisher before a stale event. `None`: never. Default: `None`.
        stale_after(impl Into<Option<Duration>>): Option<Duration> = None;
        /// Lag in records before a behind event; 0: no limit. Default: 0.
        behind_records(u32): u32 = 0;
        /// Lag in time before a behind event. `None`: no limit. Default: `None`.
        behind_time(impl Into<Option<Duration>>): Option<Duration> = None;
    }
    {
        instruments: Vec<String> = Vec::new();
    }
}

impl SubscriberOptions {
    pub fn new(directory: impl Into<PathBuf>) -> SubscriberOptions {
        SubscriberOptions::default().directory(directory)
    }

    /// Returns options for a bus with records of type `R`. The subscriber refuses other records.
    pub fn of<R: Record>(directory: impl Into<PathBuf>) -> SubscriberOptions {
        SubscriberOptions::new(directory).expect(R::schema_text())
    }

    /// The chosen instruments: symbols, even if they consist of digits (`005930`), or numbers as
    /// `id:5930`. Default: all.
    #[must_use]
    pub fn instruments(
        mut self,
        instruments: impl IntoIterator<Item = impl Into<String>>,
    ) -> SubscriberOptions {
        self.instruments = instruments.into_iter().map(Into::into).collect();
        self
    }

    fn with_c<R>(
        &self,
        use_options: impl FnOnce(&sys::lapwing_subscriber_options) -> Result<R>,
    ) -> Result<R> {
        let directory = Text::of_path(&self.directory, "options.directory")?;
        let name = Text::of(&self.name, "options.name")?;
        let fold = Text::of(&self.fold, "options.fold")?;
        let expect = Text::of(&self.expect, "options.expect")?;
        let instruments = self.instruments.iter();
        let instruments: Vec<Text> =
            instruments.map(|one| Text::of(one, "options.instruments")).collect::<Result<_>>()?;
        let instruments: Vec<*const c_char> = instruments.iter().map(Text::as_ptr).collect();
        let (start, start_value, start_position) = match self.start {
            Start::Live => (sys::LAPWING_START_LIVE, 0, Position::default()),
            Start::Oldest => (sys::LAPWING_START_OLDEST, 0, Position::default()),
            Start::Sequence(first) => (sys::LAPWING_START_SEQUENCE, first, Position::default()),
            Start::Time(utc_ns) => (sys::LAPWING_START_TIME, utc_ns, Position::default()),
            Start::Snapshot => (sys::LAPWING_START_SNAPSHOT, 0, Position::default()),
            Start::After(position) => (sys::LAPWING_START_AFTER, 0, position),
        };
        let flags = [
            (self.end_at_close, sys::LAPWING_SUBSCRIBER_END_AT_CLOSE),
            (self.conflate.is_some(), sys::LAPWING_SUBSCRIBER_CONFLATE),
            (self.observes, sys::LAPWING_SUBSCRIBER_OBSERVES),
        ];
        let mut given = sys::lapwing_subscriber_options::default();
        // SAFETY: `given` has that size.
        unsafe {
            library()?.lapwing_subscriber_options_init(&mut given, size_of_val(&given) as u32);
        }
        given.flags = flags.iter().map(|&(is_set, flag)| if is_set { flag } else { 0 }).sum();
        given.directory = directory.as_ptr();
        given.name = name.as_ptr();
        given.start = start;
        given.on_gap = self.on_gap as u32;
        given.wait = self.wait as u32;
        given.behind_records = self.behind_records;
        given.start_value = start_value;
        given.start_position = start_position.to_c();
        given.fold = fold.as_ptr();
        given.expect = expect.as_ptr();
        if !instruments.is_empty() {
            given.instruments = instruments.as_ptr();
        }
        given.instrument_count = instruments.len();
        given.reattach_ns = limit_ns_of(self.reattach);
        given.flush_timeout_ns = limit_ns_of(self.flush_timeout);
        given.stale_after_ns = limit_ns_of(self.stale_after);
        given.behind_time_ns = limit_ns_of(self.behind_time);
        if let Some(interval) = self.conflate {
            given.conflate_interval_ns = ns_of(interval);
        }
        given.conflate_keys_max = self.conflate_keys_max;
        given.measure_every = self.measure_every;
        use_options(&given)
    }
}

/// Times from when records were published to their delivery, in ns. Percentiles are at most a
/// quarter too high.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ages {
    /// Records that were measured.
    pub count: u64,
    /// Records without an age, because their publish time is in the future.
    pub negative: u64,
    /// Records without an age, because they have no publish time.
    pub unstamped: u64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub max_ns: u64,
}

/// The state of a subscriber at the time of the call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SubscriberInfo {
    /// Record size of the last session delivered; 0: no session has been delivered.
    pub record_bytes: u32,
    pub schema_name: String,
    /// Set once the first state entry has been delivered.
    pub fold: String,
    /// The two ids of [`Subscriber::position`].
    pub journal_id: Id,
    pub session_id: Id,
    /// Sequence of the newest record; 0 while no bus is attached.
    pub head: u64,
    /// Number of records that the subscriber is behind `head`.
    pub lag: u64,
    /// Records up to this sequence survive a power cut.
    pub durable: u64,
    /// True if it reads the ring and is at most `behind_records` behind.
    pub is_live: bool,
    /// True if [`Subscriber::schema`] returns the fields.
    pub is_described: bool,
    /// Delivered records.
    pub records: u64,
    /// First sequence since the last reset.
    pub first: u64,
    pub last: u64,
    pub gaps: u64,
    pub lost: u64,
    /// Records that were not delivered after a gap, because a state contains them.
    pub in_state: u64,
    pub filled: u64,
    pub duplicates: u64,
    pub out_of_order: u64,
    pub sessions: u64,
    pub reattached: u64,
    /// Entries of all states.
    pub state_entries: u64,
    /// Records of other instruments.
    pub filtered: u64,
    /// Records that were replaced by newer ones with the same key.
    pub conflated: u64,
    /// Keys whose newest record waits for the end of the interval.
    pub waiting: u64,
}

/// Reads a bus: records, state and events, all in order.
///
/// | | |
/// | --- | --- |
/// | [`read`](Subscriber::read) | the available rows of records or of a state, or one event |
/// | [`read_one`](Subscriber::read_one) | only the next record; the fastest way for one record |
/// | [`items`](Subscriber::items) | an iterator over records, state and events, which ends at
/// close |
/// | `into_stream` | the same as a `Stream`, with the feature `tokio` |
///
/// You can mix these calls. Each continues where the last one ended.
#[derive(Debug)]
pub struct Subscriber {
    pub(crate) handle: Handle<sys::lapwing_subscriber>,
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(crate) conflates_every: Option<Duration>,
    fold: String,
    // Types of the current session. None before the first one, or if it is not described.
    records: Option<Arc<Types>>,
    state: Option<Arc<Types>>,
    last_type: Option<TypeId>,
}

impl Subscriber {
    /// Checks the options. Never waits: the read calls find the bus.
    pub fn open(options: &SubscriberOptions) -> Result<Subscriber> {
        let handle = options.with_c(|given| {
            // SAFETY: everything that `given` points to lives until the call has copied it.
            Handle::open(|library, place, error| unsafe {
                library.lapwing_subscriber_open(given, place, error)
            })
        })?;
        Ok(Subscriber {
            handle,
            conflates_every: options.conflate,
            fold: options.fold.clone(),
            records: None,
            state: None,
            last_type: None,
        })
    }

    /// Reads as many rows as are available and fit, or one event. Waits until there is a row or an
    /// event.
    ///
    /// Errors: would-block, timed-out, interrupted (nothing arrived), too-small (only with
    /// [`Batch::fixed`]). All other errors are final: closed (with `end_at_close`), publisher-gone,
    /// no-answer, no-bus, stopped-at-gap, record-size …
    pub fn read<'b>(
        &mut self,
        batch: &'b mut Batch,
        timeout: impl Into<Timeout>,
    ) -> Result<Chunk<'b>> {
        let timeout = timeout.into();
        // SAFETY: the batch contains the sizes of its buffers.
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

    /// Reads the schema now, because the next session may have other fields.
    #[cold]
    fn begin_session(&mut self, event: &Event) {
        self.last_type = None;
        self.records =
            event.is_described().then(|| Arc::new(Types::of_session(self.session_schema())));
        let has_orders =
            self.fold == ORDERS || (self.fold.is_empty() && event.schema_name() == ORDERS_SCHEMA);
        self.state = has_orders.then(|| Arc::new(Types::entries(ORDERS)));
    }

    /// Checks the type. Before the first session there are no records, and no schema to compare.
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

    /// Reads the next record and its sequence. `None`: an event or a state entry comes first.
    /// [`read`](Subscriber::read) returns it.
    ///
    /// Errors: record-size (the records have another size or other fields: see [`Row`]), and those
    /// of [`read`](Subscriber::read).
    #[inline]
    pub fn read_one<R: Row>(&mut self, timeout: impl Into<Timeout>) -> Result<Option<(u64, R)>> {
        self.accept::<R>()?;
        let mut record = MaybeUninit::<R>::uninit();
        let (place, bytes) = (record.as_mut_ptr().cast(), size_of::<R>());
        // SAFETY: `record` has that size.
        let read = unsafe { self.read_one_at(place, bytes, timeout.into()) };
        let sequence = read.map_err(|error| self.named::<R>(error))?;
        // SAFETY: all its bytes were written, and every bit pattern is a valid R.
        Ok(sequence.map(|sequence| (sequence, unsafe { record.assume_init() })))
    }

    /// Adds both sizes to the error if the records of the bus differ in size from `R`.
    #[cold]
    fn named<R: Row>(&self, error: Error) -> Error {
        if error.code() != Code::RecordSize {
            return error;
        }
        match self.info() {
            Ok(info) if info.record_bytes != 0 && info.record_bytes as usize != size_of::<R>() => {
                other_size::<R>(info.record_bytes as usize)
            }
            _ => error,
        }
    }

    /// Like [`read_one`](Subscriber::read_one), into a buffer of the record's size. Returns the
    /// sequence.
    pub fn read_one_bytes(
        &mut self,
        record: &mut [u8],
        timeout: impl Into<Timeout>,
    ) -> Result<Option<u64>> {
        // SAFETY: `record` has that size.
        unsafe { self.read_one_at(record.as_mut_ptr(), record.len(), timeout.into()) }
    }

    /// # Safety
    /// `record` must be valid for writes of `record_bytes` bytes.
    #[inline]
    unsafe fn read_one_at(
        &mut self,
        record: *mut u8,
        record_bytes: usize,
        timeout: Timeout,
    ) -> Result<Option<u64>> {
        let mut sequence = 0;
        // SAFETY: guaranteed by the caller.
        let read = self.handle.call(|library, subscriber, error| unsafe {
            let (record, timeout_ns) = (record.cast(), timeout.ns());
            library.lapwing_subscriber_read_one(
                subscriber,
                record,
                record_bytes,
                timeout_ns,
                &mut sequence,
                error,
            )
        });
        match read {
            Ok(()) => Ok(Some(sequence)),
            Err(error) if error.code() == Code::EventDue => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Iterates over records, state and events. Each step waits no longer than the timeout. The
    /// iterator ends after a clean close, if `end_at_close` is set, or after a final error.
    ///
    /// The iterator does not read ahead: the next read continues after its last item.
    pub fn items<R: Row>(&mut self, timeout: impl Into<Timeout>) -> Items<'_, R> {
        Items::of(self, timeout.into())
    }

    /// The same for a tokio event loop. Error: invalid-argument with [`Wait::Busy`].
    #[cfg(feature = "tokio")]
    pub fn into_stream<R: Row>(self) -> Result<crate::ItemStream<R>> {
        crate::ItemStream::of(self)
    }

    /// Returns the schema of the records, as of the last delivered session or reset event. `None`
    /// if they are not described. The next session may have other fields in records of the same
    /// size.
    ///
    /// Error: misuse (no session has been delivered yet).
    pub fn schema(&self) -> Result<Option<Schema>> {
        match self.session_schema() {
            Ok(schema) => Ok(Some(schema)),
            Err(error) if error.code() == Code::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn session_schema(&self) -> Result<Schema> {
        schema::fill(|schema, fields, fields_max, text, text_bytes_max| {
            // SAFETY: the buffers have the given sizes.
            self.handle.call(|library, subscriber, error| unsafe {
                library.lapwing_subscriber_schema(
                    subscriber,
                    schema,
                    fields,
                    fields_max,
                    text,
                    text_bytes_max,
                    error,
                )
            })
        })
    }

    /// Returns the ages at delivery of the records that [`SubscriberOptions::measure_every`]
    /// selected; `None` if none was measured.
    pub fn ages(&self) -> Result<Option<Ages>> {
        let mut ages = sys::lapwing_ages {
            struct_size: size_of::<sys::lapwing_ages>() as u32,
            ..Default::default()
        };
        // SAFETY: `ages.struct_size` is set.
        let measured = self.handle.call(|library, subscriber, error| unsafe {
            library.lapwing_subscriber_ages(subscriber, &mut ages, error)
        });
        match measured {
            Ok(()) => Ok(Some(Ages {
                count: ages.count,
                negative: ages.negative,
                unstamped: ages.unstamped,
                p50_ns: ages.p50_ns,
                p90_ns: ages.p90_ns,
                p99_ns: ages.p99_ns,
                p999_ns: ages.p999_ns,
                max_ns: ages.max_ns,
            })),
            Err(error) if error.code() == Code::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn info(&self) -> Result<SubscriberInfo> {
        let mut info = sys::lapwing_subscriber_info {
            struct_size: size_of::<sys::lapwing_subscriber_info>() as u32,
            ..Default::default()
        };
        // SAFETY: `info.struct_size` is set.
        self.handle.call(|library, subscriber, error| unsafe {
            library.lapwing_subscriber_inspect(subscriber, &mut info, error)
        })?;
        Ok(SubscriberInfo {
            record_bytes: info.record_bytes,
            schema_name: text_of(&info.schema_name).to_owned(),
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

    /// Returns the position to store: after everything that was delivered.
    pub fn position(&self) -> Result<Position> {
        self.position_at(0)
    }

    /// Returns the position after the row with this sequence in the last batch. Error:
    /// invalid-argument (the batch does not contain it).
    pub fn position_after(&self, sequence: u64) -> Result<Position> {
        match sequence {
            0 => Err(Error::new(
                Code::InvalidArgument,
                "0 is the sequence of no row; position() is after everything that was delivered",
            )),
            sequence => self.position_at(sequence),
        }
    }

    fn position_at(&self, sequence: u64) -> Result<Position> {
        let mut position = sys::lapwing_position::default();
        // SAFETY: `position` is valid for writes.
        self.handle.call(|library, subscriber, error| unsafe {
            library.lapwing_subscriber_position(subscriber, sequence, &mut position, error)
        })?;
        Ok(position.into())
    }

    /// For an event loop. The descriptor is readable when a call that returned would-block,
    /// timed-out or interrupted may have a result. Costs a helper thread. With conflation, also
    /// make the call at the end of the interval.
    ///
    /// Error: invalid-argument with [`Wait::Busy`].
    pub fn fd(&self) -> Result<BorrowedFd<'_>> {
        let mut fd = -1;
        // SAFETY: `fd` is valid for writes.
        self.handle.call(|library, subscriber, error| unsafe {
            library.lapwing_subscriber_fd(subscriber, &mut fd, error)
        })?;
        // SAFETY: the descriptor is open for as long as the subscriber is.
        Ok(unsafe { BorrowedFd::borrow_raw(fd) })
    }

    /// Returns an interrupter, with which another thread ends a wait of this subscriber.
    pub fn interrupter(&self) -> Interrupter {
        self.handle.interrupter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_library() {
        let mut defaults = sys::lapwing_subscriber_options::default();
        // SAFETY: `defaults` has that size.
        unsafe {
            let size = size_of_val(&defaults) as u32;
            library().unwrap().lapwing_subscriber_options_init(&mut defaults, size);
        }
        let given = |given: &sys::lapwing_subscriber_options| Ok(*given);
        let given = SubscriberOptions::default().with_c(given).unwrap();
        assert_eq!(given.flags, defaults.flags);
        assert_eq!(given.start, defaults.start);
        assert_eq!(given.on_gap, defaults.on_gap);
        assert_eq!(given.wait, defaults.wait);
        assert_eq!(given.behind_records, defaults.behind_records);
        assert_eq!(given.reattach_ns, defaults.reattach_ns);
        assert_eq!(given.flush_timeout_ns, defaults.flush_timeout_ns);
        assert_eq!(given.stale_after_ns, defaults.stale_after_ns);
        assert_eq!(given.behind_time_ns, defaults.behind_time_ns);
        assert_eq!(given.conflate_interval_ns, defaults.conflate_interval_ns);
        assert_eq!(given.conflate_keys_max, defaults.conflate_keys_max);
        assert_eq!(given.measure_every, defaults.measure_every);
    }
}
