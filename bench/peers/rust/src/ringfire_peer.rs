//! ringfire: its ring of fixed slots, latest wins, batches in both directions, busy.

use ringfire::{RingConsumer, RingProducer};

use crate::measure::{fill, or_fail, Options, Record};
use crate::scenarios::Peer;

const SEND_RECORDS_MAX: usize = 32;
const READ_RECORDS_MAX: usize = 256;

pub struct Ringfire<const W: usize> {
    out: Option<RingProducer<Record<W>>>,
    input: Option<RingConsumer<Record<W>>>,
    unsent: Vec<Record<W>>,
    batch: Vec<Record<W>>,
    in_batches: bool,
}

impl<const W: usize> Peer<W> for Ringfire<W> {
    fn open(options: &Options) -> Self {
        let out = options.sends().then(|| {
            let path = options.path(options.out_name());
            let made = RingProducer::create(path, options.capacity);
            options.announce(&format!("{}.made", options.out_name()));
            or_fail(made, "cannot make the ring")
        });
        let input = options.receives().then(|| {
            options.await_file(&format!("{}.made", options.in_name()));
            or_fail(RingConsumer::attach(options.path(options.in_name())), "cannot attach")
        });
        Self {
            out,
            input,
            unsent: vec![[0; W]; SEND_RECORDS_MAX],
            batch: vec![[0; W]; READ_RECORDS_MAX],
            in_batches: !options.both_ways(),
        }
    }

    #[inline(always)]
    fn send(&mut self, first: u64, count: u64) -> u64 {
        let out = self.out.as_mut().unwrap();
        if count == 1 {
            let mut record = [0; W];
            fill(&mut record, first);
            out.push(&record);
            return 1;
        }
        for (record, i) in self.unsent.iter_mut().zip(0..count) {
            fill(record, first.wrapping_add(i));
        }
        out.push_batch(&self.unsent[..count as usize]);
        count
    }

    #[inline(always)]
    fn receive(&mut self, mut on_record: impl FnMut(&Record<W>)) -> u64 {
        let input = self.input.as_mut().unwrap();
        if !self.in_batches {
            return match input.try_recv() {
                Some(record) => {
                    on_record(&record);
                    1
                }
                None => 0,
            };
        }
        let count = input.recv_batch(&mut self.batch);
        self.batch[..count].iter().for_each(on_record);
        count as u64
    }

    fn reported_lost(&self) -> i64 {
        self.input.as_ref().unwrap().lapped_count() as i64
    }

    fn send_records_max(&self) -> u64 {
        SEND_RECORDS_MAX as u64
    }
}
