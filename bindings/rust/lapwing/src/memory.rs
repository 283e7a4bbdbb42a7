//! Lists that the library writes into the caller's memory.

use crate::error::{Code, Result};

/// Calls `list` again with more memory, until everything fits.
pub(crate) fn all<T: Clone + Default>(
    mut list: impl FnMut(&mut [T], &mut usize) -> Result<()>,
) -> Result<Vec<T>> {
    let mut found = vec![T::default(); 16];
    loop {
        let mut count = 0;
        match list(&mut found, &mut count) {
            Err(error) if error.code() == Code::TooSmall && count > found.len() => {
                found.resize(count, T::default());
            }
            done => {
                done?;
                found.truncate(count);
                return Ok(found);
            }
        }
    }
}
