// error[E0499]: cannot borrow `*duplex` as mutable more than once
// A reply's payload does not outlive the next request.
fn use_after_start(duplex: &mut lapwing::Duplex) -> lapwing::Result<()> {
    let reply = duplex.call(1, b"8 bytes.", lapwing::FOREVER)?;
    duplex.start(1, b"8 bytes.", lapwing::FOREVER)?;
    println!("{:?}", reply.payload);
    Ok(())
}

fn main() {}
