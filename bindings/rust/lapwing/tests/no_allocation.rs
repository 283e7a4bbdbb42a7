//! Tests that reads of a batch or of one record, and publishing, do not allocate.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use lapwing::{
    Batch, Chunk, Code, Publisher, PublisherOptions, Start, Subscriber, SubscriberOptions, FOREVER,
};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed to `System`.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations_of(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

#[test]
fn publish_read_take_and_the_end_of_a_wait_allocate_nothing() {
    let bus = tempfile::tempdir().unwrap();
    let options = PublisherOptions::new(bus.path()).record_bytes(56);
    let mut publisher = Publisher::open(&options, FOREVER).unwrap();
    let options = SubscriberOptions::new(bus.path()).start(Start::Oldest);
    let mut subscriber = Subscriber::open(&options).unwrap();
    let mut batch = Batch::new(64).with_sequences();
    publisher.publish(&[0u8; 56], FOREVER).unwrap();
    while !matches!(subscriber.read(&mut batch, FOREVER).unwrap(), Chunk::Records(_)) {}
    while subscriber.read(&mut batch, Duration::from_millis(10)).is_ok() {}
    assert_eq!(allocations_of(|| drop(vec![0u8; 100])), 1, "allocations are not counted");

    let rows = vec![[7u8; 56]; 64];
    let allocations = allocations_of(|| {
        for _ in 0..100 {
            publisher.publish_all(&rows, FOREVER).unwrap();
            let mut left = rows.len();
            while left > 0 {
                match subscriber.read(&mut batch, FOREVER).unwrap() {
                    Chunk::Records(rows) => left -= rows.as_slice::<[u8; 56]>().unwrap().len(),
                    other => panic!("{other:?}"),
                }
            }
            publisher.publish(&rows[0], FOREVER).unwrap();
            assert!(subscriber.read_one::<[u8; 56]>(FOREVER).unwrap().is_some());
            let error = subscriber.read_one::<[u8; 56]>(lapwing::NOW).unwrap_err();
            assert_eq!(error.code(), Code::WouldBlock);
            assert!(subscriber.read(&mut batch, lapwing::NOW).is_err());
        }
    });
    assert_eq!(allocations, 0);
}
