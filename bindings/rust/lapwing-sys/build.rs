//! Finds liblapwing.so.1 for src/lib.rs, which loads it at run time. Nothing is linked, so the
//! crate builds on a machine without the library.
//!
//! Feature `bundled`: builds the library with cmake, from the source tree around this crate.

use std::path::PathBuf;

const LIBRARY: &str = "liblapwing.so.1";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let own = bundled().map(|path| path.display().to_string()).unwrap_or_default();
    let system = installed().map(|path| path.display().to_string()).unwrap_or_default();
    println!("cargo:rustc-env=LAPWING_SYS_OWN={own}");
    println!("cargo:rustc-env=LAPWING_SYS_SYSTEM={system}");
}

/// The library that pkg-config reports. Its prefix may be unknown to the dynamic linker.
fn installed() -> Option<PathBuf> {
    let found = pkg_config::Config::new().cargo_metadata(false).probe("lapwing").ok()?;
    found.link_paths.iter().map(|path| path.join(LIBRARY)).find(|path| path.exists())
}

#[cfg(not(feature = "bundled"))]
fn bundled() -> Option<PathBuf> {
    None
}

/// The folders and files that the library is built from.
#[cfg(feature = "bundled")]
const ROOMS: &[&str] = &[
    "CMakeLists.txt",
    "bindings/c",
    "bus",
    "channel",
    "cmake",
    "include",
    "os",
    "proto",
    "publisher",
    "snapshot",
    "subscribers",
    "wait_set",
];

#[cfg(feature = "bundled")]
fn bundled() -> Option<PathBuf> {
    let sources = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../..");
    for room in ROOMS {
        println!("cargo:rerun-if-changed={}", sources.join(room).display());
    }
    let built = cmake::Config::new(sources)
        .generator("Ninja")
        .profile("RelWithDebInfo")
        .define("LAPWING_BUILD_TESTS", "OFF")
        .define("LAPWING_BUILD_BENCH", "OFF")
        .define("LAPWING_BUILD_PROGRAM", "OFF")
        .define("LAPWING_WARNINGS_ARE_ERRORS", "OFF")
        .build_target("lapwing_c")
        .build();
    let library = built.join("build").join(LIBRARY);
    assert!(library.exists(), "cmake built no {}", library.display());
    Some(library)
}
