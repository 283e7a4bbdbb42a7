//! Tests that bindings.rs is what bindgen generates from the current header.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

fn header() -> String {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../include/lapwing.h");
    let path = std::env::var_os("LAPWING_HEADER").map_or(beside, PathBuf::from);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn without_comments(text: &str) -> String {
    text.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, code)| code)).collect()
}

/// Names in `text` that begin with `prefix`. If `call` is set, only those that are called.
fn names(text: &str, prefix: &str, call: bool) -> BTreeSet<String> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices(prefix) {
        let rest = &text[at..];
        let name = &rest[..rest.find(|c| !is_of_name(c)).unwrap_or(rest.len())];
        let stands_alone = !text[..at].ends_with(is_of_name);
        if stands_alone && (!call || rest[name.len()..].starts_with('(')) {
            found.insert(name.to_owned());
        }
    }
    found
}

#[test]
fn every_function_of_the_header_is_bound() {
    let bindings = include_str!("../src/bindings.rs");
    let functions = names(&without_comments(&header()), "lapwing_", true);
    assert!(functions.len() >= 65, "{} functions in the header", functions.len());
    for function in functions {
        assert!(
            bindings.contains(&format!("pub unsafe fn {function}(")),
            "{function} is not bound"
        );
    }
}

#[test]
fn every_number_of_the_header_is_bound() {
    let bindings = include_str!("../src/bindings.rs");
    let macros = ["LAPWING_H", "LAPWING_API", "LAPWING_API_V"];
    let in_lib = ["LAPWING_FOREVER", "LAPWING_NEVER", "LAPWING_ON_REQUEST"];
    for number in names(&without_comments(&header()), "LAPWING_", false) {
        let is_macro = macros.contains(&number.as_str()) || number.ends_with("_OPTIONS_INIT");
        if !is_macro && !in_lib.contains(&number.as_str()) {
            assert!(bindings.contains(&format!("pub const {number}:")), "{number} is not bound");
        }
    }
}

/// The members of each struct, in order.
fn structs(text: &str, begin: &str, end_of_member: char) -> BTreeMap<String, Vec<String>> {
    let name_at_end = |text: &str| {
        let start =
            text.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |i| i + 1);
        text[start..].trim_end_matches('_').to_owned() // `type` is a Rust keyword
    };
    let mut found = BTreeMap::new();
    for part in text.split(begin).skip(1) {
        let Some((name, rest)) = part.split_once(" {") else { continue };
        let Some((body, _)) = rest.split_once('}') else { continue };
        let members = body
            .split(end_of_member)
            .map(|member| member.split(['[', ':']).next().unwrap_or("").trim())
            .filter(|member| !member.is_empty())
            .map(name_at_end);
        if !name.contains(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            found.insert(name.to_owned(), members.collect());
        }
    }
    found
}

#[test]
fn every_struct_has_the_members_of_the_header() {
    let declared = structs(&without_comments(&header()), "typedef struct ", ';');
    // bindgen writes each member as `pub name: type,` on its own line.
    let bindings = include_str!("../src/bindings.rs").replace(",\n", "\n");
    let bound = structs(&bindings, "pub struct ", '\n');
    assert!(declared.len() >= 20, "{} structs in the header", declared.len());
    for (name, members) in declared {
        assert_eq!(bound.get(&name), Some(&members), "{name}");
    }
}
