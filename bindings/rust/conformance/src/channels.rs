//! Steps with listeners and channels. A step that does not fit the role returns misuse: in Rust it
//! would not compile.

use lapwing::{
    Channel, ChannelOptions, Consumer, Duplex, Listener, Outcome, Producer, Reply, Timeout,
};

use crate::answer::{ok, Answer, Failure};
use crate::objects::{Objects, Side};
use crate::rows::{record, Digest};
use crate::step::Step;

pub fn listener(verb: &str, step: &Step, objects: &Objects) -> Answer {
    let listeners = &objects.listeners;
    match verb {
        "open" | "take-over" => {
            let (path, options) = (step.text("path")?, options(step)?);
            let listener = match verb {
                "open" => Listener::open(path, &options)?,
                _ => Listener::take_over(path, &options, step.timeout()?)?,
            };
            let name = step.text("as")?;
            objects.put_interrupter(name, listener.interrupter());
            listeners.put(name, listener);
            ok()
        }
        "accept" => listeners.with(step.text("on")?, |listener| {
            let (options, timeout) = (options(step)?, step.timeout()?);
            let side = match step.text("role")? {
                "producer" => Side::Producer(listener.accept(&options, timeout)?),
                "consumer" => Side::Consumer(listener.accept(&options, timeout)?),
                "duplex" => Side::Duplex(listener.accept(&options, timeout)?),
                _ => return Err(Failure::Unsupported),
            };
            put(side, step, objects)
        }),
        "tend" => listeners.with(step.text("on")?, |listener| {
            listener.tend()?;
            ok()
        }),
        "interrupt" => objects.interrupt(step.text("on")?),
        "destroy" => listeners.destroy(step.text("on")?),
        _ => Err(Failure::Unsupported),
    }
}

fn options(step: &Step) -> Result<ChannelOptions, Failure> {
    let mut options = ChannelOptions::new().late_replies(step.flag("late_replies"));
    if step.has("capacity") {
        options = options.capacity(step.number("capacity")?);
    }
    if step.has("message_bytes_max") {
        options = options.message_bytes_max(step.number("message_bytes_max")?);
    }
    if step.has("call_window") {
        options = options.call_window(step.number("call_window")?);
    }
    Ok(options)
}

fn put(mut side: Side, step: &Step, objects: &Objects) -> Answer {
    let name = step.text("as")?;
    objects.put_interrupter(name, side.channel().interrupter());
    objects.sides.put(name, side);
    ok()
}

impl Side {
    fn channel(&mut self) -> &mut Channel {
        match self {
            Side::Producer(producer) => producer,
            Side::Consumer(consumer) => consumer,
            Side::Duplex(duplex) => duplex,
        }
    }

    fn producer(&mut self) -> Result<&mut Producer, Failure> {
        match self {
            Side::Producer(producer) => Ok(producer),
            _ => Err(Failure::misuse()),
        }
    }

    fn consumer(&mut self) -> Result<&mut Consumer, Failure> {
        match self {
            Side::Consumer(consumer) => Ok(consumer),
            _ => Err(Failure::misuse()),
        }
    }

    fn duplex(&mut self) -> Result<&mut Duplex, Failure> {
        match self {
            Side::Duplex(duplex) => Ok(duplex),
            _ => Err(Failure::misuse()),
        }
    }
}

pub fn channel(verb: &str, step: &Step, objects: &Objects) -> Answer {
    match verb {
        "connect" => {
            let (path, options) = (step.text("path")?, options(step)?);
            let timeout = step.timeout()?;
            let side = match step.text("role")? {
                "producer" => Side::Producer(Producer::connect(path, &options, timeout)?),
                "consumer" => Side::Consumer(Consumer::connect(path, &options, timeout)?),
                "duplex" => Side::Duplex(Duplex::connect(path, &options, timeout)?),
                _ => return Err(Failure::Unsupported),
            };
            put(side, step, objects)
        }
        "interrupt" => objects.interrupt(step.text("on")?),
        "destroy" => objects.sides.destroy(step.text("on")?),
        "send" => objects
            .sides
            .with(step.text("on")?, |side| send(step, side, step.timeout()?))
            .map_err(|failure| failure.or("sent=0")),
        _ => objects.sides.with(step.text("on")?, |side| one_way(verb, step, side, objects)),
    }
}

