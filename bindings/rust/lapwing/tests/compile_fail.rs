//! Tests that the compiler rejects uses that lapwing.h forbids. The first line of each file in
//! tests/compile_fail contains the expected error code and a part of its message. The rest of the
//! message differs between compilers, so trybuild writes it next to copies of the files.

use std::fs;
use std::path::{Path, PathBuf};

fn copies_of_cases() -> (PathBuf, Vec<String>) {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile_fail");
    let copies = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compile_fail");
    let _ = fs::remove_dir_all(&copies);
    fs::create_dir_all(&copies).unwrap();
    let names: Vec<String> = fs::read_dir(cases)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            fs::copy(&path, copies.join(&name)).unwrap();
            name
        })
        .collect();
    (copies, names)
}

#[test]
fn what_would_be_misuse_does_not_compile() {
    let (copies, names) = copies_of_cases();
    assert!(names.len() >= 16, "{names:?}");
    std::env::set_var("TRYBUILD", "overwrite"); // this process runs no other test
    let cases = trybuild::TestCases::new();
    cases.compile_fail(copies.join("*.rs"));
    drop(cases); // runs the cases; a case that compiles is a failure

    for name in names {
        let case = fs::read_to_string(copies.join(&name)).unwrap();
        let expected = case.lines().next().and_then(|line| line.strip_prefix("// error["));
        let (code, words) = expected.and_then(|expected| expected.split_once("]: ")).unwrap();
        let found = fs::read_to_string(copies.join(&name).with_extension("stderr")).unwrap();
        let errors: Vec<&str> = found.lines().filter(|line| line.starts_with("error")).collect();
        let is_expected =
            |error: &&str| error.starts_with(&format!("error[{code}]: ")) && error.contains(words);
        assert!(!errors.is_empty() && errors.iter().all(is_expected), "{name}:\n{found}");
    }
}
