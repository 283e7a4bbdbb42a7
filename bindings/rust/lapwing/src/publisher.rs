//! The publisher: the one process that writes a bus.

use std::any::TypeId;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use lapwing_sys as sys;
use zerocopy::IntoBytes;

use crate::error::{library, Code, Error, Result};
use crate::handle::{Handle, Interrupter};
use crate::numbered::numbered;
use crate::options::options;
use crate::position::Id;
use crate::record::Record;
use crate::text::Text;
use crate::timeout::{limit_ns_of, Timeout};
use crate::types::{Row, Types};

/// The action when the journal is a whole ring behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum OnJournalLag {
    /// `publish` waits for the disk.
    #[default]
    Wait = sys::LAPWING_ON_JOURNAL_LAG_WAIT,
    /// Journaling stops for the rest of the session.
    Shed = sys::LAPWING_ON_JOURNAL_LAG_SHED,
}

/// The action when the journal has failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum OnJournalFailure {
    /// Publishing continues live.
    #[default]
    Continue = sys::LAPWING_ON_JOURNAL_FAILURE_CONTINUE,
    /// Publishing ends.
    Stop = sys::LAPWING_ON_JOURNAL_FAILURE_STOP,
}

options! {
    /// Options of a publisher. Every option but the directory has a default.
    ///
    /// ```
    /// use lapwing::PublisherOptions;
    /// use std::time::Duration;
    ///
    /// PublisherOptions::new("./quotes").record_bytes(16).retain_age(Duration::from_secs(86_400));
    /// ```
    ///
    /// `None` for a duration means no limit.
    PublisherOptions {
        /// Bus directory; created if it is missing.
        directory(impl Into<PathBuf>): PathBuf = PathBuf::new();
        /// Name of the bus, for display. Default: the directory's last component.
        name(impl Into<String>): String = String::new();
        /// Name of a shipped schema, or your own. Default: that of `schema`, or else `bytes`.
        schema_name(impl Into<String>): String = String::new();
        /// The description of the records: a [`Schema`](crate::Schema), or its text. Default: the
        /// shipped schema of `schema_name`, or none. [`of`](PublisherOptions::of) sets it from a
        /// struct.
        schema(impl Into<String>): String = String::new();
        /// Record size, 8 to 4,088 bytes. Default: that of `schema`, or else 56.
        record_bytes(u32): u32 = 0;
        /// Number of slots, a power of two. Default: as many as fit, up to 1,048,576.
        capacity(u64): u64 = 0;
        /// Default: the bus directory if it is on tmpfs, or else one in /dev/shm.
        ring_directory(impl Into<PathBuf>): PathBuf = PathBuf::new();
        /// Default: `journal` in the bus directory.
        journal_directory(impl Into<PathBuf>): PathBuf = PathBuf::new();
        /// Keeps no journal: readers lose records that were overwritten before they read them.
        /// Default: false.
        no_journal(bool): bool = false;
        /// Backs the ring with huge pages; open fails if there are none. Default: false.
        huge_pages(bool): bool = false;
        /// Continues `source_id` after its records in the journal. Default: false.
        resume(bool): bool = false;
        /// Group (gid) whose members may read the bus. Default: only this user.
        group(u32): Option<u32> = None;
        /// Publish times are this publisher's, not the feed's. Default: false.
        restamped(bool): bool = false;
        /// Bytes of slots in a segment of the journal, a power of two. Default: 64 MiB.
        segment_bytes(u64): u64 = 64 << 20;
        /// Interval at which records are made durable. `None`: only by [`Publisher::flush`] and at
        /// the end of the session. Default: 10 ms.
        sync_interval(impl Into<Option<Duration>>): Option<Duration> =
            Some(Duration::from_millis(10));
        /// Maximum size of the journal. When it is exceeded, the oldest segments are removed. 0: no
        /// limit. Default: 0.
        retain_bytes(u64): u64 = 0;
        /// A segment is removed once its newest record is older than this. `None`: never. Default:
        /// `None`.
        retain_age(impl Into<Option<Duration>>): Option<Duration> = None;
        /// Default: [`OnJournalLag::Wait`].
        on_journal_lag(OnJournalLag): OnJournalLag = OnJournalLag::default();
        /// Default: [`OnJournalFailure::Continue`].
        on_journal_failure(OnJournalFailure): OnJournalFailure = OnJournalFailure::default();
        /// Raw DBN metadata of the feed. Default: none.
        metadata(impl Into<Vec<u8>>): Vec<u8> = Vec::new();
        /// Identifies the source of the records. The journal stores it. Default: 0.
        source_id(u64): u64 = 0;
        /// Number of the source's records before the first that is published. Default: 0.
        source_offset(u64): u64 = 0;
    }
}

