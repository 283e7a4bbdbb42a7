// One thread at a time uses a handle.
fn share(publisher: &lapwing::Publisher) {
    std::thread::scope(|scope| {
        scope.spawn(|| publisher.info());
    });
}

fn main() {}
