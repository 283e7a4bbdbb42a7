// error[E0382]: use of moved value: `publisher`
// Dropping closes, once.
fn close_twice(publisher: lapwing::Publisher) {
    drop(publisher);
    drop(publisher);
}

fn main() {}
