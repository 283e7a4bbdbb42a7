// error[E0382]: borrow of moved value: `subscriber`
// A dropped subscriber cannot be used.
fn use_after_drop(subscriber: lapwing::Subscriber) -> lapwing::Result<()> {
    drop(subscriber);
    subscriber.info()?;
    Ok(())
}

fn main() {}
