// error[E0277]: padding
// A struct with padding would publish uninitialised memory.
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Quote {
    size: u32,
    price: i64,
}
lapwing::record!(Quote, "desk.quote", 1, { size, price: Price });

fn main() {}
