//! Memory for rows, reused by every read.

use std::fmt;
use std::sync::Arc;

use lapwing_sys as sys;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::error::{Code, Error, Result};
use crate::event::Event;
use crate::handle::unknown;
use crate::types::{Row, Types};

/// A cache line. Rows begin on one, so that they are aligned and can be read in place.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Memory for the rows of one read, and the result of the last read. Once the memory is large
/// enough, reads into it do not allocate.
///
/// ```no_run
/// # fn main() -> lapwing::Result<()> {
/// # let mut subscriber = lapwing::Subscriber::open(&Default::default())?;
/// let mut batch = lapwing::Batch::new(4096);
/// loop {
///     match subscriber.read(&mut batch, lapwing::FOREVER)? {
///         lapwing::Chunk::Records(rows) => println!("{} from {}", rows.len(), rows.first()),
///         lapwing::Chunk::State(entries) => println!("{} entries", entries.len()),
///         lapwing::Chunk::Event(event) => println!("{event}"),
///     }
/// }
/// # }
/// ```
pub struct Batch {
    given: Box<sys::lapwing_batch>, // boxed, because its event is half a kilobyte
    memory: Vec<Line>,
    memory_bytes: usize,
    sequences: Vec<u64>,
    conflated: Vec<u64>,
    rows_max: usize,
    grows: bool,
    types: Option<Arc<Types>>, // the rows' types; None if unknown
}

// SAFETY: the pointers in `given` are NULL, or point to memory that the batch owns.
unsafe impl Send for Batch {}
unsafe impl Sync for Batch {}

impl Batch {
    /// Creates a batch for that many rows. Its memory grows to fit the rows of the bus.
    pub fn new(rows_max: usize) -> Batch {
        Batch::of(rows_max.max(1), rows_max.max(1) * size_of::<Line>(), true)
    }

    /// Creates a batch for at most `rows_max` rows in `bytes` of memory. If not even one row fits,
    /// a read fails with too-small, and [`row_bytes`](Batch::row_bytes) returns the row size.
    pub fn fixed(rows_max: usize, bytes: usize) -> Batch {
        Batch::of(rows_max, bytes, false)
    }

    fn of(rows_max: usize, memory_bytes: usize, grows: bool) -> Batch {
        let given = Box::new(sys::lapwing_batch {
            struct_size: size_of::<sys::lapwing_batch>() as u32,
            ..Default::default()
        });
        let (sequences, conflated) = (Vec::new(), Vec::new());
        let mut batch = Batch {
            given,
            memory: Vec::new(),
            memory_bytes,
            sequences,
            conflated,
            rows_max,
            grows,
            types: None,
        };
        batch.resize(memory_bytes);
        batch
    }

    /// Adds a column of sequences. With conflation or chosen instruments, the sequences of rows are
    /// not consecutive.
    pub fn with_sequences(mut self) -> Batch {
        self.sequences = vec![0; self.rows_max];
        self
    }

    /// Adds a column with the number of older records that each row replaces.
    pub fn with_conflated(mut self) -> Batch {
        self.conflated = vec![0; self.rows_max];
        self
    }

    /// Row size in the last read, even if it failed with too-small; 0: no row has been read.
    pub fn row_bytes(&self) -> usize {
        self.given.row_bytes as usize
    }

