//! How long a call may wait.

use std::time::Duration;

use lapwing_sys as sys;

/// How long a call may wait: [`NOW`], a [`Duration`], or [`FOREVER`].
///
/// A call that must not wait fails with [`Code::WouldBlock`](crate::Code::WouldBlock). A call whose
/// timeout has passed fails with [`Code::TimedOut`](crate::Code::TimedOut).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout(i64);

/// The call does not wait. A `Duration` of zero is the same.
pub const NOW: Timeout = Timeout(0);
/// The call waits without a limit. An [`Interrupter`](crate::Interrupter) ends the wait.
pub const FOREVER: Timeout = Timeout(sys::LAPWING_FOREVER);

impl From<Duration> for Timeout {
    fn from(duration: Duration) -> Timeout {
        Timeout(ns_of(duration))
    }
}

impl Timeout {
    pub(crate) fn ns(self) -> i64 {
        self.0
    }
}

/// Converts a duration option for the library. `None` means no limit, never, or on request.
pub(crate) fn limit_ns_of(limit: Option<Duration>) -> i64 {
    limit.map_or(sys::LAPWING_FOREVER, ns_of)
}

/// Converts a duration to nanoseconds, at most 292 years.
pub(crate) fn ns_of(duration: Duration) -> i64 {
    duration.as_nanos().try_into().unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_now_and_the_longest_is_not_forever() {
        assert_eq!(Timeout::from(Duration::ZERO), NOW);
        assert_eq!(Timeout::from(Duration::from_millis(3)).ns(), 3_000_000);
        assert_eq!(Timeout::from(Duration::MAX).ns(), i64::MAX);
        assert_ne!(Timeout::from(Duration::MAX), FOREVER);
    }
}
