//! The answer to a step: one line or more.

use std::fmt;
use std::sync::LazyLock;

use lapwing::{Code, Error};

pub type Answer = Result<String, Failure>;

/// An answer that does not begin with `ok`.
pub enum Failure {
    /// The driver does not know the operation or a value.
    Unsupported,
    /// The error code, and a pair with the progress made before the error.
    Result(Code, String),
}

impl Failure {
    /// The error for a use that does not compile in Rust. Other languages get it from the library.
    pub fn misuse() -> Failure {
        Failure::Result(Code::Misuse, String::new())
    }

    /// Adds these pairs if the failure has none.
    pub fn or(self, pairs: &str) -> Failure {
        match self {
            Failure::Result(code, none) if none.is_empty() => {
                Failure::Result(code, pairs.to_owned())
            }
            other => other,
        }
    }

    pub fn with(self, pairs: String) -> Failure {
        match self {
            Failure::Result(code, _) => Failure::Result(code, pairs),
            unsupported => unsupported,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Result(error.code(), String::new())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Unsupported => f.write_str("unsupported-step"),
            Failure::Result(code, pairs) if pairs.is_empty() => f.write_str(name_of(*code)),
            Failure::Result(code, pairs) => write!(f, "{} {pairs}", name_of(*code)),
        }
    }
}

/// If LAPWING_CONFORMANCE_BREAK is set, two names are swapped, to test that comparisons can fail.
pub fn name_of(code: Code) -> &'static str {
    static BREAKS: LazyLock<bool> =
        LazyLock::new(|| std::env::var_os("LAPWING_CONFORMANCE_BREAK").is_some());
    match code {
        Code::TimedOut if *BREAKS => Code::WouldBlock.name(),
        Code::WouldBlock if *BREAKS => Code::TimedOut.name(),
        code => code.name(),
    }
}

pub fn ok() -> Answer {
    Ok("ok".to_owned())
}
