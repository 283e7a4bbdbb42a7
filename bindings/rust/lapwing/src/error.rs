//! Errors returned by the library's calls.

use std::ffi::{c_char, CStr};
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::ptr::addr_of_mut;

use lapwing_sys as sys;

pub type Result<T> = std::result::Result<T, Error>;

/// Defines [`Code`] from the numbers in lapwing.h and the names in Lapwing's documentation.
macro_rules! codes {
    ($($(#[$about:meta])* $variant:ident = $number:ident, $name:literal;)*) => {
        /// The kind of an error.
        ///
        /// A number from a later library that this crate does not know is [`Code::Unknown`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[$about])* $variant,)*
            /// An error of a later library, with its number.
            Unknown(i32),
        }

        impl Code {
            /// Returns the code of a number in lapwing.h.
            pub const fn from_number(number: i32) -> Code {
                $(if number == sys::$number as i32 {
                    return Code::$variant;
                })*
                Code::Unknown(number)
            }

            /// Returns the number in lapwing.h.
            pub const fn number(self) -> i32 {
                match self {
                    $(Code::$variant => sys::$number as i32,)*
                    Code::Unknown(number) => number,
                }
            }

            /// Returns the name in Lapwing's documentation, for example `timed-out`. If this crate
            /// does not know the code, the library provides the name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Code::$variant => $name,)*
                    Code::Unknown(number) => name_in_library(number),
                }
            }
        }

        #[cfg(test)]
        const CODES: &[Code] = &[$(Code::$variant),*];
    };
}

codes! {
    /// The arguments contradict each other or exceed a limit.
    InvalidArgument = LAPWING_ERROR_INVALID_ARGUMENT, "invalid-argument";
    /// No bus is in this directory, or no channel at this path.
    NoBus = LAPWING_ERROR_NO_BUS, "no-bus";
    /// Another process uses this bus, journal, path or cursor.
    InUse = LAPWING_ERROR_IN_USE, "in-use";
    /// Refused by the kernel or by an ownership check.
    NotPermitted = LAPWING_ERROR_NOT_PERMITTED, "not-permitted";
    /// The disk or the tmpfs is full.
    NoSpace = LAPWING_ERROR_NO_SPACE, "no-space";
    /// Any other failed system call: [`Error::errno`].
    System = LAPWING_ERROR_SYSTEM, "system";
    /// Durable bytes differ from those that were written.
    Damaged = LAPWING_ERROR_DAMAGED, "damaged";
    /// The other side, or the library, has another ABI version.
    AbiMismatch = LAPWING_ERROR_ABI_MISMATCH, "abi-mismatch";
    /// The path is another kind of file or directory.
    NotALapwingFile = LAPWING_ERROR_NOT_A_LAPWING_FILE, "not-a-lapwing-file";
    /// The journal failed: its first failed write or sync.
    JournalFailed = LAPWING_ERROR_JOURNAL_FAILED, "journal-failed";
    /// This bus keeps no journal.
    NoJournal = LAPWING_ERROR_NO_JOURNAL, "no-journal";
    /// The journal no longer keeps that sequence.
    Pruned = LAPWING_ERROR_PRUNED, "pruned";
    /// The timeout passed while the call waited.
    TimedOut = LAPWING_ERROR_TIMED_OUT, "timed-out";
    /// The publisher ended without closing.
    PublisherGone = LAPWING_ERROR_PUBLISHER_GONE, "publisher-gone";
    /// The other side refused the connection.
    Refused = LAPWING_ERROR_REFUSED, "refused";
    /// The other side violates the protocol.
    Protocol = LAPWING_ERROR_PROTOCOL, "protocol";
    /// Bytes violate their format.
    BadInput = LAPWING_ERROR_BAD_INPUT, "bad-input";
    /// Records of this size or type do not fit this bus.
    RecordSize = LAPWING_ERROR_RECORD_SIZE, "record-size";
    /// A path is too long for a socket or a frame.
    PathTooLong = LAPWING_ERROR_PATH_TOO_LONG, "path-too-long";
    /// Closed cleanly.
    Closed = LAPWING_ERROR_CLOSED, "closed";
    /// A stored position belongs to a discarded journal.
    Reset = LAPWING_ERROR_RESET, "reset";
    /// Not supported by this kernel, container or file system.
    Unsupported = LAPWING_ERROR_UNSUPPORTED, "unsupported";
    /// A named limit is exhausted.
    Limit = LAPWING_ERROR_LIMIT, "limit";
    /// A file, schema, sequence, or the library, does not exist.
    NotFound = LAPWING_ERROR_NOT_FOUND, "not-found";
    /// There was a gap, and the policy is to stop at one.
    StoppedAtGap = LAPWING_ERROR_STOPPED_AT_GAP, "stopped-at-gap";
    /// A channel's other side has ended.
    PeerGone = LAPWING_ERROR_PEER_GONE, "peer-gone";
    /// A channel's other side wrote invalid data.
    Corrupt = LAPWING_ERROR_CORRUPT, "corrupt";
    /// Nothing is available, and the call does not wait.
    WouldBlock = LAPWING_ERROR_WOULD_BLOCK, "would-block";
    /// A call was used incorrectly and had no effect.
    Misuse = LAPWING_ERROR_MISUSE, "misuse";
    /// An [`Interrupter`](crate::Interrupter) ended the wait.
    Interrupted = LAPWING_ERROR_INTERRUPTED, "interrupted";
    /// The buffer is too small for a row or message; none was taken.
    TooSmall = LAPWING_ERROR_TOO_SMALL, "too-small";
    /// No memory is left.
    NoMemory = LAPWING_ERROR_NO_MEMORY, "no-memory";
    /// The handle belongs to the parent of this forked process.
    Forked = LAPWING_ERROR_FORKED, "forked";
    /// An event comes before the next record: read it.
    EventDue = LAPWING_ERROR_EVENT_DUE, "event-due";
    /// The publisher did not answer while the subscriber joined. The subscriber has ended.
    NoAnswer = LAPWING_ERROR_NO_ANSWER, "no-answer";
}

