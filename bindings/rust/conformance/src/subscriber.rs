//! Steps with subscribers.

use std::os::fd::AsRawFd;

use lapwing::{
    Batch, Chunk, EventKind, OnGap, Start, Subscriber, SubscriberOptions, Timeout, Wait, FOREVER,
};

use crate::answer::{ok, Answer, Failure};
use crate::objects::{Objects, Reading};
use crate::rows::{event_line, Digest, Run};
use crate::step::Step;

const ROWS: usize = 4096;

const WAITS: &[(&str, Wait)] =
    &[("busy", Wait::Busy), ("backoff", Wait::Backoff), ("park", Wait::Park)];

pub fn run(verb: &str, step: &Step, objects: &Objects) -> Answer {
    let readings = &objects.readings;
    match verb {
        "open" => {
            let subscriber = Subscriber::open(&options(step, objects)?)?;
            let name = step.text("as")?;
            let is_sparse = step.has("conflate_ms") || step.has("instruments");
            objects.put_interrupter(name, subscriber.interrupter());
            readings.put(name, Reading { subscriber, is_sparse });
            ok()
        }
        "read" => readings.with(step.text("on")?, |reading| read(reading, step)),
        "read-all" => readings.with(step.text("on")?, |reading| read_all(reading, step)),
        "take" => readings.with(step.text("on")?, |reading| take(reading, step)),
        "inspect" => readings.with(step.text("on")?, |reading| inspect(&reading.subscriber)),
        "position" => readings.with(step.text("on")?, |reading| {
            let position = match step.number_or("sequence", 0)? {
                0 => reading.subscriber.position()?,
                sequence => reading.subscriber.position_after(sequence)?,
            };
            objects.positions.put(step.text("as")?, position);
            Ok(format!("ok sequence={}", position.sequence))
        }),
        "fd" => {
            let fd = readings
                .with(step.text("on")?, |reading| Ok(reading.subscriber.fd()?.as_raw_fd()))?;
            Ok(format!("ok readable={}", u8::from(is_readable(fd, step)?)))
        }
        "interrupt" => objects.interrupt(step.text("on")?),
        "destroy" => readings.destroy(step.text("on")?),
        _ => Err(Failure::Unsupported),
    }
}

fn options(step: &Step, objects: &Objects) -> Result<SubscriberOptions, Failure> {
    let start = match step.given("start").unwrap_or("live") {
        "live" => Start::Live,
        "oldest" => Start::Oldest,
        "sequence" => Start::Sequence(step.number_or("value", 0)?),
        "time" => Start::Time(step.number_or("value", 0)?),
        "snapshot" => Start::Snapshot,
        "after" => Start::After(objects.positions.get(step.text("position")?)?),
        _ => return Err(Failure::Unsupported),
    };
    let on_gap = &[("fill", OnGap::Fill), ("skip", OnGap::Skip), ("stop", OnGap::Stop)];
    let mut options = SubscriberOptions::new(step.text_or_empty("directory"))
        .start(start)
        .on_gap(step.one_of("on_gap", on_gap)?)
        .wait(step.one_of("wait", WAITS)?)
        .end_at_close(step.flag("end_at_close"))
        .fold(step.text_or_empty("fold"))
        .expect(step.text_or_empty("expect"))
        .behind_records(step.number_or("behind_records", 0)?);
    if let Some(instruments) = step.given("instruments") {
        options = options.instruments(instruments.split(','));
    }
    if step.has("conflate_ms") {
        options = options.conflate(step.milliseconds("conflate_ms")?);
    }
    if step.has("reattach_ms") {
        options = options.reattach(step.milliseconds("reattach_ms")?);
    }
    if step.has("stale_after_ms") {
        options = options.stale_after(step.milliseconds("stale_after_ms")?);
    }
    Ok(options)
}

/// The line of one batch.
pub fn line_of(chunk: Chunk<'_>, is_sparse: bool) -> String {
    match chunk {
        Chunk::Records(rows) => Run::of(rows, false).line(is_sparse),
        Chunk::State(rows) => Run::of(rows, true).line(is_sparse),
        Chunk::Event(event) => event_line(event),
    }
}