    /// Returns the result of the last read; `None` if it failed.
    pub fn chunk(&self) -> Option<Chunk<'_>> {
        match self.given.kind {
            sys::LAPWING_BATCH_RECORDS => Some(Chunk::Records(self.rows())),
            sys::LAPWING_BATCH_STATE => Some(Chunk::State(self.rows())),
            sys::LAPWING_BATCH_EVENT => Some(Chunk::Event(Event::of(&self.given.event))),
            _ => None,
        }
    }

    /// Returns the batch in the form that the C interface takes.
    pub(crate) fn as_c(&self) -> &sys::lapwing_batch {
        &self.given
    }

    fn rows(&self) -> Rows<'_> {
        let (count, row_bytes) = (self.given.count, self.row_bytes());
        Rows {
            bytes: &self.memory.as_bytes()[..count * row_bytes],
            row_bytes,
            first: self.given.first,
            is_sparse: self.given.flags & sys::LAPWING_BATCH_SPARSE != 0,
            sequences: self.sequences.get(..count),
            conflated: self.conflated.get(..count),
            types: self.types.as_deref(),
        }
    }

    fn resize(&mut self, bytes: usize) {
        self.memory.resize(bytes.div_ceil(size_of::<Line>()), Line([0; 64]));
        self.memory_bytes = bytes;
    }

    /// Makes room for all rows if the row size is known. Returns whether the memory grew.
    fn grow(&mut self) -> bool {
        let needed = self.rows_max * self.row_bytes();
        let grows = self.grows && self.memory_bytes < needed;
        if grows {
            self.resize(needed);
        }
        grows
    }

    fn prepare(&mut self) {
        let column = |of: &mut Vec<u64>| match of.is_empty() {
            true => std::ptr::null_mut(),
            false => of.as_mut_ptr(),
        };
        self.given.kind = sys::LAPWING_BATCH_NOTHING;
        self.given.count = 0;
        self.given.rows = self.memory.as_mut_ptr().cast();
        self.given.rows_bytes = self.memory_bytes;
        self.given.sequences = column(&mut self.sequences);
        self.given.conflated = column(&mut self.conflated);
        self.given.rows_max = self.rows_max;
    }

    /// Calls `read` to fill the memory, which grows if a row does not fit. Casts of rows are
    /// checked against `records`, or against `state` for state entries.
    pub(crate) fn fill(
        &mut self,
        records: Option<&Arc<Types>>,
        state: Option<&Arc<Types>>,
        mut read: impl FnMut(*mut sys::lapwing_batch) -> Result<()>,
    ) -> Result<Chunk<'_>> {
        self.grow();
        loop {
            self.prepare();
            match read(&mut *self.given) {
                Ok(()) => break,
                Err(error) => {
                    self.given.kind = sys::LAPWING_BATCH_NOTHING;
                    if error.code() != Code::TooSmall || !self.grow() {
                        return Err(error);
                    }
                }
            }
        }
        if self.given.kind == sys::LAPWING_BATCH_EVENT && self.given.event.record_bytes != 0 {
            self.given.row_bytes = self.given.event.record_bytes;
        }
        let kind = self.given.kind;
        let types = if kind == sys::LAPWING_BATCH_STATE { state } else { records };
        if self.types.as_ref().map(Arc::as_ptr) != types.map(Arc::as_ptr) {
            self.types = types.cloned();
        }
        self.chunk().ok_or_else(|| unknown("a batch of kind", kind))
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("rows_max", &self.rows_max)
            .field("memory_bytes", &self.memory_bytes)
            .field("chunk", &self.chunk())
            .finish()
    }
}

/// The result of one read: rows of one session, one size and one kind, or an event.
#[derive(Clone, Copy, Debug)]
pub enum Chunk<'a> {
    Records(Rows<'a>),
    /// State entries.
    State(Rows<'a>),
    Event(&'a Event),
}

/// Rows end to end in memory.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    bytes: &'a [u8],
    row_bytes: usize,
    first: u64,
    is_sparse: bool,
    sequences: Option<&'a [u64]>,
    conflated: Option<&'a [u64]>,
    types: Option<&'a Types>,
}

impl<'a> Rows<'a> {
    pub fn len(&self) -> usize {
        self.bytes.len().checked_div(self.row_bytes).unwrap_or(0)
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// All rows, end to end.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub fn get(&self, row: usize) -> Option<&'a [u8]> {
        let start = row.checked_mul(self.row_bytes)?;
        self.bytes.get(start..start.checked_add(self.row_bytes)?)
    }

    pub fn iter(&self) -> std::slice::ChunksExact<'a, u8> {
        self.bytes.chunks_exact(self.row_bytes.max(1))
    }

    /// All rows in place, as structs. Error: record-size (the struct's size or fields differ from
    /// the row's, or its alignment is greater: see [`Row`]).
    pub fn as_slice<R: Row>(&self) -> Result<&'a [R]> {
        if let Some(types) = self.types {
            types.check::<R>()?;
        }
        match <[R]>::ref_from_bytes(self.bytes) {
            Ok(records) if size_of::<R>() == self.row_bytes || self.is_empty() => Ok(records),
            _ => Err(other_size::<R>(self.row_bytes)),
        }
    }

    /// Sequence of the first row; 0 for state entries.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Sequence of the last row; see [`sequence`](Rows::sequence).
    pub fn last(&self) -> Option<u64> {
        self.sequence(self.len().checked_sub(1)?)
    }

    /// Sequence of a row. `None` if the sequences are not consecutive and the batch has no column
    /// of sequences.
    pub fn sequence(&self, row: usize) -> Option<u64> {
        match self.sequences {
            Some(sequences) => sequences.get(row).copied(),
            None if self.is_sparse || row >= self.len() => None,
            None => Some(self.first + row as u64),
        }
    }

    /// The number of older records that each row replaces, if the batch has that column.
    pub fn conflated(&self) -> Option<&'a [u64]> {
        self.conflated
    }
}

impl<'a> IntoIterator for Rows<'a> {
    type Item = &'a [u8];
    type IntoIter = std::slice::ChunksExact<'a, u8>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Rows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows")
            .field("len", &self.len())
            .field("row_bytes", &self.row_bytes)
            .field("first", &self.first)
            .finish_non_exhaustive()
    }
}

pub(crate) fn other_size<R>(row_bytes: usize) -> Error {
    Error::new(
        Code::RecordSize,
        format!(
            "rows are of {row_bytes} bytes, and {} is of {} (alignment {}); read them as bytes, or \
             as the struct that Schema describes",
            std::any::type_name::<R>(),
            size_of::<R>(),
            align_of::<R>()
        ),
    )
}
