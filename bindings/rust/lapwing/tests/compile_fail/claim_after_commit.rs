// error[E0382]: borrow of moved value: `claim`
// A message cannot be written after it was sent.
fn use_after_commit(producer: &mut lapwing::Producer) -> lapwing::Result<()> {
    let mut claim = producer.claim(8, lapwing::FOREVER)?;
    claim.commit(1)?;
    claim[0] = 7;
    Ok(())
}

fn main() {}
