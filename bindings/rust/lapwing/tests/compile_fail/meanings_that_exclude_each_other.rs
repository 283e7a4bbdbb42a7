// error[E0080]: a member has one role, one unit and one type at most
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Quote {
    time: u64,
}
lapwing::record!(Quote, "desk.quote", 1, { time: Time + Key });

fn main() {}
