//! Tests the library: its version, its log, and the errors when it is missing.

use lapwing::{log, Publisher, PublisherOptions, FOREVER};
use std::env;
use std::process::Command;
use std::sync::{Arc, Mutex};

#[test]
fn the_version_has_the_abi_of_this_crate() {
    let version = lapwing::version().unwrap();
    assert_eq!(version.abi_major, 1);
    assert!(!version.release.is_empty());
    assert_eq!(lapwing::Code::from_number(13).name(), "timed-out");
    assert_eq!(lapwing::Code::from_number(1000).name(), "unknown");
}

/// Runs one of this file's ignored tests in a process with that library.
fn run_with_library(path: &str, test: &str) {
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env("LAPWING_LIBRARY", path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{output:?}");
}

#[test]
fn a_library_that_is_not_there_or_not_lapwing_is_refused_in_words() {
    run_with_library("/nowhere/liblapwing.so.1", "child_without_a_library");
    run_with_library("libc.so.6", "child_with_another_library");
}

#[test]
#[ignore = "run by a_library_that_is_not_there_or_not_lapwing_is_refused_in_words"]
fn child_without_a_library() {
    let error = Publisher::open(&PublisherOptions::default(), FOREVER).unwrap_err();
    assert_eq!(error.name(), "not-found");
    assert!(error.message().contains("LAPWING_LIBRARY"), "{error}");
    assert!(error.message().contains("/nowhere/liblapwing.so.1"), "{error}");
}

#[test]
#[ignore = "run by a_library_that_is_not_there_or_not_lapwing_is_refused_in_words"]
fn child_with_another_library() {
    let error = lapwing::version().unwrap_err();
    assert_eq!(error.name(), "not-found");
    assert!(error.message().contains("libc.so.6 has no lapwing_version"), "{error}");
}

/// Makes a publisher log a line: its previous session was not closed.
fn log_something() {
    let bus = tempfile::tempdir().unwrap();
    let options = PublisherOptions::new(bus.path());
    for _ in 0..2 {
        let mut publisher = Publisher::open(&options, FOREVER).unwrap();
        publisher.publish(&[0u8; 56], FOREVER).unwrap();
        publisher.close(FOREVER).unwrap();
    }
}

#[test]
fn log_lines_go_to_a_function_or_a_queue_or_nowhere() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    log::set(move |line| sink.lock().unwrap().push(line.to_owned())).unwrap();
    log_something();
    assert!(!lines.lock().unwrap().is_empty());
    log::queue().unwrap();
    assert_eq!(Arc::strong_count(&lines), 1, "the function is dropped when it was replaced");

    let seen = lines.lock().unwrap().len();
    log_something();
    assert_eq!(lines.lock().unwrap().len(), seen);
    assert!(log::read().unwrap().text.is_some_and(|line| !line.is_empty()));
    log::off().unwrap();
    log_something();
    assert_eq!(log::read().unwrap(), log::Line { text: None, dropped: 0 });
}
