//! Steps with wait sets.

use std::time::Duration;

use lapwing::{SourceId, WaitSet};

use crate::answer::{ok, Answer, Failure};
use crate::objects::{Objects, Side};
use crate::step::Step;
use crate::subscriber::WAITS;

pub fn run(verb: &str, step: &Step, objects: &Objects) -> Answer {
    let sets = &objects.sets;
    match verb {
        "open" => {
            let set = WaitSet::open(step.one_of("wait", WAITS)?)?;
            let name = step.text("as")?;
            objects.put_interrupter(name, set.interrupter());
            sets.put(name, set);
            ok()
        }
        "interrupt" => objects.interrupt(step.text("on")?),
        "destroy" => sets.destroy(step.text("on")?),
        _ => sets.with(step.text("on")?, |set| call(verb, step, set, objects)),
    }
}

fn call(verb: &str, step: &Step, set: &mut WaitSet, objects: &Objects) -> Answer {
    match verb {
        "add" => {
            let name = step.text("source")?;
            objects.sources.put(name, add(set, name, step, objects)?);
        }
        "add-timer" => {
            let timer = set.add_timer(first(step)?, every(step)?, step.number("token")?)?;
            objects.sources.put(step.text("as")?, timer);
        }
        "set-timer" => {
            let timer = objects.sources.get(step.text("timer")?)?;
            set.set_timer(timer, first(step)?, every(step)?)?;
        }
        "remove" => set.remove(objects.sources.get(step.text("source")?)?)?,
        "wait" => {
            let ready = set.wait(step.timeout()?)?;
            return Ok(format!("ok kind={} token={}", ready.kind, ready.token));
        }
        _ => return Err(Failure::Unsupported),
    }
    ok()
}

fn add(set: &mut WaitSet, name: &str, step: &Step, objects: &Objects) -> Result<SourceId, Failure> {
    let token = step.number("token")?;
    if objects.readings.has(name) {
        return objects.readings.with(name, |reading| Ok(set.add(&reading.subscriber, token)?));
    }
    if objects.listeners.has(name) {
        return objects.listeners.with(name, |listener| Ok(set.add(&*listener, token)?));
    }
    objects.sides.with(name, |side| {
        Ok(match side {
            Side::Producer(producer) => {
                set.add_producer(producer, step.number_or("bytes", 0)?, token)?
            }
            Side::Consumer(consumer) => set.add(&*consumer, token)?,
            Side::Duplex(duplex) => set.add(&*duplex, token)?,
        })
    })
}

fn first(step: &Step) -> Result<Option<Duration>, Failure> {
    match step.text("in_ms")? {
        "never" => Ok(None),
        _ => step.milliseconds("in_ms").map(Some),
    }
}

fn every(step: &Step) -> Result<Option<Duration>, Failure> {
    step.has("every_ms").then(|| step.milliseconds("every_ms")).transpose()
}
