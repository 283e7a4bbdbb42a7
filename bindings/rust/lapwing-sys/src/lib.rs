//! The C interface of [Lapwing](https://docs.rs/lapwing), as bindgen writes it from `lapwing.h`,
//! and the loading of the library. The crate `lapwing` is what programs use.
//!
//! The library is, in this order:
//!
//! 1. the one whose path is in the environment as `LAPWING_LIBRARY`, and then no other;
//! 2. with the feature `bundled` the one that was built with this crate;
//! 3. the one that pkg-config knew when this crate was built;
//! 4. `liblapwing.so.1`, where the dynamic linker finds it.
//!
//! A library of another ABI is refused: see [`LoadError`]. It is never unloaded.

#[allow(non_camel_case_types, clippy::all)]
mod bindings;

pub use bindings::*;

use std::env;
use std::ffi::{c_char, CStr, OsStr, OsString};
use std::fmt;
use std::sync::OnceLock;

/// As a timeout: without end.
pub const LAPWING_FOREVER: i64 = -1;
/// As an option: no time is too long.
pub const LAPWING_NEVER: i64 = -1;
/// As an option: only when a call requests it.
pub const LAPWING_ON_REQUEST: i64 = -1;

const SYSTEM_NAME: &str = "liblapwing.so.1";

/// Why there is no library.
#[derive(Clone, Debug)]
pub struct LoadError {
    /// `LAPWING_ERROR_NOT_FOUND`, or `LAPWING_ERROR_ABI_MISMATCH`.
    pub code: lapwing_result,
    /// A message: what happened, where, and what to do next.
    pub message: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for LoadError {}

impl LoadError {
    fn not_found(message: String) -> LoadError {
        LoadError { code: LAPWING_ERROR_NOT_FOUND as lapwing_result, message }
    }
}

/// The library, which the first call loads. Later calls answer the same.
pub fn library() -> Result<&'static Lapwing, &'static LoadError> {
    static LIBRARY: OnceLock<Result<Lapwing, LoadError>> = OnceLock::new();
    LIBRARY.get_or_init(load).as_ref()
}

fn load() -> Result<Lapwing, LoadError> {
    if let Some(path) = env::var_os("LAPWING_LIBRARY").filter(|path| !path.is_empty()) {
        return open(&path).map_err(|error| LoadError {
            message: format!(
                "LAPWING_LIBRARY names a library that cannot be used ({error}); set it to the path \
                 of {SYSTEM_NAME}"
            ),
            ..error
        });
    }
    let mut tried = Vec::new();
    for name in [env!("LAPWING_SYS_OWN"), env!("LAPWING_SYS_SYSTEM"), SYSTEM_NAME] {
        if name.is_empty() {
            continue;
        }
        match open(OsStr::new(name)) {
            Err(error) if error.code == LAPWING_ERROR_NOT_FOUND as lapwing_result => {
                tried.push(error.message);
            }
            other => return other,
        }
    }
    Err(LoadError::not_found(format!(
        "Lapwing's library is not on this machine ({}); install {SYSTEM_NAME}, or set \
         LAPWING_LIBRARY to its path",
        tried.join("; ")
    )))
}

fn open(name: &OsStr) -> Result<Lapwing, LoadError> {
    let shown = name.to_string_lossy();
    let failed = |error: libloading::Error| LoadError::not_found(error.to_string());
    // SAFETY: the initialisers of liblapwing have no precondition.
    let library = unsafe { libloading::Library::new(OsString::from(name)) }.map_err(failed)?;
    check_abi(&library, &shown)?;
    // SAFETY: the library has the ABI of bindings.rs, so its functions have these types.
    unsafe { Lapwing::from_library(library) }.map_err(failed)
}

fn check_abi(library: &libloading::Library, shown: &str) -> Result<(), LoadError> {
    type Version = unsafe extern "C" fn(*mut u32) -> *const c_char;
    let mut abi = 0;
    // SAFETY: every version of lapwing.h declares lapwing_version so, and the returned string is static.
    let release = unsafe {
        let version = library.get::<Version>(b"lapwing_version\0").map_err(|_| {
            LoadError::not_found(format!("{shown} has no lapwing_version: it is not Lapwing"))
        })?;
        CStr::from_ptr(version(&mut abi)).to_string_lossy()
    };
    judge(abi, &release, shown)
}

#[allow(clippy::absurd_extreme_comparisons)] // while the minor is 0
fn judge(abi: u32, release: &str, shown: &str) -> Result<(), LoadError> {
    let (major, minor) = (abi >> 16, abi & 0xffff);
    if major == LAPWING_ABI_MAJOR && minor >= LAPWING_ABI_MINOR {
        return Ok(());
    }
    Err(LoadError {
        code: LAPWING_ERROR_ABI_MISMATCH as lapwing_result,
        message: format!(
            "{shown} is Lapwing {release} of ABI {major}.{minor}, and this program needs ABI \
             {LAPWING_ABI_MAJOR}.{LAPWING_ABI_MINOR} or a later minor; install the Lapwing that \
             fits, or set LAPWING_LIBRARY to its path"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_major_is_refused_in_words_and_a_later_minor_is_taken() {
        let own = LAPWING_ABI_MAJOR << 16 | LAPWING_ABI_MINOR;
        assert!(judge(own, "0.2.0", "it").is_ok());
        assert!(judge(own + 1, "0.3.0", "it").is_ok());
        for other in [own - 0x10000, own + 0x10000] {
            let error = judge(other, "9.0.0", "/opt/liblapwing.so.1").unwrap_err();
            assert_eq!(error.code, LAPWING_ERROR_ABI_MISMATCH as lapwing_result);
            assert!(error.message.starts_with("/opt/liblapwing.so.1 is Lapwing 9.0.0 of ABI "));
        }
    }
}
