// error[E0505]: cannot move out of `view` because it is borrowed
// A row of a view does not outlive the view.
fn use_after_unmap(history: &mut lapwing::History) -> lapwing::Result<()> {
    let view = history.map(1..=1000)?;
    let row = view.get(0);
    drop(view);
    println!("{row:?}");
    Ok(())
}

fn main() {}
