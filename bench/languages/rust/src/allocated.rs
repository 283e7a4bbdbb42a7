//! Counts the bytes that this program allocates, because Rust has no such counter.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    static BYTES: Cell<u64> = const { Cell::new(0) };
}

/// Bytes allocated by this thread since its start.
pub fn bytes() -> u64 {
    BYTES.get()
}

fn count(bytes: usize) {
    // While a thread ends, its counter no longer exists.
    let _ = BYTES.try_with(|counted| counted.set(counted.get() + bytes as u64));
}

// SAFETY: forwards all calls.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(bytes);
        unsafe { System.realloc(pointer, layout, bytes) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}