fn one_way(verb: &str, step: &Step, side: &mut Side, objects: &Objects) -> Answer {
    let timeout = step.timeout()?;
    match verb {
        "write" => {
            let (n, bytes, claimed) = sizes(step)?;
            let mut claim = side.producer()?.claim(claimed, timeout)?;
            for (place, byte) in claim.iter_mut().zip(record(n, bytes)) {
                *place = byte;
            }
            claim.commit_first(bytes, step.number("type")?)?;
            ok()
        }
        "abort" => {
            side.producer()?.claim(step.number("bytes")?, timeout)?.abort()?;
            ok()
        }
        "drain" => {
            side.producer()?.drain(timeout)?;
            ok()
        }
        "peek" => {
            let messages = side.consumer()?.peek(step.number("max")?, timeout)?;
            let texts = messages.iter().map(|message| {
                let payload = message.payload();
                let digest = Digest::of(payload);
                format!("{}:{}:{digest}", message.message_type(), payload.len())
            });
            let texts: Vec<String> = texts.collect();
            Ok(format!("ok count={} messages={}", messages.len(), texts.join(",")))
        }
        "release" => {
            side.consumer()?.release(step.number("count")?)?;
            ok()
        }
        "arm" => {
            let armed = side.channel().arm(step.number_or("bytes", 0)?)?;
            Ok(format!("ok armed={}", u8::from(armed)))
        }
        "inspect" => {
            let info = side.channel().info()?;
            Ok(format!(
                "ok role={} message_bytes_max={} sent={} received={} released={} late={}",
                info.role,
                info.message_bytes_max,
                info.sent,
                info.received,
                info.released,
                info.late_replies
            ))
        }
        "close" => {
            side.channel().close()?;
            ok()
        }
        _ => call(verb, step, side, objects, timeout),
    }
}

fn sizes(step: &Step) -> Result<(u64, usize, usize), Failure> {
    let bytes = step.number("bytes")?;
    Ok((step.number("n")?, bytes, step.number_or("claim", bytes)?))
}

/// The answer always contains the number of messages that were sent.
fn send(step: &Step, side: &mut Side, timeout: Timeout) -> Answer {
    let (bytes, message_type): (usize, u32) = (step.number("bytes")?, step.number("type")?);
    let n: u64 = step.number("n")?;
    let payloads: Vec<Vec<u8>> =
        (n..n + step.number_or("count", 1)?).map(|n| record(n, bytes)).collect();
    let messages: Vec<(u32, &[u8])> =
        payloads.iter().map(|payload| (message_type, payload.as_slice())).collect();
    let sent = match side {
        Side::Producer(producer) => producer.send_all(&messages, timeout),
        Side::Duplex(duplex) => duplex.send_all(&messages, timeout),
        Side::Consumer(_) => return Err(Failure::misuse()),
    };
    sent.map_err(|error| {
        let sent = error.progress();
        Failure::from(error).with(format!("sent={sent}"))
    })?;
    Ok(format!("ok sent={}", messages.len()))
}

fn call(verb: &str, step: &Step, side: &mut Side, objects: &Objects, timeout: Timeout) -> Answer {
    match verb {
        "start" => {
            let (n, bytes, _) = sizes(step)?;
            let message_type = step.number("type")?;
            let call = side.duplex()?.start(message_type, &record(n, bytes), timeout)?;
            Ok(format!("ok call={}", objects.add_call(call)))
        }
        "finish" => finish(step, side.duplex()?, objects, timeout),
        "cancel" => {
            side.duplex()?.cancel(objects.call(step.number("call")?)?)?;
            ok()
        }
        "next" => {
            let request = side.duplex()?.receive(timeout)?;
            let (call, payload) = (request.call(), request.payload());
            objects.requests.put(step.text("as")?, call);
            Ok(format!(
                "ok call={} type={} bytes={} digest={}",
                u8::from(call.is_some()),
                request.message_type(),
                payload.len(),
                Digest::of(payload)
            ))
        }
        "reply" => {
            let duplex = side.duplex()?;
            let call = objects.requests.get(step.text("call")?)?.ok_or_else(Failure::misuse)?;
            if step.has("error") {
                duplex.reply_error(call, step.number("error")?, step.text("text")?, timeout)?;
            } else {
                let (n, bytes, _) = sizes(step)?;
                duplex.reply(call, step.number("type")?, &record(n, bytes), timeout)?;
            }
            ok()
        }
        _ => Err(Failure::Unsupported),
    }
}

fn finish(step: &Step, duplex: &mut Duplex, objects: &Objects, timeout: Timeout) -> Answer {
    let (call, reply): (lapwing::Call, Reply<'_>) = if step.has("call") {
        let call = objects.call(step.number("call")?)?;
        (call, duplex.finish(call)?)
    } else {
        let finished = duplex.finish_any(timeout)?;
        (finished.call, finished.reply?)
    };
    let (is_error, code, message_type) = match reply.outcome {
        Outcome::Reply { message_type } => (0, 0, message_type),
        Outcome::Error { code } => (1, code, 0),
    };
    Ok(format!(
        "ok call={} error={is_error} late={} code={code} type={message_type} bytes={} digest={}",
        objects.number_of(call),
        u8::from(reply.is_late),
        reply.payload.len(),
        Digest::of(reply.payload)
    ))
}
