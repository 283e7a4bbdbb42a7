//! Steps with order books.

use lapwing::Books;

use crate::answer::{ok, Answer, Failure};
use crate::objects::Objects;
use crate::step::Step;
use crate::subscriber::read_until;

pub fn run(verb: &str, step: &Step, objects: &Objects) -> Answer {
    let all = &objects.books;
    match verb {
        "create" => {
            all.put(step.text("as")?, Books::new()?);
            ok()
        }
        "destroy" => all.destroy(step.text("on")?),
        "follow" => all.with(step.text("on")?, |books| {
            objects.readings.with(step.text("from")?, |reading| {
                let (until, timeout) = (step.text("until")?, step.timeout()?);
                read_until(reading, until, timeout, |batch| Ok(books.take(batch)?))?;
                ok()
            })
        }),
        "inspect" => all.with(step.text("on")?, |books| {
            let info = books.info()?;
            Ok(format!(
                "ok sequence={} books={} orders={} settled={} loading={} digest={:016x}",
                info.sequence,
                info.books,
                info.orders,
                u8::from(info.is_settled),
                u8::from(info.is_loading),
                info.digest
            ))
        }),
        _ => Err(Failure::Unsupported),
    }
}
