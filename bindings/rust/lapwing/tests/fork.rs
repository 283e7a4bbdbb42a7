//! Tests that a forked child cannot use the handles of this process, but can drop them.

use lapwing::{
    Batch, Code, Consumer, Listener, Producer, Publisher, PublisherOptions, Subscriber,
    SubscriberOptions, FOREVER, NOW,
};

/// The exit code of a forked child that runs `work`.
fn exit_code_of_child(work: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child only uses its own memory, and exits without returning.
    unsafe {
        match libc::fork() {
            0 => libc::_exit(work()),
            child => {
                let mut status = 0;
                assert_eq!(libc::waitpid(child, &mut status, 0), child);
                assert!(libc::WIFEXITED(status), "status {status}");
                libc::WEXITSTATUS(status)
            }
        }
    }
}

#[test]
fn every_call_in_a_child_answers_forked_and_the_parent_notices_nothing() {
    let bus = tempfile::tempdir().unwrap();
    let options = PublisherOptions::new(bus.path()).record_bytes(8).capacity(4096);
    let mut publisher = Publisher::open(&options, FOREVER).unwrap();
    let options = SubscriberOptions::new(bus.path());
    let mut subscriber = Subscriber::open(&options).unwrap();
    publisher.publish(&1u64, FOREVER).unwrap();
    let path = bus.path().join("socket");
    let mut listener = Listener::open(&path, &Default::default()).unwrap();
    let connecting =
        std::thread::spawn(move || Producer::connect(path, &Default::default(), FOREVER).unwrap());
    let mut consumer: Consumer = listener.accept(&Default::default(), FOREVER).unwrap();
    let mut producer = connecting.join().unwrap();

    let code = exit_code_of_child(|| {
        // SAFETY: these copies are in the child's memory, and the child drops only them.
        let (mut publisher, mut subscriber) =
            unsafe { (std::ptr::read(&publisher), std::ptr::read(&subscriber)) };
        let (mut producer, mut consumer) =
            unsafe { (std::ptr::read(&producer), std::ptr::read(&consumer)) };
        let codes = [
            publisher.publish(&2u64, NOW).unwrap_err().code(),
            publisher.info().unwrap_err().code(),
            subscriber.read(&mut Batch::new(1), FOREVER).unwrap_err().code(),
            producer.send(1, b"message", NOW).unwrap_err().code(),
            consumer.peek(1, NOW).map(|_| ()).unwrap_err().code(),
        ];
        drop((publisher, subscriber, producer, consumer));
        i32::from(codes != [Code::Forked; 5])
    });
    assert_eq!(code, 0);
    assert_eq!(publisher.publish(&2u64, FOREVER).unwrap(), 2);
    assert!(subscriber.read(&mut Batch::new(1), FOREVER).is_ok());
    producer.send(1, b"message", FOREVER).unwrap();
    assert_eq!(consumer.peek(1, FOREVER).unwrap()[0].payload(), b"message");
    publisher.close(FOREVER).unwrap();
}
