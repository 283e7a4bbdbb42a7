//! bcast: a mapped ring, written in place, read message by message within a batch, busy. An overrun
//! reader restarts at the newest record, as bcast's documentation shows.

use bcast::{
    Error, MappedReader, MappedWriter, MmapMutStorage, MmapStorage, StorageExt, HEADER_SIZE,
};

use crate::measure::{fail, fill, or_fail, Options, Record};
use crate::scenarios::Peer;

const FRAME_HEADER_BYTES: usize = 8;
const READ_RECORDS_MAX: u64 = 256;

pub struct Bcast<const W: usize> {
    out: Option<MappedWriter>,
    input: Option<MappedReader>,
    in_batches: bool,
}

#[inline(always)]
fn bytes_of<const W: usize>(record: &mut Record<W>) -> &mut [u8] {
    // SAFETY: words without padding, and any bytes are valid words.
    unsafe { std::slice::from_raw_parts_mut(record.as_mut_ptr().cast(), W * 8) }
}

impl<const W: usize> Peer<W> for Bcast<W> {
    fn open(options: &Options) -> Self {
        let data_bytes =
            (options.capacity as usize * (FRAME_HEADER_BYTES + W * 8)).next_power_of_two();
        let out = options.sends().then(|| {
            let path = options.path(options.out_name());
            let storage = MmapMutStorage::new(path, HEADER_SIZE + data_bytes);
            let writer: MappedWriter = or_fail(storage, "cannot make the ring").into_writer();
            options.announce(&format!("{}.made", options.out_name()));
            writer
        });
        let input = options.receives().then(|| {
            options.await_file(&format!("{}.made", options.in_name()));
            let storage = MmapStorage::attach(options.path(options.in_name()));
            or_fail(storage, "cannot attach").into_reader()
        });
        Self { out, input, in_batches: !options.both_ways() }
    }

    #[inline(always)]
    fn send(&mut self, first: u64, count: u64) -> u64 {
        let out = self.out.as_mut().unwrap();
        for number in (0..count).map(|i| first.wrapping_add(i)) {
            out.publish(W * 8, true, |payload| {
                let mut record = [0; W];
                fill(&mut record, number);
                payload.copy_from_slice(bytes_of(&mut record));
            });
        }
        count
    }

    #[inline(always)]
    fn receive(&mut self, mut on_record: impl FnMut(&Record<W>)) -> u64 {
        let input = self.input.as_mut().unwrap();
        let mut record = [0; W];
        if !self.in_batches {
            return match input.receive_next(bytes_of(&mut record)) {
                None => 0,
                Some(Ok(_)) => {
                    on_record(&record);
                    1
                }
                Some(Err(error)) => fail(&format!("a round trip broke: {error:?}")),
            };
        }
        let Some(mut batch) = input.read_batch() else { return 0 };
        let mut count = 0;
        while count < READ_RECORDS_MAX {
            match batch.receive_next(bytes_of(&mut record)) {
                None => break,
                Some(Ok(_)) => {
                    on_record(&record);
                    count += 1;
                }
                Some(Err(Error::Overrun(_))) => {
                    batch.reset();
                    break;
                }
                Some(Err(error)) => fail(&format!("cannot read: {error:?}")),
            }
        }
        count
    }

    fn send_records_max(&self) -> u64 {
        32
    }
}
