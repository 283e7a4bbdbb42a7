//! The order books of a dbn.mbo bus.

use lapwing_sys as sys;

use crate::batch::Batch;
use crate::error::{Code, Result};
use crate::handle::Handle;
use crate::memory::all;

/// Identifies a book: an instrument of one of the feed's publishers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BookKey {
    pub publisher_id: u16,
    pub instrument_id: u32,
}

/// A side of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    Bid,
    Ask,
}

/// A price level of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// In units of 1e-9 of a currency or point.
    pub price: i64,
    /// Total size of its orders.
    pub size: u64,
    /// Number of orders; 0: a top, whose number of orders is unknown.
    pub orders: u32,
}

/// A resting order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    pub order_id: u64,
    /// In units of 1e-9 of a currency or point.
    pub price: i64,
    /// Queue rank: among equal prices, the order with the lower rank is first.
    pub place: u64,
    /// UTC ns.
    pub ts_recv: u64,
    /// Remaining size.
    pub size: u32,
    pub flags: u32,
}

/// The book of an instrument: its best prices and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Book {
    pub bid: Option<Level>,
    pub ask: Option<Level>,
    /// False inside a venue event.
    pub is_settled: bool,
    /// True if its orders may differ from the venue's.
    pub is_stale: bool,
    /// True if the feed contains only the best price of each side, and no orders.
    pub has_tops: bool,
    pub bid_levels: u64,
    pub ask_levels: u64,
    pub orders: u64,
    /// Sequence of its last record; 0: none since a state was loaded.
    pub sequence: u64,
    /// Time of that record at the venue, UTC ns.
    pub ts_event: Option<u64>,
    /// Time at which that record was received, UTC ns.
    pub ts_recv: Option<u64>,
    /// The last sequence of the bus that was lost; 0: none.
    pub lost_through: u64,
}

/// All books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BooksInfo {
    /// True if no book is inside a venue event, and no state is being loaded.
    pub is_settled: bool,
    /// True while a state is being loaded: the books contain only part of it.
    pub is_loading: bool,
    /// Sequence of the newest record in the books.
    pub sequence: u64,
    pub books: u64,
    pub orders: u64,
    /// Equal for equal books.
    pub digest: u64,
}

/// Maintains the order books of every instrument.
///
/// ```no_run
/// # use lapwing::*;
/// # fn main() -> lapwing::Result<()> {
/// let mut subscriber =
///     Subscriber::open(&SubscriberOptions::new("./es"))?;
/// let mut books = Books::new()?;
/// let mut batch = Batch::new(4096);
/// loop {
///     subscriber.read(&mut batch, FOREVER)?;
///     books.take(&batch)?;
///     for key in books.keys()? {
///         let book = books.find(key)?;
///     }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Books {
    handle: Handle<sys::lapwing_books>,
}

impl Books {
    pub fn new() -> Result<Books> {
        // SAFETY: both pointers are valid.
        let handle = Handle::open(|library, place, error| unsafe {
            library.lapwing_books_create(place, error)
        })?;
        Ok(Books { handle })
    }

    /// Takes the result of the batch's last read. Pass all batches of one subscriber in order,
    /// including events.
    ///
    /// An error changes nothing. Errors: misuse (the batch does not follow the last one),
    /// record-size (its rows are neither dbn.mbo records nor entries of the fold `orders`),
    /// invalid-argument (its rows replace others).
    pub fn take(&mut self, batch: &Batch) -> Result<()> {
        // SAFETY: the batch contains the sizes of its buffers.
        self.handle.call(|library, books, error| unsafe {
            library.lapwing_books_take(books, batch.as_c(), error)
        })
    }

    /// Returns totals over all books. Sorts all orders to compute the digest.
    pub fn info(&self) -> Result<BooksInfo> {
        let mut info = sys::lapwing_books_info {
            struct_size: size_of::<sys::lapwing_books_info>() as u32,
            ..Default::default()
        };
        // SAFETY: `info.struct_size` is set.
        self.handle.call(|library, books, error| unsafe {
            library.lapwing_books_inspect(books, &mut info, error)
        })?;
        Ok(BooksInfo {
            is_settled: info.is_settled != 0,
            is_loading: info.is_loading != 0,
            sequence: info.sequence,
            books: info.books,
            orders: info.orders,
            digest: info.digest,
        })
    }

    /// Returns the keys of all books, by publisher, then by instrument.
    pub fn keys(&self) -> Result<Vec<BookKey>> {
        let keys = all(|keys: &mut [sys::lapwing_book_key], count| {
            // SAFETY: the buffer has the given length.
            self.handle.call(|library, books, error| unsafe {
                library.lapwing_books_list(books, keys.as_mut_ptr(), keys.len(), count, error)
            })
        })?;
        Ok(keys.into_iter().map(BookKey::from).collect())
    }

