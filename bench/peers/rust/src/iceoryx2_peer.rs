//! iceoryx2: publish and subscribe between processes. Samples are loaned and written in place,
//! busy.

use iceoryx2::config::Config;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;

use crate::measure::{fail, fill, or_fail, Options, Record};
use crate::scenarios::Peer;

const READ_RECORDS_MAX: u64 = 256;

/// OVERFLOW: a full buffer drops its oldest sample. Otherwise the publisher waits for room.
pub struct Iceoryx2<const W: usize, const OVERFLOW: bool> {
    out: Option<Publisher<ipc::Service, Record<W>, ()>>,
    input: Option<Subscriber<ipc::Service, Record<W>, ()>>,
    read_records_max: u64,
    _node: Node<ipc::Service>,
}

/// Keeps all files of this measurement in its own directory, with its own name in shared memory.
fn config_of(options: &Options) -> Config {
    let mut config = Config::default();
    let root = options.path("iox2").to_string_lossy().into_owned();
    let Some(name) = options.shared.file_name() else { fail("--shared is not a directory") };
    let prefix = format!("{}_", name.to_string_lossy());
    config.global.set_root_path(&or_fail(Path::new(root.as_bytes()), "root path"));
    config.global.prefix = or_fail(FileName::new(prefix.as_bytes()), "prefix");
    config
}

impl<const W: usize, const OVERFLOW: bool> Peer<W> for Iceoryx2<W, OVERFLOW> {
    fn open(options: &Options) -> Self {
        let config = config_of(options);
        let node = or_fail(NodeBuilder::new().config(&config).create::<ipc::Service>(), "node");
        let service = |name: &str| {
            let name = or_fail(ServiceName::new(name), "service name");
            or_fail(
                node.service_builder(&name)
                    .publish_subscribe::<Record<W>>()
                    .max_publishers(1)
                    .max_subscribers(options.readers().len())
                    .history_size(0)
                    .subscriber_max_buffer_size(options.capacity as usize)
                    .enable_safe_overflow(OVERFLOW)
                    .open_or_create(),
                "service",
            )
        };
        let out = options.sends().then(|| {
            let service = service(options.out_name());
            let builder = service.publisher_builder();
            or_fail(
                builder.backpressure_strategy(BackpressureStrategy::RetryUntilDelivered).create(),
                "publisher",
            )
        });
        let input = options.receives().then(|| {
            let service = service(options.in_name());
            or_fail(service.subscriber_builder().create(), "subscriber")
        });
        let read_records_max = if options.both_ways() { 1 } else { READ_RECORDS_MAX };
        Self { out, input, read_records_max, _node: node }
    }

    #[inline(always)]
    fn send(&mut self, first: u64, count: u64) -> u64 {
        let out = self.out.as_ref().unwrap();
        for number in (0..count).map(|i| first.wrapping_add(i)) {
            let mut sample = or_fail(out.loan_uninit(), "loan");
            // SAFETY: every word is written.
            let sample = unsafe {
                fill(sample.payload_mut().assume_init_mut(), number);
                sample.assume_init()
            };
            or_fail(sample.send(), "send");
        }
        count
    }

    #[inline(always)]
    fn receive(&mut self, mut on_record: impl FnMut(&Record<W>)) -> u64 {
        let input = self.input.as_ref().unwrap();
        let mut count = 0;
        while count < self.read_records_max {
            match or_fail(input.receive(), "receive") {
                Some(sample) => on_record(sample.payload()),
                None => break,
            }
            count += 1;
        }
        count
    }
}
