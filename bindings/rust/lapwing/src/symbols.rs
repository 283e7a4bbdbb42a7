//! Instruments by symbol and date.

use std::path::Path;

use lapwing_sys as sys;

use crate::error::{Code, Result};
use crate::handle::Handle;
use crate::memory::all;
use crate::text::{text_of, Text};

/// The instrument of a symbol between two dates. Dates are UTC, as numbers YYYYMMDD.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SymbolMapping {
    pub symbol: String,
    pub instrument_id: u32,
    /// The first day.
    pub start_date: u32,
    /// The day after the last one.
    pub end_date: u32,
}

/// The symbols of a bus's feed by date.
///
/// ```no_run
/// # fn main() -> lapwing::Result<()> {
/// let symbols = lapwing::Symbols::open("./es")?;
/// let now = 1_704_205_800_000_000_000; // UTC ns
/// if let Some(instrument_id) = symbols.find("ESH4", now)? {
///     println!("ESH4 is instrument {instrument_id}");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Symbols {
    handle: Handle<sys::lapwing_symbols>,
}

impl Symbols {
    /// Reads the mappings in the feed's DBN metadata, which the last publisher of the bus wrote.
    /// There are none if the feed has no metadata.
    ///
    /// Errors: no-bus, bad-input, damaged, not-permitted, system.
    pub fn open(directory: impl AsRef<Path>) -> Result<Symbols> {
        let directory = Text::of_path(directory.as_ref(), "directory")?;
        // SAFETY: the call copies the directory.
        let handle = Handle::open(|library, place, error| unsafe {
            library.lapwing_symbols_open(directory.as_ptr(), place, error)
        })?;
        Ok(Symbols { handle })
    }

    /// Returns the instrument of a symbol at that time, UTC ns; `None` if the symbol is unknown. If
    /// the time is outside all of the symbol's dates, the mapping with the latest start date
    /// applies.
    pub fn find(&self, symbol: &str, utc_ns: u64) -> Result<Option<u32>> {
        let symbol = Text::of(symbol, "symbol")?;
        let mut instrument_id = 0;
        // SAFETY: the pointers are valid, and the call copies the symbol.
        let found = self.handle.call(|library, symbols, error| unsafe {
            library.lapwing_symbols_find(
                symbols,
                symbol.as_ptr(),
                utc_ns,
                &mut instrument_id,
                error,
            )
        });
        if_found(found.map(|()| instrument_id))
    }

    /// Returns the mapping of an instrument at that time, UTC ns; `None` if the instrument is
    /// unknown. If the time is outside all of the instrument's dates, the mapping with the latest
    /// start date applies.
    pub fn name(&self, instrument_id: u32, utc_ns: u64) -> Result<Option<SymbolMapping>> {
        let mut mapping = sys::lapwing_symbol_mapping::default();
        // SAFETY: `mapping` is valid for writes.
        let found = self.handle.call(|library, symbols, error| unsafe {
            library.lapwing_symbols_name(symbols, instrument_id, utc_ns, &mut mapping, error)
        });
        if_found(found.map(|()| SymbolMapping::from(&mapping)))
    }

    /// Returns all mappings, by symbol, then by date.
    pub fn list(&self) -> Result<Vec<SymbolMapping>> {
        let mappings = all(|mappings: &mut [sys::lapwing_symbol_mapping], count| {
            // SAFETY: the buffer has the given length.
            self.handle.call(|library, symbols, error| unsafe {
                library.lapwing_symbols_list(
                    symbols,
                    mappings.as_mut_ptr(),
                    mappings.len(),
                    count,
                    error,
                )
            })
        })?;
        Ok(mappings.iter().map(SymbolMapping::from).collect())
    }
}

fn if_found<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.code() == Code::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl From<&sys::lapwing_symbol_mapping> for SymbolMapping {
    fn from(mapping: &sys::lapwing_symbol_mapping) -> SymbolMapping {
        SymbolMapping {
            symbol: text_of(&mapping.symbol).to_owned(),
            instrument_id: mapping.instrument_id,
            start_date: mapping.start_date,
            end_date: mapping.end_date,
        }
    }
}
