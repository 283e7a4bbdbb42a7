//! The step that forks.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use lapwing::{Batch, Chunk, Code, Consumer, Producer, Publisher, Start, Subscriber};

use crate::answer::{Answer, Failure};
use crate::misuse::{
    channel, joined, name_of, publisher_at, rows, subscriber_of, RECORD_BYTES, WAIT_MAX,
};
use crate::step::Step;

/// A child that hangs ends by SIGALRM.
const CHILD_SECONDS_MAX: u32 = 10;

/// What the child inherits. Dropping closes it.
struct Inherited {
    publisher: Publisher,
    subscriber: Subscriber,
    producer: Producer,
    consumer: Consumer,
    batch: Batch,
}

impl Inherited {
    fn open(directory: &str) -> lapwing::Result<Inherited> {
        let (producer, consumer) = channel()?;
        Ok(Inherited {
            publisher: publisher_at("own")?,
            subscriber: subscriber_of(directory, Start::Oldest)?,
            producer,
            consumer,
            batch: Batch::new(16),
        })
    }

    /// One call of each, and the names of their results.
    fn call(&mut self) -> BTreeSet<&'static str> {
        BTreeSet::from([
            name_of(self.publisher.publish_bytes(&rows(1), RECORD_BYTES, WAIT_MAX)),
            name_of(self.subscriber.read(&mut self.batch, WAIT_MAX)),
            name_of(self.producer.send(1, b"message", WAIT_MAX)),
            name_of(self.consumer.peek(1, WAIT_MAX)),
        ])
    }

    /// One record and one message more of each.
    fn go_on(&mut self) -> lapwing::Result<()> {
        self.publisher.publish_bytes(&rows(1), RECORD_BYTES, WAIT_MAX)?;
        while !matches!(self.subscriber.read(&mut self.batch, WAIT_MAX)?, Chunk::Records(_)) {}
        self.producer.send(1, b"message", WAIT_MAX)?;
        self.consumer.peek(1, WAIT_MAX)?.release()
    }
}

pub fn forked(step: &Step) -> Answer {
    let mut inherited = Inherited::open(step.text("directory")?)?;
    inherited.go_on()?;
    let (mut from_child, mut to_parent) = UnixStream::pair().map_err(system)?;
    // SAFETY: the child uses what it inherits and the socket, and ends without returning.
    let child = match unsafe { libc::fork() } {
        -1 => return Err(system(io::Error::last_os_error())),
        0 => {
            // SAFETY: the child's own timer.
            unsafe { libc::alarm(CHILD_SECONDS_MAX) };
            let answers = joined(&inherited.call());
            drop(inherited);
            let written = to_parent.write_all(answers.as_bytes());
            std::process::exit(written.is_err().into())
        }
        child => child,
    };
    drop(to_parent);
    let mut answers = String::new();
    from_child.read_to_string(&mut answers).map_err(system)?;
    let status = status_of(child).map_err(system)?;
    let parent = name_of(inherited.go_on());
    match status {
        0 => Ok(format!("ok child={answers} parent={parent}")),
        status => Ok(format!("ok child=status-{status} parent={parent}")),
    }
}

fn status_of(child: libc::pid_t) -> io::Result<i32> {
    let mut status = 0;
    // SAFETY: `status` is a place for it.
    match unsafe { libc::waitpid(child, &mut status, 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(status),
    }
}

fn system(_: io::Error) -> Failure {
    Failure::Result(Code::System, String::new())
}
