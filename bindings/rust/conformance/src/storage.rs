//! Steps with cursors and histories.

use lapwing::{Batch, Code, Commit, Cursor, History, View};

use crate::answer::{ok, Answer, Failure};
use crate::objects::Objects;
use crate::rows::Digest;
use crate::step::Step;
use crate::subscriber::{failure_of, line_of};

pub fn cursor(verb: &str, step: &Step, objects: &Objects) -> Answer {
    let cursors = &objects.cursors;
    match verb {
        "open" => {
            let (path, durable) = (step.text("path")?, step.flag("durable"));
            cursors.put(step.text("as")?, Cursor::open(path, durable, step.timeout()?)?);
            ok()
        }
        "position" => cursors.with(step.text("on")?, |cursor| {
            let none = Failure::Result(Code::NotFound, String::new());
            let Commit { position, output_bytes, output_file } = cursor.last()?.ok_or(none)?;
            objects.positions.put(step.text("as")?, position);
            Ok(format!("ok sequence={} bytes={output_bytes} file={output_file}", position.sequence))
        }),
        "commit" => cursors.with(step.text("on")?, |cursor| {
            cursor.commit(&Commit {
                position: objects.positions.get(step.text("position")?)?,
                output_bytes: step.number_or("bytes", 0)?,
                output_file: step.number_or("file", 0)?,
            })?;
            ok()
        }),
        "destroy" => cursors.destroy(step.text("on")?),
        _ => Err(Failure::Unsupported),
    }
}

pub fn history(verb: &str, step: &Step, objects: &Objects) -> Answer {
    let histories = &objects.histories;
    match verb {
        "open" => {
            histories.put(step.text("as")?, History::open(step.text("directory")?)?);
            ok()
        }
        "inspect" => histories.with(step.text("on")?, |history| {
            let info = history.info()?;
            Ok(format!(
                "ok record_bytes={} schema={} oldest={} archived={} durable={}",
                info.record_bytes, info.schema_name, info.oldest, info.archived, info.durable
            ))
        }),
        "read" => histories.with(step.text("on")?, |history| {
            let mut batch = Batch::new(step.number("rows")?);
            let done = history.read(step.number("first")?, &mut batch).map(|_| ());
            done.map_err(|error| failure_of(error, &batch))?;
            Ok(line_of(batch.chunk().ok_or_else(Failure::misuse)?, false))
        }),
        "find-time" => histories.with(step.text("on")?, |history| {
            Ok(format!("ok sequence={}", history.find_time(step.number("value")?)?))
        }),
        "map" => histories.with(step.text("on")?, |history| {
            let view = history.map(step.number("first")?..=step.number("last")?)?;
            let line = view_line(&view);
            objects.views.put(step.text("as")?, view);
            Ok(line)
        }),
        "unmap" => objects.views.destroy(step.text("on")?),
        "destroy" => histories.destroy(step.text("on")?),
        _ => Err(Failure::Unsupported),
    }
}

fn view_line(view: &View) -> String {
    let mut digest = Digest::new();
    view.iter().for_each(|row| digest.add(row));
    format!(
        "ok first={} count={} row_bytes={} digest={}",
        view.first(),
        view.len(),
        view.row_bytes(),
        digest.text()
    )
}
