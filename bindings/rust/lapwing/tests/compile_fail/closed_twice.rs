// error[E0382]: use of moved value: `publisher`
// A publisher cannot be closed twice by dropping it.
fn close_twice(publisher: lapwing::Publisher) {
    drop(publisher);
    drop(publisher);
}

fn main() {}
