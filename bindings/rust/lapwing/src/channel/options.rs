//! What a side of a channel is to be.

use std::time::Duration;

use lapwing_sys as sys;

use crate::error::Result;
use crate::subscriber::Wait;
use crate::text::Text;
use crate::timeout::ns_of;

/// Of what this side sends; a consumer ignores sizes. Zero and empty are the defaults.
#[derive(Clone, Debug, Default)]
pub struct ChannelOptions {
    /// For people: `lapwing info` shows it.
    pub name: String,
    /// Bytes, a power of two; 0: 1 MiB.
    pub capacity: u64,
    /// 0: 64 KiB.
    pub message_bytes_max: u32,
    /// Calls, and one-way messages, taken unanswered; 0: 64.
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
    /// Of connect: for how long it tries again while nobody listens.
    pub retry: Duration,
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
        use_options(&sys::lapwing_channel_options {
            struct_size: size_of::<sys::lapwing_channel_options>() as u32,
            flags: flags.iter().map(|&(is_set, flag)| if is_set { flag } else { 0 }).sum(),
            name: name.as_ptr(),
            capacity: self.capacity,
            message_bytes_max: self.message_bytes_max,
            call_window: self.call_window,
            wait: self.wait as u32,
            numa_node: self.numa_node.unwrap_or(0),
            peer_uid: self.peer_uid.unwrap_or(0),
            reserved: 0,
            retry_ns: ns_of(self.retry),
        })
    }
}
