// error[E0277]: cannot be shared between threads safely
// Only one thread at a time may use a handle.
fn is_sync<T: Sync>() {}

fn main() {
    is_sync::<lapwing::Publisher>();
}
