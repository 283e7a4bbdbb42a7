// A struct with padding would carry what was in memory to every reader.
#[derive(Clone, Copy)]
#[repr(C)]
struct Quote {
    size: u32,
    price: i64,
}

fn publish(publisher: &mut lapwing::Publisher) -> lapwing::Result<u64> {
    publisher.publish(&Quote { size: 1, price: 100 }, lapwing::FOREVER)
}

fn main() {}
