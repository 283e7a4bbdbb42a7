//! tachyon-ipc: one ring per direction, written and read in place, pure spinning, in batches if
//! there are several records.

use std::thread;
use std::time::Duration;

use tachyon_ipc::{Bus, TachyonError};

use crate::measure::{fail, fill, or_fail, Options, Record};
use crate::scenarios::Peer;

const RING_BYTES: usize = 1 << 24; // as in the package's own benchmark
const SEND_RECORDS_MAX: u64 = 32;
const READ_RECORDS_MAX: usize = 256;
const TYPE_ID: u32 = 1;
const SPIN: u32 = u32::MAX; // never sleep
const CONNECT_TRIES: u32 = 6000;

pub struct Tachyon<const W: usize> {
    out: Option<Bus>,
    input: Option<Bus>,
    in_batches: bool,
}

fn open_bus(options: &Options, name: &str) -> Bus {
    let path = options.path(&format!("{name}.sock")).to_string_lossy().into_owned();
    if !options.sends_first() {
        let bus = or_fail(Bus::listen(&path, RING_BYTES), "listen");
        bus.set_polling_mode(1);
        return bus;
    }
    for _ in 0..CONNECT_TRIES {
        if let Ok(bus) = Bus::connect(&path) {
            bus.set_polling_mode(1);
            return bus;
        }
        thread::sleep(Duration::from_millis(10));
    }
    fail("no process listened")
}

#[inline(always)]
fn record_of<const W: usize>(data: &[u8]) -> &Record<W> {
    if data.len() != W * 8 || data.as_ptr().align_offset(8) != 0 {
        fail("a message of another size or alignment");
    }
    // SAFETY: the length matches, the data is aligned, and any bytes are valid words.
    unsafe { &*data.as_ptr().cast() }
}

impl<const W: usize> Peer<W> for Tachyon<W> {
    fn open(options: &Options) -> Self {
        // Both sides open ping first, because a listener waits until the other side has connected.
        let ping = open_bus(options, "ping");
        let pong = options.both_ways().then(|| open_bus(options, "pong"));
        let (out, input) =
            if options.sends_first() { (Some(ping), pong) } else { (pong, Some(ping)) };
        Self { out, input, in_batches: !options.both_ways() }
    }

    #[inline(always)]
    fn send(&mut self, first: u64, count: u64) -> u64 {
        let out = self.out.as_ref().unwrap();
        for sent in 0..count {
            let mut guard = match out.acquire_tx(W * 8) {
                Ok(guard) => guard,
                Err(TachyonError::BufferFull) => {
                    if count != 1 {
                        out.flush();
                    }
                    return sent;
                }
                Err(error) => fail(&format!("cannot send: {error:?}")),
            };
            // SAFETY: this side owns the slot until it is committed, and it holds W words.
            unsafe {
                let slot = guard.as_mut_slice();
                if slot.as_ptr().align_offset(8) != 0 {
                    fail("a slot that is not aligned");
                }
                fill(&mut *slot.as_mut_ptr().cast::<Record<W>>(), first + sent);
            }
            let committed = if count == 1 {
                guard.commit(W * 8, TYPE_ID)
            } else {
                guard.commit_unflushed(W * 8, TYPE_ID)
            };
            or_fail(committed, "commit");
        }
        if count != 1 {
            out.flush();
        }
        count
    }

    /// Waits if there is no record, because its interface has no other way. The wait always ends,
    /// because no record is lost.
    #[inline(always)]
    fn receive(&mut self, mut on_record: impl FnMut(&Record<W>)) -> u64 {
        let input = self.input.as_ref().unwrap();
        if !self.in_batches {
            let guard = or_fail(input.acquire_rx(SPIN), "receive");
            on_record(record_of(guard.data()));
            or_fail(guard.commit(), "release");
            return 1;
        }
        let batch = or_fail(input.drain_batch(READ_RECORDS_MAX, SPIN), "drain");
        for message in &batch {
            on_record(record_of(message.data()));
        }
        let count = batch.len() as u64;
        or_fail(batch.commit(), "release");
        count
    }

    fn send_records_max(&self) -> u64 {
        SEND_RECORDS_MAX
    }
}