impl PublisherOptions {
    pub fn new(directory: impl Into<PathBuf>) -> PublisherOptions {
        PublisherOptions::default().directory(directory)
    }

    /// Returns options for a bus with records of type `R`.
    pub fn of<R: Record>(directory: impl Into<PathBuf>) -> PublisherOptions {
        PublisherOptions::new(directory).schema(R::schema_text())
    }

    fn flags(&self) -> u32 {
        [
            (self.no_journal, sys::LAPWING_PUBLISHER_NO_JOURNAL),
            (self.huge_pages, sys::LAPWING_PUBLISHER_HUGE_PAGES),
            (self.resume, sys::LAPWING_PUBLISHER_RESUME),
            (self.group.is_some(), sys::LAPWING_PUBLISHER_GROUP),
            (self.restamped, sys::LAPWING_PUBLISHER_RESTAMPED),
        ]
        .iter()
        .map(|&(is_set, flag)| if is_set { flag } else { 0 })
        .sum()
    }

    fn with_c<R>(
        &self,
        use_options: impl FnOnce(&sys::lapwing_publisher_options) -> Result<R>,
    ) -> Result<R> {
        let directory = Text::of_path(&self.directory, "options.directory")?;
        let name = Text::of(&self.name, "options.name")?;
        let schema_name = Text::of(&self.schema_name, "options.schema_name")?;
        let schema = Text::of(&self.schema, "options.schema")?;
        let ring_directory = Text::of_path(&self.ring_directory, "options.ring_directory")?;
        let journal_directory =
            Text::of_path(&self.journal_directory, "options.journal_directory")?;
        let mut given = sys::lapwing_publisher_options::default();
        // SAFETY: `given` has that size.
        unsafe {
            library()?.lapwing_publisher_options_init(&mut given, size_of_val(&given) as u32);
        }
        given.flags = self.flags();
        given.directory = directory.as_ptr();
        given.name = name.as_ptr();
        given.schema_name = schema_name.as_ptr();
        given.schema = schema.as_ptr();
        given.record_bytes = self.record_bytes;
        given.group = self.group.unwrap_or(0);
        given.capacity = self.capacity;
        given.ring_directory = ring_directory.as_ptr();
        given.journal_directory = journal_directory.as_ptr();
        given.segment_bytes = self.segment_bytes;
        given.sync_interval_ns = limit_ns_of(self.sync_interval);
        given.retain_bytes = self.retain_bytes;
        given.retain_age_ns = limit_ns_of(self.retain_age);
        given.on_journal_lag = self.on_journal_lag as u32;
        given.on_journal_failure = self.on_journal_failure as u32;
        given.metadata = self.metadata.as_ptr().cast();
        given.metadata_bytes = self.metadata.len();
        given.source_id = self.source_id;
        given.source_offset = self.source_offset;
        use_options(&given)
    }
}

numbered! {
    /// How a start settled the previous session.
    Settled {
        /// There was no journal yet: a new one was begun.
        Fresh = LAPWING_SETTLED_FRESH, "fresh";
        /// The last session had ended cleanly.
        Continued = LAPWING_SETTLED_CONTINUED, "continued";
        /// The last session was killed; the missing records were in the ring.
        Recovered = LAPWING_SETTLED_RECOVERED, "recovered";
        /// Power cut: the session was cut at durable, and the rest of the reservation is a void.
        Cut = LAPWING_SETTLED_CUT, "cut";
        /// The journal had failed: a new one was begun.
        Reset = LAPWING_SETTLED_RESET, "reset";
    }
}

numbered! {
    /// The state of the journal.
    JournalState {
        None = LAPWING_JOURNAL_STATE_NONE, "none";
        Good = LAPWING_JOURNAL_STATE_GOOD, "good";
        /// `durable` is frozen; live publishing continues.
        Failed = LAPWING_JOURNAL_STATE_FAILED, "failed";
        /// The same, because of [`OnJournalLag::Shed`].
        Shed = LAPWING_JOURNAL_STATE_SHED, "shed";
    }
}

