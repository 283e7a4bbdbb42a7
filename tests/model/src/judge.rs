//! Runs a protocol and its wrong variants, and checks that each has the expected result.
//!
//! Three kinds of false results are excluded:
//! - A wrong variant counts as caught only if loom found the failure named in its row. A failure of
//!   the model itself (an endless loop, an error in a table) is not a catch.
//! - A right form counts as passed only if its events of interest occurred. A model in which the
//!   dangerous interleaving cannot happen is void.
//! - Time and the number of executions are not limited, because loom reports success when it
//!   reaches such a limit.

use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{catch_unwind, set_hook, take_hook, AssertUnwindSafe};
use std::sync::{Arc, Mutex, Once};

/// Loom's text for a deadlock: no thread can continue, because one sleeps and will never be woken.
pub const LOST_WAKE_UP: &str = "deadlock";
/// Loom's text for an unordered read and write of plain memory.
pub const DATA_RACE: &str = "Causality violation";

/// An execution with more switches than this contains an endless loop. Loom reports it and fails.
const SWITCHES_MAX: usize = 10_000;

/// Counts the occurrences of events over all executions of a model.
#[derive(Clone, Default)]
pub struct Sightings(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Sightings {
    pub fn saw(&self, event: &'static str) {
        *self.0.lock().unwrap().entry(event).or_default() += 1;
    }

    fn count(&self, event: &'static str) -> u64 {
        self.0.lock().unwrap().get(event).copied().unwrap_or(0)
    }
}

#[derive(Clone, Copy)]
enum Expected {
    Passes { having_seen: &'static [&'static str] },
    Caught { by: &'static str },
}

/// One row of a protocol's table.
#[derive(Clone, Copy)]
pub struct Case<V> {
    name: &'static str,
    variant: V,
    expected: Expected,
}

/// A form that must pass, and events that must occur for this to be meaningful.
pub fn right<V>(name: &'static str, variant: V, having_seen: &'static [&'static str]) -> Case<V> {
    Case { name, variant, expected: Expected::Passes { having_seen } }
}

/// A form that must be caught, and text from the failure that must catch it.
pub fn wrong<V>(name: &'static str, variant: V, by: &'static str) -> Case<V> {
    Case { name, variant, expected: Expected::Caught { by } }
}

/// The depth of exploration. The values that an atomic load may return are never restricted.
#[derive(Clone, Copy)]
pub enum Depth {
    Exhaustive,
    /// Only executions in which at most this many running threads are interrupted.
    Preemptions(usize),
}

/// Runs every case, prints a row for each, and panics if a result is unexpected.
pub fn judge<V>(claim: &str, depth: Depth, model: fn(V, &Sightings), cases: &[Case<V>])
where
    V: Copy + Send + Sync + 'static,
{
    let verdicts: Vec<Verdict> = cases.iter().map(|case| examine(depth, model, case)).collect();

    let mut table = match depth {
        Depth::Exhaustive => format!("\n{claim}\n  (every execution)\n"),
        Depth::Preemptions(limit) => {
            format!("\n{claim}\n  (every execution with at most {limit} preemptions)\n")
        }
    };
    for (case, verdict) in cases.iter().zip(&verdicts) {
        let mark = if verdict.good { "ok " } else { "BAD" };
        table += &format!("  {mark} {:<44} {}\n", case.name, verdict.finding);
    }
    println!("{table}");

    let bad_count = verdicts.iter().filter(|verdict| !verdict.good).count();
    assert_eq!(bad_count, 0, "{claim}: {bad_count} of {} rows are BAD", cases.len());
}

struct Verdict {
    good: bool,
    finding: String,
}

fn examine<V>(depth: Depth, model: fn(V, &Sightings), case: &Case<V>) -> Verdict
where
    V: Copy + Send + Sync + 'static,
{
    let seen = Sightings::default();
    let (executions, failure) = explore(depth, model, case.variant, &seen);
    let (good, finding) = match (case.expected, failure) {
        (Expected::Passes { having_seen }, None) => {
            let is_void = having_seen.iter().any(|event| seen.count(event) == 0);
            let counts: Vec<String> =
                having_seen.iter().map(|event| format!("{event} {}", seen.count(event))).collect();
            let verdict = if is_void { "VOID, an event was never seen" } else { "passes" };
            (!is_void, format!("{verdict}: {executions} executions; {}", counts.join(", ")))
        }
        (Expected::Passes { .. }, Some(failure)) => {
            (false, format!("FAILS in execution {executions}: {failure}"))
        }
        (Expected::Caught { by }, Some(failure)) if failure.contains(by) => {
            (true, format!("caught in execution {executions}: {failure}"))
        }
        (Expected::Caught { by }, Some(failure)) => {
            (false, format!("FAILS, but not by \"{by}\": {failure}"))
        }
        (Expected::Caught { .. }, None) => {
            (false, format!("NOT CAUGHT in {executions} executions"))
        }
    };
    Verdict { good, finding }
}

/// Returns the number of executions, and the failure of the last one if there was one.
fn explore<V>(
    depth: Depth,
    model: fn(V, &Sightings),
    variant: V,
    seen: &Sightings,
) -> (u64, Option<String>)
where
    V: Copy + Send + Sync + 'static,
{
    let mut checker = loom::model::Builder::new();
    checker.max_branches = SWITCHES_MAX;
    checker.max_duration = None;
    checker.max_permutations = None;
    checker.preemption_bound = match depth {
        Depth::Exhaustive => None,
        Depth::Preemptions(limit) => Some(limit),
    };

    const EXECUTIONS: &str = "executions";
    let counter = Sightings::default();
    let failure = failure_of(|| {
        let (counter, seen) = (counter.clone(), seen.clone());
        checker.check(move || {
            counter.saw(EXECUTIONS);
            model(variant, &seen);
        });
    });
    (counter.count(EXECUTIONS), failure)
}

thread_local! {
    static IS_EXPLORING: Cell<bool> = const { Cell::new(false) };
}

/// Runs `body` and returns its panic message, if any. Such a panic is a finding: it is printed in
/// the table, without a backtrace on standard error.
fn failure_of(body: impl FnOnce()) -> Option<String> {
    static SILENCE_FINDINGS: Once = Once::new();
    SILENCE_FINDINGS.call_once(|| {
        let report = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_EXPLORING.get() {
                report(panic);
            }
        }));
    });

    IS_EXPLORING.set(true);
    let result = catch_unwind(AssertUnwindSafe(body));
    IS_EXPLORING.set(false);
    result.err().map(|payload| headline(payload.as_ref()))
}

