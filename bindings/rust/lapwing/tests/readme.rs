//! Tests that the README's code matches the example `readme`, which runs, and that it is short.

use std::path::Path;
use std::process::Command;

const README: &str = include_str!("../../README.md");
const EXAMPLE: &str = include_str!("../examples/readme.rs");
/// Maximum number of lines from the options of the subscriber to the end of the loop.
const LOOP_LINES_MAX: usize = 15;

fn trimmed(lines: &str) -> String {
    lines.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

/// The README's Rust code blocks.
fn blocks() -> Vec<&'static str> {
    let after = README.split("```rust\n").skip(1);
    after.map(|rest| rest.split_once("```").unwrap().0).collect()
}

#[test]
fn every_line_of_the_readme_is_compiled() {
    let blocks = blocks();
    assert_eq!(blocks.len(), 2, "the lines of the README, and the struct");
    let example = trimmed(EXAMPLE);
    let parts = blocks.iter().flat_map(|block| block.split("\n\n"));
    for part in parts {
        assert!(example.contains(trimmed(part).trim()), "not in examples/readme.rs:\n{part}");
    }
}

#[test]
fn the_main_loop_has_few_lines() {
    let lines: Vec<&str> = blocks()[0].lines().collect();
    let begin = lines.iter().position(|line| line.starts_with("let options")).unwrap();
    let end = lines.iter().rposition(|&line| line == "}").unwrap();
    let count = end - begin + 1;
    assert!((5..=LOOP_LINES_MAX).contains(&count), "{count} lines");
    assert_eq!(lines.iter().filter(|line| line.contains("Item::Event")).count(), 1);
}

#[test]
fn the_lines_of_the_readme_run() {
    let directory = tempfile::tempdir().unwrap();
    let tests = std::env::current_exe().unwrap();
    let example = tests.parent().and_then(Path::parent).unwrap().join("examples/readme");
    let output = Command::new(example).current_dir(directory.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(lines, ["session 1", "1", "caught-up 1", "closed 1"], "{text}");
    assert!(text.contains("1: 10 at 4500.25"), "{text}");
}