/// The state of a publisher at the time of the call. Times are in nanoseconds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PublisherInfo {
    pub record_bytes: u32,
    pub journal_id: Id,
    pub session_id: Id,
    /// Sequence of this session's first record.
    pub first: u64,
    /// Sequence of the last published record.
    pub head: u64,
    /// Last sequence that survives a power cut.
    pub durable: u64,
    /// Records of the source that earlier sessions published.
    pub source_offset: u64,
    pub subscribers: u64,
    pub settled: Settled,
    pub journal: JournalState,
    /// Error number of the journal's first failure.
    pub journal_errno: Option<i32>,
    /// Sequences that this start recorded as a void.
    pub void: Option<RangeInclusive<u64>>,
    /// Number of times that `publish` waited for the journal.
    pub journal_stalls: u64,
    pub journal_stall_ns_max: u64,
    pub journal_stall_ns_total: u64,
    /// Wakes of sleeping publisher threads: one for each sleeper and idle period.
    pub idle_wakes: u64,
    /// Wakes of parked subscribers.
    pub doorbells: u64,
}

/// The one writer of a bus. See [`PublisherOptions`] for the bus and its records.
///
/// Dropping it closes it without waiting: a library thread completes the close. A program that
/// exits waits for that thread, for 10 s at most. [`close`](Publisher::close) returns how the
/// session ended.
#[derive(Debug)]
pub struct Publisher {
    handle: Handle<sys::lapwing_publisher>,
    types: Types,
    last_type: Option<TypeId>,
}

impl Publisher {
    /// Takes the bus, settles the last session and begins a new one. Waits at most `timeout` for
    /// another publisher to end.
    ///
    /// Errors: in-use, damaged, no-space, not-permitted, invalid-argument, record-size,
    /// path-too-long, not-a-lapwing-file, not-found, limit, unsupported, system.
    pub fn open(options: &PublisherOptions, timeout: impl Into<Timeout>) -> Result<Publisher> {
        let timeout = timeout.into();
        let handle = options.with_c(|given| {
            // SAFETY: everything that `given` points to lives until the call has copied it.
            Handle::open(|library, place, error| unsafe {
                library.lapwing_publisher_open(given, timeout.ns(), place, error)
            })
        })?;
        Ok(Publisher { handle, types: Types::published(&options.directory), last_type: None })
    }

    /// Publishes a record and returns its sequence. Waits only if the journal is a whole ring
    /// behind.
    ///
    /// Errors: record-size (the bus has records with another size or other fields: see [`Row`]),
    /// timed-out, would-block, interrupted. Final errors: journal-failed, closed.
    #[inline]
    pub fn publish<R: Row>(&mut self, record: &R, timeout: impl Into<Timeout>) -> Result<u64> {
        self.accept::<R>()?;
        self.publish_bytes(record.as_bytes(), size_of::<R>(), timeout)
    }

    #[inline]
    fn accept<R: Row>(&mut self) -> Result<()> {
        let this = Some(TypeId::of::<R>());
        if self.last_type != this {
            self.types.check::<R>()?;
            self.last_type = this;
        }
        Ok(())
    }

    /// Publishes records in order, and returns the sequence of the last one; 0 if there are none.
    /// On failure, [`Error::progress`](crate::Error::progress) returns the sequence of the last
    /// record that was published. Errors: those of [`publish`](Publisher::publish).
    #[inline]
    pub fn publish_all<R: Row>(
        &mut self,
        records: &[R],
        timeout: impl Into<Timeout>,
    ) -> Result<u64> {
        self.accept::<R>()?;
        self.publish_bytes(records.as_bytes(), size_of::<R>(), timeout)
    }

