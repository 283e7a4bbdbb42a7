// error[E0594]: cannot assign to
// A row of a view cannot be written to.
fn write(view: &lapwing::View) {
    if let Some(row) = view.get(0) {
        row[0] = 7;
    }
}

fn main() {}
