// error[E0277]: cannot be shared between threads safely
// One thread at a time uses a handle.
fn is_sync<T: Sync>() {}

fn main() {
    is_sync::<lapwing::Publisher>();
}
