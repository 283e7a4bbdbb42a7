//! Tests the instruments of symbols by date.

use lapwing::{Publisher, PublisherOptions, SymbolMapping, Symbols, FOREVER};
use tempfile::TempDir;

const DAY_NS: u64 = 86_400_000_000_000;
const MAY_2024: u64 = 19_844 * DAY_NS;
const JULY_2024: u64 = 19_905 * DAY_NS;

fn text(text: &str, bytes: usize) -> Vec<u8> {
    let mut field = text.as_bytes().to_vec();
    field.resize(bytes, 0);
    field
}

/// Each interval is a first date, the date after the last one, and the instrument.
type Intervals<'a> = &'a [(u32, u32, u32)];

/// DBN metadata, version 2.
fn metadata(symbols: &[(&str, Intervals)]) -> Vec<u8> {
    const SYMBOL_BYTES: usize = 71;
    let mut rest = text("XTST.BOOK", 16);
    rest.extend([0; 2 + 3 * 8]); // schema mbo, start, end, limit
    rest.extend([1, 0, 0]); // from raw symbols to instruments
    rest.extend((SYMBOL_BYTES as u16).to_le_bytes());
    rest.extend([0; 53 + 4]);
    rest.extend((symbols.len() as u32).to_le_bytes());
    symbols.iter().for_each(|(symbol, _)| rest.extend(text(symbol, SYMBOL_BYTES)));
    rest.extend([0; 2 * 4]); // no symbol is partial or not found
    rest.extend((symbols.len() as u32).to_le_bytes());
    for (symbol, intervals) in symbols {
        rest.extend(text(symbol, SYMBOL_BYTES));
        rest.extend((intervals.len() as u32).to_le_bytes());
        for (start_date, end_date, instrument_id) in *intervals {
            rest.extend(start_date.to_le_bytes());
            rest.extend(end_date.to_le_bytes());
            rest.extend(text(&instrument_id.to_string(), SYMBOL_BYTES));
        }
    }
    let mut whole = b"DBN\x02".to_vec();
    whole.extend((rest.len() as u32).to_le_bytes());
    whole.extend(rest);
    whole
}

/// The symbols of a bus with that metadata.
fn symbols_of(metadata: Vec<u8>) -> (Symbols, TempDir) {
    let bus = tempfile::tempdir().unwrap();
    let options = PublisherOptions::new(bus.path()).schema_name("dbn.mbo").metadata(metadata);
    let _publisher = Publisher::open(&options, FOREVER).unwrap();
    (Symbols::open(bus.path()).unwrap(), bus)
}

/// ES is 7 until June, and 9 from then on; NQ is 8.
fn two_symbols() -> (Symbols, TempDir) {
    symbols_of(metadata(&[
        ("ES", &[(20240101, 20240601, 7), (20240601, 20250101, 9)]),
        ("NQ", &[(20240101, 20250101, 8)]),
    ]))
}

fn mapping(symbol: &str, instrument_id: u32, start_date: u32, end_date: u32) -> SymbolMapping {
    SymbolMapping { symbol: symbol.to_owned(), instrument_id, start_date, end_date }
}

#[test]
fn a_symbol_is_another_instrument_from_the_date_of_its_next_mapping_on() {
    let (symbols, _bus) = two_symbols();
    assert_eq!(symbols.find("ES", MAY_2024).unwrap(), Some(7));
    assert_eq!(symbols.find("ES", JULY_2024).unwrap(), Some(9));
    let first = mapping("ES", 7, 20240101, 20240601);
    assert_eq!(symbols.name(7, MAY_2024).unwrap(), Some(first));
}

#[test]
fn an_unknown_symbol_and_an_unknown_instrument_are_none() {
    let (symbols, _bus) = two_symbols();
    assert_eq!(symbols.find("YM", MAY_2024).unwrap(), None);
    assert_eq!(symbols.name(77, MAY_2024).unwrap(), None);
}

#[test]
fn the_list_has_every_mapping_by_symbol_and_date() {
    let (symbols, _bus) = two_symbols();
    let all = [
        mapping("ES", 7, 20240101, 20240601),
        mapping("ES", 9, 20240601, 20250101),
        mapping("NQ", 8, 20240101, 20250101),
    ];
    assert_eq!(symbols.list().unwrap(), all);

    let names: Vec<String> = (0..100).map(|n| format!("S{n:03}")).collect();
    let intervals: Vec<[(u32, u32, u32); 1]> =
        (0..100).map(|n| [(20240101, 20250101, n + 1)]).collect();
    let many: Vec<(&str, Intervals)> =
        names.iter().zip(&intervals).map(|(name, one)| (name.as_str(), &one[..])).collect();
    let (symbols, _bus) = symbols_of(metadata(&many));
    assert!(symbols.list().unwrap().iter().map(|one| one.instrument_id).eq(1..=100));
}

#[test]
fn a_feed_without_metadata_has_no_symbols() {
    let (symbols, _bus) = symbols_of(Vec::new());
    assert_eq!(symbols.list().unwrap(), []);
    assert_eq!(symbols.find("ES", MAY_2024).unwrap(), None);
}
