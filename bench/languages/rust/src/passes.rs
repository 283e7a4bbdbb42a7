//! Timing of the rates.

use std::time::{Duration, Instant};

use crate::{allocated, Failure, Step};

/// Round trips that are timed together.
const BLOCK: u64 = 1000;

pub struct Timed {
    took: Duration,
    allocated: u64,
}

pub fn timed(work: impl FnOnce() -> Result<(), Failure>) -> Result<Timed, Failure> {
    let (before, start) = (allocated::bytes(), Instant::now());
    work()?;
    Ok(Timed { took: start.elapsed(), allocated: allocated::bytes() - before })
}

pub struct Rate {
    /// The median pass, in ns per record.
    pub ns: f64,
    /// Bytes allocated per record, in all passes.
    pub garbage: f64,
}

/// Runs the number of passes in the step, after one pass as a warm-up.
pub fn rate_of(
    step: &Step,
    records: u64,
    mut pass: impl FnMut() -> Result<Timed, Failure>,
) -> Result<Rate, Failure> {
    let passes: u64 = step.number("passes")?;
    pass()?;
    let all = (0..passes).map(|_| pass()).collect::<Result<Vec<Timed>, Failure>>()?;
    let allocated: u64 = all.iter().map(|one| one.allocated).sum();
    Ok(Rate { ns: median_ns(all, records)?, garbage: allocated as f64 / (passes * records) as f64 })
}

/// The ns per round trip in the median block. The first block is a warm-up.
pub fn round_trip_ns(
    count: u64,
    mut round_trip: impl FnMut() -> Result<(), Failure>,
) -> Result<f64, Failure> {
    let mut block = || timed(|| (0..BLOCK).try_for_each(|_| round_trip()));
    block()?;
    let blocks = count.div_ceil(BLOCK).saturating_sub(1);
    median_ns((0..blocks).map(|_| block()).collect::<Result<_, Failure>>()?, BLOCK)
}

fn median_ns(mut all: Vec<Timed>, records: u64) -> Result<f64, Failure> {
    all.sort_by_key(|one| one.took);
    let median = all.get(all.len() / 2).ok_or("no pass was timed")?;
    Ok(median.took.as_nanos() as f64 / records as f64)
}
