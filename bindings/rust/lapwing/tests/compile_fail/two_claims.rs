// error[E0499]: cannot borrow `*producer` as mutable more than once
// A producer can have only one claim at a time.
fn two_claims(producer: &mut lapwing::Producer) -> lapwing::Result<()> {
    let first = producer.claim(8, lapwing::FOREVER)?;
    let second = producer.claim(8, lapwing::FOREVER)?;
    first.commit(1)?;
    second.commit(1)
}

fn main() {}
