// error[E0505]: cannot move out of `messages` because it is borrowed
// Nor is a payload, where all messages were given back at once.
fn use_after_release(consumer: &mut lapwing::Consumer) -> lapwing::Result<()> {
    let messages = consumer.peek(16, lapwing::FOREVER)?;
    let payload = messages[0].payload();
    messages.release()?;
    println!("{payload:?}");
    Ok(())
}

fn main() {}
