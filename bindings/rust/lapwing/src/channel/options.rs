//! Options of a channel end.

use std::time::Duration;

use lapwing_sys as sys;

use crate::error::{library, Result};
use crate::options::options;
use crate::subscriber::Wait;
use crate::text::Text;
use crate::timeout::limit_ns_of;

options! {
    /// Options of a channel end. Every option has a default. A consumer ignores sizes: the
    /// producer's sizes apply.
    ///
    /// ```
    /// use lapwing::ChannelOptions;
    /// use std::time::Duration;
    ///
    /// ChannelOptions::new().name("strategy").retry(Duration::from_secs(10));
    /// ```
    ///
    /// `None` for a duration means no limit.
    ChannelOptions {
        /// Shown by `lapwing info`. Default: none.
        name(impl Into<String>): String = String::new();
        /// Bytes, a power of two. Default: 1 MiB.
        capacity(u64): u64 = 1 << 20;
        /// Default: 64 KiB.
        message_bytes_max(u32): u32 = 64 << 10;
        /// Limit on unanswered calls, and on untaken one-way messages, that this end accepts.
        /// Default: 64.
        call_window(u32): u32 = 64;
        /// Default: [`Wait::Backoff`].
        wait(Wait): Wait = Wait::default();
        /// Aligns payloads to 64 bytes; otherwise to 16, and payloads of 49 to 56 bytes to 8.
        /// Default: false.
        aligned(bool): bool = false;
        /// Backs the memory with huge pages; opening fails if there are none. Default: false.
        huge_pages(bool): bool = false;
        /// NUMA node for this end's memory; opening fails if that is not possible. Default: any
        /// node.
        numa_node(u32): Option<u32> = None;
        /// The only user to serve, or to connect to. Default: this user and root.
        peer_uid(u32): Option<u32> = None;
        /// Uses a fence for each message instead of a system call. Default: false.
        no_membarrier(bool): bool = false;
        /// Delivers replies that arrive after the end of their call, marked as late. Default:
        /// false.
        late_replies(bool): bool = false;
        /// How long connect retries while no process listens. `None`: until the timeout. Default:
        /// zero, no retry.
        retry(impl Into<Option<Duration>>): Option<Duration> = Some(Duration::ZERO);
    }
}

impl ChannelOptions {
    pub fn new() -> ChannelOptions {
        ChannelOptions::default()
    }

    pub(super) fn with_c<R>(
        &self,
        use_options: impl FnOnce(&sys::lapwing_channel_options) -> Result<R>,
    ) -> Result<R> {
        let name = Text::of(&self.name, "options.name")?;
        let flags = [
            (self.aligned, sys::LAPWING_CHANNEL_ALIGNED),
            (self.huge_pages, sys::LAPWING_CHANNEL_HUGE_PAGES),
            (self.numa_node.is_some(), sys::LAPWING_CHANNEL_NUMA),
            (self.peer_uid.is_some(), sys::LAPWING_CHANNEL_PEER_UID),
            (self.no_membarrier, sys::LAPWING_CHANNEL_NO_MEMBARRIER),
            (self.late_replies, sys::LAPWING_CHANNEL_LATE_REPLIES),
        ];
        let mut given = sys::lapwing_channel_options::default();
        // SAFETY: `given` has that size.
        unsafe {
            library()?.lapwing_channel_options_init(&mut given, size_of_val(&given) as u32);
        }
        given.flags = flags.iter().map(|&(is_set, flag)| if is_set { flag } else { 0 }).sum();
        given.name = name.as_ptr();
        given.capacity = self.capacity;
        given.message_bytes_max = self.message_bytes_max;
        given.call_window = self.call_window;
        given.wait = self.wait as u32;
        given.numa_node = self.numa_node.unwrap_or(0);
        given.peer_uid = self.peer_uid.unwrap_or(0);
        given.retry_ns = limit_ns_of(self.retry);
        use_options(&given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_library() {
        let mut defaults = sys::lapwing_channel_options::default();
        // SAFETY: `defaults` has that size.
        unsafe {
            let size = size_of_val(&defaults) as u32;
            library().unwrap().lapwing_channel_options_init(&mut defaults, size);
        }
        let given = ChannelOptions::default().with_c(|given| Ok(*given)).unwrap();
        assert_eq!(given.flags, defaults.flags);
        assert_eq!(given.capacity, defaults.capacity);
        assert_eq!(given.message_bytes_max, defaults.message_bytes_max);
        assert_eq!(given.call_window, defaults.call_window);
        assert_eq!(given.wait, defaults.wait);
        assert_eq!(given.retry_ns, defaults.retry_ns);
    }
}
