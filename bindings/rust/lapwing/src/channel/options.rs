//! What a side of a channel is to be.

use std::time::Duration;

use lapwing_sys as sys;

use crate::error::{library, Result};
use crate::subscriber::Wait;
use crate::text::Text;
use crate::timeout::limit_ns_of;

/// Of what this side sends; a consumer ignores sizes. Everything has a default, which [`Default`]
/// contains. `None` of a duration is no limit.
#[derive(Clone, Debug)]
pub struct ChannelOptions {
    /// For people: `lapwing info` shows it.
    pub name: String,
    /// Bytes, a power of two. Default: 1 MiB.
    pub capacity: u64,
    /// Default: 64 KiB.
    pub message_bytes_max: u32,
    /// Calls, and one-way messages, taken unanswered. Default: 64.
    pub call_window: u32,
    pub wait: Wait,
    /// Payloads are aligned to 64 bytes. Without it, to 16, and those of 49 to 56 bytes to 8.
    pub aligned: bool,
    /// Or fail.
    pub huge_pages: bool,
    /// This side's memory lies on that node, or opening fails.
    pub numa_node: Option<u32>,
    /// Only that user is served, or connected to; `None`: this user and root.
    pub peer_uid: Option<u32>,
    /// A fence for each message instead of a system call.
    pub no_membarrier: bool,
    /// Replies after their call's end are delivered, marked late.
    pub late_replies: bool,
    /// How long connect keeps trying while nobody listens. `None`: until the timeout.
    /// Default: zero, which does not try again.
    pub retry: Option<Duration>,
}

impl Default for ChannelOptions {
    fn default() -> ChannelOptions {
        ChannelOptions {
            name: String::new(),
            capacity: 1 << 20,
            message_bytes_max: 64 << 10,
            call_window: 64,
            wait: Wait::default(),
            aligned: false,
            huge_pages: false,
            numa_node: None,
            peer_uid: None,
            no_membarrier: false,
            late_replies: false,
            retry: Some(Duration::ZERO),
        }
    }
}

impl ChannelOptions {
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
