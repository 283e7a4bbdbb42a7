// error[E0505]: cannot move out of `messages` because it is borrowed
// A payload cannot be used after all messages were released at once.
fn use_after_release(consumer: &mut lapwing::Consumer) -> lapwing::Result<()> {
    let messages = consumer.peek(16, lapwing::FOREVER)?;
    let payload = messages[0].payload();
    messages.release()?;
    println!("{payload:?}");
    Ok(())
}

fn main() {}
