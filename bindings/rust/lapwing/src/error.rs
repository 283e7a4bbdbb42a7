//! What a call of the library ends with where it does not succeed.

use std::ffi::{c_char, CStr};
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::ptr::addr_of_mut;

use lapwing_sys as sys;

pub type Result<T> = std::result::Result<T, Error>;

/// The kind of an error. A later release may add some; their names are in the library.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(i32);

macro_rules! codes {
    ($($name:ident = $number:ident: $about:literal,)*) => {
        impl Code {
            $(#[doc = $about] pub const $name: Code = Code(sys::$number as i32);)*
        }
    };
}

codes! {
    INVALID_ARGUMENT = LAPWING_ERROR_INVALID_ARGUMENT: "The arguments contradict each other or a limit.",
    NO_BUS = LAPWING_ERROR_NO_BUS: "No bus is at this directory, or no such channel.",
    IN_USE = LAPWING_ERROR_IN_USE: "Another process holds this bus, journal, path or cursor.",
    NOT_PERMITTED = LAPWING_ERROR_NOT_PERMITTED: "The kernel or an ownership check said no.",
    NO_SPACE = LAPWING_ERROR_NO_SPACE: "The disk or the tmpfs is full.",
    SYSTEM = LAPWING_ERROR_SYSTEM: "Any other failed system call: [`Error::errno`].",
    DAMAGED = LAPWING_ERROR_DAMAGED: "Durable bytes are not what was written.",
    ABI_MISMATCH = LAPWING_ERROR_ABI_MISMATCH: "The other side, or the library, speaks another version.",
    NOT_A_LAPWING_FILE = LAPWING_ERROR_NOT_A_LAPWING_FILE: "Something of another kind stands there.",
    JOURNAL_FAILED = LAPWING_ERROR_JOURNAL_FAILED: "The journal's first failed write or sync.",
    NO_JOURNAL = LAPWING_ERROR_NO_JOURNAL: "This bus keeps no journal.",
    PRUNED = LAPWING_ERROR_PRUNED: "The journal no longer keeps that sequence.",
    TIMED_OUT = LAPWING_ERROR_TIMED_OUT: "The timeout passed while the call waited.",
    PUBLISHER_GONE = LAPWING_ERROR_PUBLISHER_GONE: "The publisher ended without closing.",
    REFUSED = LAPWING_ERROR_REFUSED: "The other side refused the connection.",
    PROTOCOL = LAPWING_ERROR_PROTOCOL: "The other side violates the protocol.",
    BAD_INPUT = LAPWING_ERROR_BAD_INPUT: "Bytes are not what their format says.",
    RECORD_SIZE = LAPWING_ERROR_RECORD_SIZE: "Records of this size or type do not fit this bus.",
    PATH_TOO_LONG = LAPWING_ERROR_PATH_TOO_LONG: "A path exceeds what a socket or a frame can carry.",
    CLOSED = LAPWING_ERROR_CLOSED: "Closed cleanly.",
    RESET = LAPWING_ERROR_RESET: "A stored position is of a history that is gone.",
    UNSUPPORTED = LAPWING_ERROR_UNSUPPORTED: "This kernel, container or file system cannot do it.",
    LIMIT = LAPWING_ERROR_LIMIT: "A named limit is exhausted.",
    NOT_FOUND = LAPWING_ERROR_NOT_FOUND: "A file, schema, sequence, or the library, is missing.",
    STOPPED_AT_GAP = LAPWING_ERROR_STOPPED_AT_GAP: "There was a gap, and the policy was to end at one.",
    PEER_GONE = LAPWING_ERROR_PEER_GONE: "A channel's other side has ended.",
    CORRUPT = LAPWING_ERROR_CORRUPT: "A channel's other side wrote what is not allowed.",
    WOULD_BLOCK = LAPWING_ERROR_WOULD_BLOCK: "Nothing is there now, and the call was not to wait.",
    MISUSE = LAPWING_ERROR_MISUSE: "The call cannot be right; it had no effect.",
    INTERRUPTED = LAPWING_ERROR_INTERRUPTED: "An [`Interrupter`](crate::Interrupter) ended the wait.",
    TOO_SMALL = LAPWING_ERROR_TOO_SMALL: "The memory holds no row or message; none was taken.",
    NO_MEMORY = LAPWING_ERROR_NO_MEMORY: "There is no memory left.",
    FORKED = LAPWING_ERROR_FORKED: "The handle belongs to the parent of this forked process.",
    EVENT_DUE = LAPWING_ERROR_EVENT_DUE: "An event stands before the next record: read it.",
    NO_ANSWER = LAPWING_ERROR_NO_ANSWER: "The publisher did not answer a join: the end of the subscriber.",
}

impl Code {
    /// The code of that number. Its name is `unknown` where there is none.
    pub const fn from_number(number: i32) -> Code {
        Code(number)
    }

    pub const fn number(self) -> i32 {
        self.0
    }

    /// As in the documents of Lapwing, `timed-out` for example.
    pub fn name(self) -> &'static str {
        match sys::library() {
            // SAFETY: returns static text for every number.
            Ok(library) => unsafe { CStr::from_ptr(library.lapwing_error_name(self.0)) }
                .to_str()
                .unwrap_or("unknown"),
            // Why there is no library has a name all the same.
            Err(_) if self == Code::ABI_MISMATCH => "abi-mismatch",
            Err(_) if self == Code::NOT_FOUND => "not-found",
            Err(_) => "unknown",
        }
    }

    /// Whether the same call may succeed later: a wait has ended, and nothing else has happened.
    pub fn is_transient(self) -> bool {
        matches!(self, Code::TIMED_OUT | Code::WOULD_BLOCK | Code::INTERRUPTED)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.0)
    }
}