fn name_in_library(number: i32) -> &'static str {
    match sys::library() {
        // SAFETY: the call returns static text for every number.
        Ok(library) => unsafe { CStr::from_ptr(library.lapwing_error_name(number)) }
            .to_str()
            .unwrap_or("unknown"),
        Err(_) => "unknown",
    }
}

impl Code {
    /// Whether the same call may succeed later: a wait ended, and the call had no other effect.
    pub fn is_transient(self) -> bool {
        matches!(self, Code::TimedOut | Code::WouldBlock | Code::Interrupted)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The reason why a call failed.
#[derive(Clone, Debug)]
pub struct Error {
    code: Code,
    errno: i32,
    progress: u64,
    message: Box<str>,
}

impl Error {
    pub fn code(&self) -> Code {
        self.code
    }

    pub fn number(&self) -> i32 {
        self.code.number()
    }

    pub fn name(&self) -> &'static str {
        self.code.name()
    }

    /// Error number of the system call that failed.
    pub fn errno(&self) -> Option<i32> {
        (self.errno != 0).then_some(self.errno)
    }

    /// A message: what happened, where, and what to do next. Empty if the name is enough.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The progress of the call before it failed. After `publish`: the sequence of the last record
    /// that it published. After `send`: the number of messages that it sent. 0: none.
    pub fn progress(&self) -> u64 {
        self.progress
    }

    pub(crate) fn new(code: Code, message: impl Into<Box<str>>) -> Error {
        Error { code, errno: 0, progress: 0, message: message.into() }
    }

    pub(crate) fn bare(result: sys::lapwing_result) -> Error {
        Error::new(Code::from_number(result), "")
    }

    pub(crate) fn with_progress(self, progress: u64) -> Error {
        Error { progress, ..self }
    }

    #[cold]
    fn from_c(result: sys::lapwing_result, errno: i32, message: &CStr) -> Error {
        // These are frequent. Their names are sufficient, and an empty message needs no allocation.
        let code = Code::from_number(result);
        let message = match code {
            Code::EventDue => "".into(),
            code if code.is_transient() => "".into(),
            _ => message.to_string_lossy().into(),
        };
        Error { code, errno, progress: 0, message }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.message {
            "" => f.write_str(self.name()),
            message => write!(f, "{}: {message}", self.name()),
        }
    }
}

impl std::error::Error for Error {}

impl From<&sys::LoadError> for Error {
    fn from(error: &sys::LoadError) -> Error {
        Error::new(Code::from_number(error.code), error.message.as_str())
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        let kind = match error.code {
            Code::InvalidArgument | Code::Misuse => io::ErrorKind::InvalidInput,
            Code::NoBus | Code::NotFound => io::ErrorKind::NotFound,
            Code::NotPermitted => io::ErrorKind::PermissionDenied,
            Code::TimedOut => io::ErrorKind::TimedOut,
            Code::WouldBlock => io::ErrorKind::WouldBlock,
            Code::Interrupted => io::ErrorKind::Interrupted,
            Code::Closed => io::ErrorKind::UnexpectedEof,
            Code::Refused => io::ErrorKind::ConnectionRefused,
            Code::PeerGone | Code::PublisherGone => io::ErrorKind::ConnectionAborted,
            Code::Unsupported => io::ErrorKind::Unsupported,
            Code::NoMemory => io::ErrorKind::OutOfMemory,
            Code::Damaged | Code::BadInput | Code::Corrupt => io::ErrorKind::InvalidData,
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}

/// Returns the library, or the reason why it could not be loaded.
pub(crate) fn library() -> Result<&'static sys::Lapwing> {
    sys::library().map_err(Error::from)
}

/// Makes a call, and converts its result and its error to a `Result`.
#[inline]
pub(crate) fn check(
    call: impl FnOnce(*mut sys::lapwing_error) -> sys::lapwing_result,
) -> Result<()> {
    // Initialise only the members that are read: the message is half a kilobyte.
    let mut place = MaybeUninit::<sys::lapwing_error>::uninit();
    let error = place.as_mut_ptr();
    // SAFETY: this only writes members of `place`.
    unsafe {
        addr_of_mut!((*error).struct_size).write(size_of::<sys::lapwing_error>() as u32);
        addr_of_mut!((*error).code).write(0);
        addr_of_mut!((*error).sys_errno).write(0);
        addr_of_mut!((*error).reserved).write(0);
        addr_of_mut!((*error).message).cast::<c_char>().write(0);
    }
    let result = call(error);
    if result == sys::LAPWING_OK as sys::lapwing_result {
        return Ok(());
    }
    // SAFETY: the members were written above or by the library, and the message ends with a zero.
    Err(unsafe {
        let message = CStr::from_ptr(addr_of_mut!((*error).message).cast::<c_char>());
        Error::from_c(result, addr_of_mut!((*error).sys_errno).read(), message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_the_number_and_the_name_of_the_library() {
        for (number, &code) in (1..).zip(CODES) {
            assert_eq!((code.number(), Code::from_number(number)), (number, code));
            assert_eq!(code.name(), name_in_library(number));
        }
    }

    #[test]
    fn the_library_has_no_code_that_the_crate_lacks() {
        let next = CODES.len() as i32 + 1;
        assert_eq!(name_in_library(next), "unknown");
    }

    #[test]
    fn a_number_that_is_not_known_stays_what_it_is() {
        for number in [i32::MIN, -1, 0, 36, i32::MAX] {
            assert_eq!(Code::from_number(number), Code::Unknown(number));
            assert_eq!(Code::from_number(number).number(), number);
        }
    }
}