/// The first line of a panic's message, without loom's list of threads.
fn headline(payload: &(dyn Any + Send)) -> String {
    let message = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message");
    let line = message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.split("; threads").next().unwrap_or_default().trim().to_string()
}

// Tests of the judge: each of these would accept a broken protocol.

fn passes(_: (), seen: &Sightings) {
    seen.saw("something");
}

fn fails(_: (), _: &Sightings) {
    panic!("a finding");
}

fn never_ends(_: (), _: &Sightings) {
    loop {
        loom::thread::yield_now();
    }
}

fn is_good(model: fn((), &Sightings), case: Case<()>) -> bool {
    examine(Depth::Exhaustive, model, &case).good
}

#[test]
fn a_right_form_is_good_only_if_it_passes() {
    assert!(is_good(passes, right("", (), &["something"])));
    assert!(!is_good(fails, right("", (), &[])));
}

#[test]
fn a_right_form_that_never_saw_the_event_of_interest_is_void() {
    assert!(!is_good(passes, right("", (), &["something", "something else"])));
}

#[test]
fn a_wrong_variant_is_good_only_if_it_is_caught_by_the_failure_that_is_named() {
    assert!(is_good(fails, wrong("", (), "a finding")));
    assert!(!is_good(fails, wrong("", (), "another finding")));
    assert!(!is_good(passes, wrong("", (), "a finding")));
}

#[test]
fn a_model_that_never_ends_is_not_a_catch() {
    assert!(!is_good(never_ends, wrong("", (), LOST_WAKE_UP)));
    assert!(!is_good(never_ends, wrong("", (), DATA_RACE)));
}