/// Why a call did not succeed.
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

    /// Of the system call that failed.
    pub fn errno(&self) -> Option<i32> {
        (self.errno != 0).then_some(self.errno)
    }

    /// What happened, where, and what to do next. Empty where the name says everything.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What had been done before the call failed. Of `publish`: the sequence of the last record
    /// that it published. Of `send`: how many messages it sent. 0: nothing was.
    pub fn progress(&self) -> u64 {
        self.progress
    }

    pub(crate) fn new(code: Code, message: impl Into<Box<str>>) -> Error {
        Error { code, errno: 0, progress: 0, message: message.into() }
    }

    pub(crate) fn bare(result: sys::lapwing_result) -> Error {
        Error::new(Code(result), "")
    }

    pub(crate) fn with_progress(self, progress: u64) -> Error {
        Error { progress, ..self }
    }

    #[cold]
    fn from_c(result: sys::lapwing_result, errno: i32, message: &CStr) -> Error {
        // These are frequent, their names are enough, and they cost no allocation.
        let message = match Code(result) {
            code if code.is_transient() || code == Code::EVENT_DUE => "".into(),
            _ => message.to_string_lossy().into(),
        };
        Error { code: Code(result), errno, progress: 0, message }
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
        Error::new(Code(error.code), error.message.as_str())
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        let kind = match error.code {
            Code::INVALID_ARGUMENT | Code::MISUSE => io::ErrorKind::InvalidInput,
            Code::NO_BUS | Code::NOT_FOUND => io::ErrorKind::NotFound,
            Code::NOT_PERMITTED => io::ErrorKind::PermissionDenied,
            Code::TIMED_OUT => io::ErrorKind::TimedOut,
            Code::WOULD_BLOCK => io::ErrorKind::WouldBlock,
            Code::INTERRUPTED => io::ErrorKind::Interrupted,
            Code::CLOSED => io::ErrorKind::UnexpectedEof,
            Code::REFUSED => io::ErrorKind::ConnectionRefused,
            Code::PEER_GONE | Code::PUBLISHER_GONE => io::ErrorKind::ConnectionAborted,
            Code::UNSUPPORTED => io::ErrorKind::Unsupported,
            Code::NO_MEMORY => io::ErrorKind::OutOfMemory,
            Code::DAMAGED | Code::BAD_INPUT | Code::CORRUPT => io::ErrorKind::InvalidData,
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}

/// The library, or why there is none.
pub(crate) fn library() -> Result<&'static sys::Lapwing> {
    sys::library().map_err(Error::from)
}

/// Makes a call, and turns its result and what it wrote into a `Result`.
#[inline]
pub(crate) fn check(
    call: impl FnOnce(*mut sys::lapwing_error) -> sys::lapwing_result,
) -> Result<()> {
    // Only what is read is initialised: the message is half a kilobyte.
    let mut place = MaybeUninit::<sys::lapwing_error>::uninit();
    let error = place.as_mut_ptr();
    // SAFETY: writes members of `place`.
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
