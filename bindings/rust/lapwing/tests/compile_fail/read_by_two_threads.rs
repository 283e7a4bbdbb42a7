// error[E0499]: cannot borrow `subscriber` as mutable more than once
// While one thread waits in a read, no other thread can read.
use lapwing::{Batch, Subscriber, FOREVER, NOW};

fn read_in_two_threads(mut subscriber: Subscriber) {
    std::thread::scope(|scope| {
        scope.spawn(|| subscriber.read(&mut Batch::new(1), FOREVER).map(|_| ()));
        scope.spawn(|| subscriber.read(&mut Batch::new(1), NOW).map(|_| ()));
    });
}

fn main() {}
