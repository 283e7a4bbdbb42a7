//! Steps with order books.

use lapwing::{Batch, Book, BookKey, BookSide, Books, Level};

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
                let (until, rows) = (step.text("until")?, step.number_or("rows", 4096)?);
                read_until(reading, until, rows, step.timeout()?, |batch| Ok(books.take(batch)?))?;
                ok()
            })
        }),
        "take" => all.with(step.text("on")?, |books| {
            objects.readings.with(step.text("from")?, |reading| {
                let mut batch = Batch::new(16);
                reading.subscriber.read(&mut batch, step.timeout()?)?;
                let _first = books.take(&batch);
                books.take(&batch)?;
                ok()
            })
        }),
        _ => all.with(step.text("on")?, |books| answer_of(verb, step, books)),
    }
}

fn answer_of(verb: &str, step: &Step, books: &Books) -> Answer {
    match verb {
        "inspect" => {
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
        }
        "list" => list(books.keys()?, |key| format!("{}:{}", key.publisher_id, key.instrument_id)),
        "find" => {
            let none = Failure::Result(lapwing::Code::NotFound, String::new());
            Ok(book_line(&books.find(key(step)?)?.ok_or(none)?))
        }
        "levels" => {
            let (from, max) = (step.number("from")?, step.number("max")?);
            list(books.levels(key(step)?, side(step)?, from, max)?, |level| level_text(Some(level)))
        }
        "orders" => list(books.orders(key(step)?, side(step)?, step.number("level")?)?, |order| {
            format!("{}:{}", order.order_id, order.size)
        }),
        _ => Err(Failure::Unsupported),
    }
}

fn key(step: &Step) -> Result<BookKey, Failure> {
    Ok(BookKey {
        publisher_id: step.number("publisher")?,
        instrument_id: step.number("instrument")?,
    })
}

fn side(step: &Step) -> Result<BookSide, Failure> {
    match step.text("side")? {
        "B" => Ok(BookSide::Bid),
        "A" => Ok(BookSide::Ask),
        _ => Err(Failure::Unsupported),
    }
}

fn list<T>(all: Vec<T>, text: impl FnMut(T) -> String) -> Answer {
    let texts: Vec<String> = all.into_iter().map(text).collect();
    Ok(format!("ok {}", texts.join(",")).trim_end().to_owned())
}

fn level_text(level: Option<Level>) -> String {
    let none = Level { price: i64::MAX, size: 0, orders: 0 };
    let Level { price, size, orders } = level.unwrap_or(none);
    format!("{price}:{size}:{orders}")
}

fn book_line(book: &Book) -> String {
    format!(
        "ok bid={} ask={} orders={} stale={} settled={} levels={}:{}",
        level_text(book.bid),
        level_text(book.ask),
        book.orders,
        u8::from(book.is_stale),
        u8::from(book.is_settled),
        book.bid_levels,
        book.ask_levels
    )
}