/// The answer to a failed read. If a row did not fit, the answer contains the row size.
pub fn failure_of(error: lapwing::Error, batch: &Batch) -> Failure {
    let is_too_small = error.code() == lapwing::Code::TooSmall;
    let failure = Failure::from(error);
    if is_too_small {
        failure.with(format!("row_bytes={}", batch.row_bytes()))
    } else {
        failure
    }
}

fn read(reading: &mut Reading, step: &Step) -> Answer {
    let rows: usize = step.number("rows")?;
    let row_bytes = match reading.subscriber.info()?.record_bytes {
        0 => 4096,
        known => known as usize,
    };
    let bytes = step.number_or("bytes", rows * row_bytes)?;
    let mut batch = Batch::fixed(rows, bytes).with_sequences().with_conflated();
    let done = reading.subscriber.read(&mut batch, step.timeout()?).map(|_| ());
    done.map_err(|error| failure_of(error, &batch))?;
    let chunk = batch.chunk().ok_or_else(Failure::misuse)?;
    Ok(line_of(chunk, reading.is_sparse))
}

/// Passes batches to `use_batch` up to an event of the kind `until`. Any other end is an error,
/// which is the answer.
pub fn read_until(
    reading: &mut Reading,
    until: &str,
    timeout: Timeout,
    mut use_batch: impl FnMut(&Batch) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut batch = Batch::new(ROWS).with_sequences().with_conflated();
    loop {
        let kind = match reading.subscriber.read(&mut batch, timeout)? {
            Chunk::Event(event) => Some(event.kind()),
            _ => None,
        };
        use_batch(&batch)?;
        if kind.is_some_and(|kind: EventKind| kind.name() == until) {
            return Ok(());
        }
    }
}

fn read_all(reading: &mut Reading, step: &Step) -> Answer {
    let is_sparse = reading.is_sparse;
    let mut lines: Vec<String> = Vec::new();
    let mut run: Option<Run> = None;
    let ended = read_until(reading, step.text("until")?, step.timeout()?, |batch| {
        let (rows, is_state) = match batch.chunk() {
            Some(Chunk::Records(rows)) => (rows, false),
            Some(Chunk::State(rows)) => (rows, true),
            Some(Chunk::Event(event)) => {
                lines.extend(run.take().map(|run| run.line(is_sparse)));
                lines.push(event_line(event));
                return Ok(());
            }
            None => return Err(Failure::misuse()),
        };
        match &mut run {
            Some(run) if run.fits(rows, is_state) => run.add(rows),
            _ => {
                let before = run.replace(Run::of(rows, is_state));
                lines.extend(before.map(|run| run.line(is_sparse)));
            }
        }
        Ok(())
    });
    lines.extend(run.take().map(|run| run.line(is_sparse)));
    lines.push(match ended {
        Ok(()) => "ok".to_owned(),
        Err(failure) => failure.to_string(),
    });
    Ok(lines.join("\n"))
}

fn take(reading: &mut Reading, step: &Step) -> Answer {
    let known = reading.subscriber.info()?.record_bytes as usize;
    let mut record = vec![0; step.number_or("bytes", known)?];
    match reading.subscriber.read_one_bytes(&mut record, step.timeout()?)? {
        Some(sequence) => Ok(format!("ok sequence={sequence} digest={}", Digest::of(&record))),
        None => Err(Failure::Result(lapwing::Code::EventDue, String::new())),
    }
}

fn inspect(subscriber: &Subscriber) -> Answer {
    let info = subscriber.info()?;
    Ok(format!(
        "ok record_bytes={} schema={} records={} first={} last={} gaps={} lost={} filled={} \
         sessions={} filtered={} conflated={}",
        info.record_bytes,
        info.schema_name,
        info.records,
        info.first,
        info.last,
        info.gaps,
        info.lost,
        info.filled,
        info.sessions,
        info.filtered,
        info.conflated
    ))
}

fn is_readable(fd: i32, step: &Step) -> Result<bool, Failure> {
    let timeout_ms = match step.timeout()? == FOREVER {
        true => -1,
        false => step.number_or("timeout_ms", 0)?,
    };
    let mut polled = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: `polled` is one pollfd.
    Ok(unsafe { libc::poll(&mut polled, 1, timeout_ms) } == 1)
}
