// error[E0594]: cannot assign to
// A borrowed message cannot be written to.
fn write(consumer: &mut lapwing::Consumer) -> lapwing::Result<()> {
    let messages = consumer.peek(1, lapwing::FOREVER)?;
    messages[0].payload()[0] = 7;
    Ok(())
}

fn main() {}
