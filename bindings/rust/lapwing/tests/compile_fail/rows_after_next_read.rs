// error[E0499]: cannot borrow `*batch` as mutable more than once
// Rows do not outlive the next read into their memory.
fn use_after_read(
    subscriber: &mut lapwing::Subscriber,
    batch: &mut lapwing::Batch,
) -> lapwing::Result<()> {
    let chunk = subscriber.read(batch, lapwing::FOREVER)?;
    subscriber.read(batch, lapwing::FOREVER)?;
    println!("{chunk:?}");
    Ok(())
}

fn main() {}
