// error[E0382]: borrow of moved value: `subscriber`
// What was closed is not called.
fn use_after_drop(subscriber: lapwing::Subscriber) -> lapwing::Result<()> {
    drop(subscriber);
    subscriber.info()?;
    Ok(())
}

fn main() {}
