//! Tests that handles can move between threads, and that an interrupter ends another thread's wait.

use lapwing::{
    Batch, Books, Code, Consumer, Cursor, Duplex, History, Interrupter, Listener, Producer,
    Publisher, PublisherOptions, Subscriber, SubscriberOptions, View, FOREVER,
};
use std::thread;

fn is_send<T: Send>() {}
fn is_send_and_sync<T: Send + Sync>() {}

// tests/compile_fail/shared_by_threads.rs tests that handles are not Sync.
#[test]
fn handles_are_send_and_what_is_only_read_is_sync() {
    is_send::<Publisher>();
    is_send::<Subscriber>();
    is_send::<Cursor>();
    is_send::<History>();
    is_send::<Books>();
    is_send::<Listener>();
    is_send::<Producer>();
    is_send::<Consumer>();
    is_send::<Duplex>();
    is_send_and_sync::<Interrupter>();
    is_send_and_sync::<View>();
    is_send_and_sync::<Batch>();
    is_send_and_sync::<lapwing::Error>();
}

#[test]
fn an_interrupt_ends_the_wait_of_another_thread_or_the_next_one() {
    let bus = tempfile::tempdir().unwrap();
    let options = PublisherOptions::new(bus.path());
    let _publisher = Publisher::open(&options, FOREVER).unwrap();
    let options = SubscriberOptions::new(bus.path());
    let mut subscriber = Subscriber::open(&options).unwrap();
    let interrupter = subscriber.interrupter();

    let waits = thread::spawn(move || loop {
        if let Err(error) = subscriber.read(&mut Batch::new(1), FOREVER) {
            return (subscriber, error.code());
        }
    });
    assert!(interrupter.interrupt());
    let (mut subscriber, code) = waits.join().unwrap();
    assert_eq!(code, Code::Interrupted);

    assert!(interrupter.interrupt());
    let mut batch = Batch::new(1);
    let code = loop {
        if let Err(error) = subscriber.read(&mut batch, FOREVER) {
            break error.code();
        }
    };
    assert_eq!(code, Code::Interrupted);
}

#[test]
fn an_interrupter_does_not_keep_its_handle_open() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listener = Listener::open(&path, &Default::default()).unwrap();
    let interrupter = listener.interrupter();
    assert_eq!(Listener::open(&path, &Default::default()).unwrap_err().code(), Code::InUse);
    drop(listener);
    Listener::open(&path, &Default::default()).unwrap();
    assert!(!interrupter.interrupt());
    assert_eq!(format!("{interrupter:?}"), "Interrupter { is_open: false }");
}
