// error[E0499]: cannot borrow `*consumer` as mutable more than once
// A message cannot be used after it was released.
fn use_after_release(consumer: &mut lapwing::Consumer) -> lapwing::Result<()> {
    let messages = consumer.peek(16, lapwing::FOREVER)?;
    consumer.release(1)?;
    println!("{:?}", messages[0].payload());
    Ok(())
}

fn main() {}
