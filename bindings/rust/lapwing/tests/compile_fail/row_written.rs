// error[E0594]: cannot assign to
// Nor is a row of a view.
fn write(view: &lapwing::View) {
    if let Some(row) = view.get(0) {
        row[0] = 7;
    }
}

fn main() {}
