// One thread at a time uses a handle.
fn is_sync<T: Sync>() {}

fn main() {
    is_sync::<lapwing::Publisher>();
}