    /// Returns the book of an instrument; `None` if the instrument has not been seen.
    pub fn find(&self, key: BookKey) -> Result<Option<Book>> {
        let mut book = sys::lapwing_book {
            struct_size: size_of::<sys::lapwing_book>() as u32,
            ..Default::default()
        };
        // SAFETY: `book.struct_size` is set.
        let found = self.handle.call(|library, books, error| unsafe {
            library.lapwing_books_find(books, key.into(), &mut book, error)
        });
        match found {
            Ok(()) => Ok(Some(Book::from(&book))),
            Err(error) if error.code() == Code::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns at most `max` levels of a side, from the index `from` on. Level 0 is the best.
    pub fn levels(&self, key: BookKey, side: Side, from: usize, max: usize) -> Result<Vec<Level>> {
        let mut levels = Vec::new();
        self.levels_into(key, side, from, max, &mut levels)?;
        Ok(levels)
    }

    /// Like [`levels`](Books::levels), but reuses memory: clears the vector `levels` and fills it.
    pub fn levels_into(
        &self,
        key: BookKey,
        side: Side,
        from: usize,
        max: usize,
        levels: &mut Vec<Level>,
    ) -> Result<()> {
        const PART: usize = 32;
        let mut part = [sys::lapwing_level::default(); PART];
        levels.clear();
        while levels.len() < max {
            let wanted = (max - levels.len()).min(PART);
            let mut count = 0;
            // SAFETY: the buffer holds `wanted` levels.
            self.handle.call(|library, books, error| unsafe {
                library.lapwing_books_levels(
                    books,
                    key.into(),
                    side.letter(),
                    from + levels.len(),
                    part.as_mut_ptr(),
                    wanted,
                    &mut count,
                    error,
                )
            })?;
            levels.extend(part[..count].iter().map(Level::from));
            if count < wanted {
                break;
            }
        }
        Ok(())
    }

    /// Returns the orders of a level in queue order. Error: not-found (no such level).
    pub fn orders(&self, key: BookKey, side: Side, level: usize) -> Result<Vec<Order>> {
        let orders = all(|orders: &mut [sys::lapwing_order], count| {
            // SAFETY: the buffer has the given length.
            self.handle.call(|library, books, error| unsafe {
                library.lapwing_books_orders(
                    books,
                    key.into(),
                    side.letter(),
                    level,
                    orders.as_mut_ptr(),
                    orders.len(),
                    count,
                    error,
                )
            })
        })?;
        Ok(orders.iter().map(Order::from).collect())
    }
}

impl Side {
    fn letter(self) -> std::ffi::c_char {
        match self {
            Side::Bid => b'B' as std::ffi::c_char,
            Side::Ask => b'A' as std::ffi::c_char,
        }
    }
}

impl From<sys::lapwing_book_key> for BookKey {
    fn from(key: sys::lapwing_book_key) -> BookKey {
        BookKey { publisher_id: key.publisher_id, instrument_id: key.instrument_id }
    }
}

impl From<BookKey> for sys::lapwing_book_key {
    fn from(key: BookKey) -> sys::lapwing_book_key {
        sys::lapwing_book_key {
            instrument_id: key.instrument_id,
            publisher_id: key.publisher_id,
            reserved: 0,
        }
    }
}

impl From<&sys::lapwing_level> for Level {
    fn from(level: &sys::lapwing_level) -> Level {
        Level { price: level.price, size: level.size, orders: level.orders }
    }
}

impl From<&sys::lapwing_order> for Order {
    fn from(order: &sys::lapwing_order) -> Order {
        Order {
            order_id: order.order_id,
            price: order.price,
            place: order.place,
            ts_recv: order.ts_recv,
            size: order.size,
            flags: order.flags,
        }
    }
}

impl From<&sys::lapwing_book> for Book {
    fn from(book: &sys::lapwing_book) -> Book {
        let best =
            |level: &sys::lapwing_level| (level.price != i64::MAX).then_some(Level::from(level));
        let time = |ns: u64| (ns != u64::MAX).then_some(ns);
        Book {
            bid: best(&book.bid),
            ask: best(&book.ask),
            is_settled: book.is_settled != 0,
            is_stale: book.is_stale != 0,
            has_tops: book.has_tops != 0,
            bid_levels: book.bid_levels,
            ask_levels: book.ask_levels,
            orders: book.orders,
            sequence: book.sequence,
            ts_event: time(book.ts_event),
            ts_recv: time(book.ts_recv),
            lost_through: book.lost_through,
        }
    }
}
