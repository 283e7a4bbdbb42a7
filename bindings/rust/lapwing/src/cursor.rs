//! A position that outlives the process.

use std::path::Path;

use lapwing_sys as sys;

use crate::error::{Code, Result};
use crate::handle::Handle;
use crate::position::Position;
use crate::text::Text;
use crate::timeout::Timeout;

/// The last commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// Everything up to this position has been processed.
    pub position: Position,
    /// The end of the program's own output at that position: a length …
    pub output_bytes: u64,
    /// … and the number of a file, or 0.
    pub output_file: u64,
}

/// A file that stores how far a program has processed a bus.
///
/// [`Start::After`](crate::Start::After) with its position continues exactly there.
#[derive(Debug)]
pub struct Cursor {
    handle: Handle<sys::lapwing_cursor>,
}

impl Cursor {
    /// Waits for the file's lock, takes it and reads the file. Creates the file if it is missing.
    /// With `durable`, a power cut never reverts a commit, and each commit costs a sync.
    ///
    /// Errors: in-use, damaged, abi-mismatch, not-a-lapwing-file, invalid-argument, not-found,
    /// not-permitted, no-space, system.
    pub fn open(
        path: impl AsRef<Path>,
        durable: bool,
        timeout: impl Into<Timeout>,
    ) -> Result<Cursor> {
        let path = Text::of_path(path.as_ref(), "path")?;
        let flags = if durable { sys::LAPWING_CURSOR_DURABLE } else { 0 };
        let timeout = timeout.into();
        // SAFETY: the call copies the path.
        let handle = Handle::open(|library, place, error| unsafe {
            library.lapwing_cursor_open(path.as_ptr(), flags, timeout.ns(), place, error)
        })?;
        Ok(Cursor { handle })
    }

    /// Returns the last commit; `None` if nothing has been committed yet.
    pub fn last(&self) -> Result<Option<Commit>> {
        let mut position = sys::lapwing_position::default();
        let (mut output_bytes, mut output_file) = (0, 0);
        // SAFETY: all pointers are valid for writes.
        let found = self.handle.call(|library, cursor, error| unsafe {
            library.lapwing_cursor_position(
                cursor,
                &mut position,
                &mut output_bytes,
                &mut output_file,
                error,
            )
        });
        match found {
            Ok(()) => Ok(Some(Commit { position: position.into(), output_bytes, output_file })),
            Err(error) if error.code() == Code::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Records that everything up to the position has been processed. A position with sequence 0
    /// changes nothing.
    pub fn commit(&mut self, commit: &Commit) -> Result<()> {
        let position = commit.position.to_c();
        // SAFETY: `position` is a valid position.
        self.handle.call(|library, cursor, error| unsafe {
            library.lapwing_cursor_commit(
                cursor,
                &position,
                commit.output_bytes,
                commit.output_file,
                error,
            )
        })
    }
}