    /// Like [`publish_all`](Publisher::publish_all), for rows of `record_bytes` end to end in
    /// memory. Checks only their size against the bus. An additional error is invalid-argument (the
    /// last row is incomplete).
    #[inline]
    pub fn publish_bytes(
        &mut self,
        rows: &[u8],
        record_bytes: usize,
        timeout: impl Into<Timeout>,
    ) -> Result<u64> {
        let timeout = timeout.into();
        // For rows of 0 bytes, the library reports the error.
        let count = rows.len().checked_div(record_bytes).unwrap_or(0);
        if record_bytes != 0 && count * record_bytes != rows.len() {
            return Err(not_whole(rows.len(), record_bytes));
        }
        let mut last = 0;
        // SAFETY: `rows` holds `count` records of that size.
        self.handle
            .call(|library, publisher, error| unsafe {
                library.lapwing_publisher_publish(
                    publisher,
                    rows.as_ptr().cast(),
                    count,
                    record_bytes,
                    timeout.ns(),
                    &mut last,
                    error,
                )
            })
            .map_err(|error| error.with_progress(last))?;
        Ok(last)
    }

    /// Waits until everything published is durable. Returns the newest durable sequence.
    pub fn flush(&mut self, timeout: impl Into<Timeout>) -> Result<u64> {
        let timeout = timeout.into();
        let mut durable = 0;
        // SAFETY: `durable` is valid for writes.
        self.handle.call(|library, publisher, error| unsafe {
            library.lapwing_publisher_flush(publisher, timeout.ns(), &mut durable, error)
        })?;
        Ok(durable)
    }

    pub fn info(&self) -> Result<PublisherInfo> {
        let mut info = sys::lapwing_publisher_info {
            struct_size: size_of::<sys::lapwing_publisher_info>() as u32,
            ..Default::default()
        };
        // SAFETY: `info.struct_size` is set.
        self.handle.call(|library, publisher, error| unsafe {
            library.lapwing_publisher_inspect(publisher, &mut info, error)
        })?;
        Ok(PublisherInfo {
            record_bytes: info.record_bytes,
            journal_id: info.journal_id.into(),
            session_id: info.session_id.into(),
            first: info.first,
            head: info.head,
            durable: info.durable,
            source_offset: info.source_offset,
            subscribers: info.subscribers,
            settled: Settled::from_number(info.settled),
            journal: JournalState::from_number(info.journal_state),
            journal_errno: (info.journal_errno != 0).then_some(info.journal_errno),
            void: (info.void_first != 0).then_some(info.void_first..=info.void_last),
            journal_stalls: info.journal_stalls,
            journal_stall_ns_max: info.journal_stall_ns_max,
            journal_stall_ns_total: info.journal_stall_ns_total,
            idle_wakes: info.idle_wakes,
            doorbells: info.doorbells,
        })
    }

    /// Ends the session: makes everything durable, records the end and notifies subscribers.
    /// Idempotent. After timed-out or would-block, a library thread continues the close, and a
    /// later `close` returns how the session ended.
    pub fn close(&mut self, timeout: impl Into<Timeout>) -> Result<()> {
        let timeout = timeout.into();
        // SAFETY: the call accesses no buffer of the caller.
        self.handle.call(|library, publisher, error| unsafe {
            library.lapwing_publisher_close(publisher, timeout.ns(), error)
        })
    }

    /// Returns an interrupter, with which another thread ends a wait of this publisher.
    pub fn interrupter(&self) -> Interrupter {
        self.handle.interrupter()
    }
}

#[cold]
fn not_whole(bytes: usize, record_bytes: usize) -> Error {
    Error::new(
        Code::InvalidArgument,
        format!("{bytes} bytes are not whole rows of {record_bytes} bytes; nothing was published"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_library() {
        let mut defaults = sys::lapwing_publisher_options::default();
        // SAFETY: `defaults` has that size.
        unsafe {
            let size = size_of_val(&defaults) as u32;
            library().unwrap().lapwing_publisher_options_init(&mut defaults, size);
        }
        let given = |given: &sys::lapwing_publisher_options| Ok(*given);
        let given = PublisherOptions::default().with_c(given).unwrap();
        assert_eq!(given.segment_bytes, defaults.segment_bytes);
        assert_eq!(given.sync_interval_ns, defaults.sync_interval_ns);
        assert_eq!(given.retain_bytes, defaults.retain_bytes);
        assert_eq!(given.retain_age_ns, defaults.retain_age_ns);
        assert_eq!(given.on_journal_lag, defaults.on_journal_lag);
        assert_eq!(given.on_journal_failure, defaults.on_journal_failure);
        assert_eq!(given.flags, defaults.flags);
    }
}
