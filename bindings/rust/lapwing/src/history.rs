//! Reads the journal by sequence, with or without a publisher.

use std::ops::RangeInclusive;
use std::path::Path;
use std::slice;
use std::sync::Arc;

use lapwing_sys as sys;

use crate::batch::{other_size, Batch, Chunk};
use crate::error::{library, Code, Error, Result};
use crate::handle::Handle;
use crate::position::Id;
use crate::text::{text_of, Text};
use crate::types::{Row, Types};

/// The state of a journal at the time of the call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HistoryInfo {
    pub record_bytes: u32,
    pub schema_name: String,
    pub journal_id: Id,
    /// The oldest retained sequence.
    pub oldest: u64,
    /// The newest sequence that can be read.
    pub archived: u64,
    pub durable: u64,
}

/// Reads a bus's journal by sequence.
#[derive(Debug)]
pub struct History {
    handle: Handle<sys::lapwing_history>,
    types: Arc<Types>,
}

impl History {
    /// Opens the history of the bus in that directory.
    ///
    /// Errors: no-bus, no-journal, damaged, not-permitted, not-a-lapwing-file, abi-mismatch,
    /// system.
    pub fn open(directory: impl AsRef<Path>) -> Result<History> {
        let types = Arc::new(Types::archived(directory.as_ref()));
        let directory = Text::of_path(directory.as_ref(), "directory")?;
        // SAFETY: the call copies the directory.
        let handle = Handle::open(|library, place, error| unsafe {
            library.lapwing_history_open(directory.as_ptr(), place, error)
        })?;
        Ok(History { handle, types })
    }

    pub fn info(&self) -> Result<HistoryInfo> {
        let mut info = sys::lapwing_history_info {
            struct_size: size_of::<sys::lapwing_history_info>() as u32,
            ..Default::default()
        };
        // SAFETY: `info.struct_size` is set.
        self.handle.call(|library, history, error| unsafe {
            library.lapwing_history_inspect(history, &mut info, error)
        })?;
        Ok(HistoryInfo {
            record_bytes: info.record_bytes,
            schema_name: text_of(&info.schema_name).to_owned(),
            journal_id: info.journal_id.into(),
            oldest: info.oldest,
            archived: info.archived,
            durable: info.durable,
        })
    }

    /// Reads rows from `first` on, or one event: lost.
    ///
    /// Errors: would-block (`first` is beyond `archived`), invalid-argument (`first` is not a
    /// sequence).
    pub fn read<'b>(&mut self, first: u64, batch: &'b mut Batch) -> Result<Chunk<'b>> {
        // SAFETY: the batch contains the sizes of its buffers.
        batch.fill(Some(&self.types), None, |batch| {
            self.handle.call(|library, history, error| unsafe {
                library.lapwing_history_read(history, first, batch, error)
            })
        })
    }

    /// Returns the sequence at which to begin reading so that no record published at or after that
    /// time is missed.
    pub fn find_time(&mut self, utc_ns: u64) -> Result<u64> {
        let mut sequence = 0;
        // SAFETY: `sequence` is valid for writes.
        self.handle.call(|library, history, error| unsafe {
            library.lapwing_history_find_time(history, utc_ns, &mut sequence, error)
        })?;
        Ok(sequence)
    }

    /// Maps the rows of these sequences in place, up to the end of the finished segment that
    /// contains the first one. Continue at [`View::first`] + [`View::len`].
    ///
    /// Errors: would-block (the segment is still growing: read it), not-permitted (others may write
    /// to the file: read it), pruned, not-found (a void), damaged, invalid-argument, system.
    pub fn map(&mut self, sequences: RangeInclusive<u64>) -> Result<View> {
        let mut view = sys::lapwing_view {
            struct_size: size_of::<sys::lapwing_view>() as u32,
            ..Default::default()
        };
        let (&first, &last) = (sequences.start(), sequences.end());
        // SAFETY: `view.struct_size` is set.
        self.handle.call(|library, history, error| unsafe {
            library.lapwing_history_map(history, first, last, &mut view, error)
        })?;
        Ok(View { view, types: self.types.clone() })
    }
}

/// Rows of a journal file in place, read-only. A view may outlive the [`History`]. Dropping it
/// unmaps the rows.
///
/// No other user can write to the file. In a forked child the memory is not mapped.
#[derive(Debug)]
pub struct View {
    view: sys::lapwing_view,
    types: Arc<Types>,
}

// SAFETY: the memory does not change, and any thread may unmap a view.
unsafe impl Send for View {}
unsafe impl Sync for View {}

impl View {
    pub fn len(&self) -> usize {
        self.view.count as usize
    }

    pub fn is_empty(&self) -> bool {
        self.view.count == 0
    }

    pub fn row_bytes(&self) -> usize {
        self.view.row_bytes as usize
    }

    /// Distance from the beginning of a row to the beginning of the next one.
    pub fn stride_bytes(&self) -> usize {
        self.view.stride_bytes
    }

    /// Sequence of row 0; row i is first + i.
    pub fn first(&self) -> u64 {
        self.view.first
    }

    pub fn get(&self, row: usize) -> Option<&[u8]> {
        // SAFETY: row i is at rows + i * stride, and is mapped for as long as the view lives.
        (row < self.len()).then(|| unsafe {
            let start = self.view.rows.cast::<u8>().add(row * self.view.stride_bytes);
            slice::from_raw_parts(start, self.row_bytes())
        })
    }

    /// Returns a row in place, as a struct. Errors: record-size (the struct's size or fields
    /// differ, or its alignment is greater: see [`Row`]), invalid-argument (there is no such row).
    pub fn get_as<R: Row>(&self, row: usize) -> Result<&R> {
        self.types.check::<R>()?;
        let bytes = self.get(row).ok_or_else(|| {
            Error::new(
                Code::InvalidArgument,
                format!("the view has no row {row}; it has {} rows", self.len()),
            )
        })?;
        R::ref_from_bytes(bytes).map_err(|_| other_size::<R>(self.row_bytes()))
    }

    /// Iterates over all rows.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + '_ {
        (0..self.len()).map(|row| self.get(row).expect("a row of the view"))
    }
}

impl Drop for View {
    fn drop(&mut self) {
        if let Ok(library) = library() {
            // SAFETY: no reference into the view exists any more.
            unsafe { library.lapwing_history_unmap(&mut self.view) }
        }
    }
}
