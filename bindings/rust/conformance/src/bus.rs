//! Steps with the library itself, and with publishers.

use lapwing::{Code, Publisher, PublisherOptions, Schema};

use crate::answer::{ok, Answer, Failure};
use crate::objects::Objects;
use crate::rows::record;
use crate::step::Step;

pub fn library(verb: &str, step: &Step) -> Answer {
    match verb {
        "version" => {
            let version = lapwing::version()?;
            Ok(format!("ok abi={}.{}", version.abi_major, version.abi_minor))
        }
        "errors" => {
            let name = |number| format!("{number}={}", Code::from_number(number).name());
            Ok(format!("ok {}", (0..=36).map(name).collect::<Vec<_>>().join(",")))
        }
        "schema" => {
            let schema = match step.given("directory") {
                Some(directory) => Schema::of_bus(directory)?,
                None => Schema::shipped(step.text("name")?)?,
            };
            let fields = schema.fields.iter().map(|field| {
                format!(
                    "{}:{}:{}:{}:{}:{}",
                    field.name,
                    field.field_type.number(),
                    field.offset,
                    field.bytes,
                    field.unit.number(),
                    field.role.number()
                )
            });
            Ok(format!(
                "ok name={} version={} record_bytes={} fields={}",
                schema.name,
                schema.version,
                schema.record_bytes,
                fields.collect::<Vec<_>>().join(",")
            ))
        }
        _ => Err(Failure::Unsupported),
    }
}

pub fn publisher(verb: &str, step: &Step, objects: &Objects) -> Answer {
    let publishers = &objects.publishers;
    match verb {
        "open" => {
            let publisher = Publisher::open(&options(step)?, step.timeout()?)?;
            let name = step.text("as")?;
            objects.put_interrupter(name, publisher.interrupter());
            publishers.put(name, publisher);
            ok()
        }
        "publish" => publishers
            .with(step.text("on")?, |publisher| publish(publisher, step))
            .map_err(|failure| failure.or("last=0")),
        "flush" => publishers.with(step.text("on")?, |publisher| {
            Ok(format!("ok durable={}", publisher.flush(step.timeout()?)?))
        }),
        "inspect" => publishers.with(step.text("on")?, |publisher| inspect(publisher)),
        "close" => publishers.with(step.text("on")?, |publisher| {
            publisher.close(step.timeout()?)?;
            ok()
        }),
        "interrupt" => objects.interrupt(step.text("on")?),
        "destroy" => publishers.destroy(step.text("on")?),
        _ => Err(Failure::Unsupported),
    }
}

fn options(step: &Step) -> Result<PublisherOptions, Failure> {
    let mut options = PublisherOptions::new(step.text_or_empty("directory"))
        .schema_name(step.text_or_empty("schema_name"))
        .schema(step.text_or_empty("schema"))
        .record_bytes(step.number_or("record_bytes", 0)?)
        .capacity(step.number_or("capacity", 0)?)
        .no_journal(step.flag("no_journal"))
        .resume(step.flag("resume"))
        .retain_bytes(step.number_or("retain_bytes", 0)?)
        .source_id(step.number_or("source_id", 0)?);
    if step.has("segment_bytes") {
        options = options.segment_bytes(step.number("segment_bytes")?);
    }
    Ok(options)
}

/// The answer always contains the sequence of the last published record.
fn publish(publisher: &mut Publisher, step: &Step) -> Answer {
    let bytes = match step.has("bytes") {
        true => step.number("bytes")?,
        false => publisher.info()?.record_bytes as usize,
    };
    let (from, count): (u64, u64) = (step.number("from")?, step.number("count")?);
    let rows: Vec<u8> = (from..from + count).flat_map(|n| record(n, bytes)).collect();
    let last = publisher.publish_bytes(&rows, bytes, step.timeout()?).map_err(|error| {
        let last = error.progress();
        Failure::from(error).with(format!("last={last}"))
    })?;
    Ok(format!("ok last={last}"))
}

fn inspect(publisher: &Publisher) -> Answer {
    let info = publisher.info()?;
    let (first, last) = info.void.map_or((0, 0), |void| (*void.start(), *void.end()));
    Ok(format!(
        "ok record_bytes={} first={} head={} settled={} journal={} source_offset={} \
         void={first}-{last}",
        info.record_bytes, info.first, info.head, info.settled, info.journal, info.source_offset
    ))
}
