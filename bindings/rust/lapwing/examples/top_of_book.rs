//! Prints the best bid and ask of an instrument on a dbn.mbo bus after every venue event. Prints
//! nothing while the book is stale. Ends when the bus is closed.
//!
//!     top_of_book BUS PUBLISHER INSTRUMENT

use lapwing::{Batch, BookKey, Books, Code, Level, Start, Subscriber, SubscriberOptions, FOREVER};

fn shown(level: Option<Level>) -> String {
    level.map_or("-".into(), |level| format!("{} x {}", level.price as f64 / 1e9, level.size))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, bus, publisher, instrument] = &arguments[..] else {
        return Err("usage: top_of_book BUS PUBLISHER INSTRUMENT".into());
    };
    let key = BookKey { publisher_id: publisher.parse()?, instrument_id: instrument.parse()? };

    let mut subscriber =
        Subscriber::open(&SubscriberOptions::new(bus).start(Start::Oldest).end_at_close(true))?;
    let mut books = Books::new()?;
    let mut batch = Batch::new(1); // one row, so that every top is seen
    let mut last = None;
    loop {
        match subscriber.read(&mut batch, FOREVER) {
            Err(error) if error.code() == Code::Closed => return Ok(()),
            read => read?,
        };
        books.take(&batch)?;
        let Some(book) = books.find(key)?.filter(|book| book.is_settled && !book.is_stale) else {
            continue;
        };
        let top = (book.bid, book.ask);
        if last != Some(top) {
            println!("{}: {} / {}", book.sequence, shown(book.bid), shown(book.ask));
            last = Some(top);
        }
    }
}
