// error[E0277]: the trait bound `Quote: Row` is not satisfied
// The struct has no description of its fields.
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Quote {
    time: u64,
}

fn publish(publisher: &mut lapwing::Publisher, quote: &Quote) -> lapwing::Result<u64> {
    publisher.publish(quote, lapwing::NOW)
}

fn main() {}
