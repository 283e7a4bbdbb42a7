package lapwing

// #include "calls.h"
import "C"

import (
	"cmp"
	"unsafe"
)

// Side is a side of a book.
type Side byte

const (
	Bid Side = 'B'
	Ask Side = 'A'
)

func (s Side) check() error {
	if s == Bid || s == Ask {
		return nil
	}
	return invalid("side is %q; it can be: Bid, Ask", s)
}

// BookKey identifies a book.
type BookKey struct {
	InstrumentID uint32
	PublisherID  uint16
	_            uint16
}

// Level is a price level with all its orders.
type Level struct {
	Price  int64  // 1e-9; NoPrice: none
	Size   uint64 // of all its orders
	Orders uint32 // 0: a top, whose number of orders is unknown
	_      uint32
}

// Order is a resting order.
type Order struct {
	OrderID uint64
	Price   int64  // 1e-9
	Place   uint64 // queue rank; among equal prices the lower one is first
	TsRecv  uint64 // ns since 1970
	Size    uint32 // the remaining size
	Flags   uint32
}

// C writes to these three structs in place. If a size differed, this would not compile.
var (
	_ [unsafe.Sizeof(BookKey{})]byte = [C.sizeof_lapwing_book_key]byte{}
	_ [unsafe.Sizeof(Level{})]byte   = [C.sizeof_lapwing_level]byte{}
	_ [unsafe.Sizeof(Order{})]byte   = [C.sizeof_lapwing_order]byte{}
)

// Book is the order book of one instrument of one publisher.
type Book struct {
	IsSettled   bool // false: inside a venue event
	IsStale     bool // true: its orders may differ from the venue's
	HasTops     bool // true: the feed contains only the best price of each side, and no orders
	Bid         Level
	Ask         Level
	BidLevels   uint64
	AskLevels   uint64
	Orders      uint64
	Sequence    uint64 // of its last record; 0: none since a state was loaded
	TsEvent     uint64 // of the same record, ns since 1970; NoTime: none
	TsRecv      uint64
	LostThrough uint64 // the last sequence of the bus that was lost; 0: none
}

type booksHandle = handle[*C.lapwing_books]

// Books maintains the order books of a dbn.mbo bus.
type Books struct {
	booksHandle
}

// NewBooks returns empty books.
func NewBooks() (*Books, error) {
	if err := load(); err != nil {
		return nil, err
	}
	var made *C.lapwing_books
	e := noError()
	if err := failure(C.lapwing_books_create(&made, &e), &e); err != nil {
		return nil, err
	}
	b := &Books{}
	b.own(made, "Books", nil, func(c *C.lapwing_books) { C.lapwing_books_destroy(&c) })
	return b, nil
}

// Take takes the batches of one subscriber in order, including all events. An error changes nothing.
// ErrMisuse: the batch does not follow the last one. ErrRecordSize: its rows are neither dbn.mbo records nor
// entries of the fold `orders`. ErrInvalidArgument: its rows replace others (Conflate), or its memory was
// replaced by a smaller one after the read.
func (b *Books) Take(batch *Batch) error {
	return b.call(func(c *C.lapwing_books, e *C.lapwing_error) C.lapwing_result {
		if err := batch.holds(); err != nil {
			return refuse(e, err)
		}
		return C.lw_books_take(c, &batch.out, batch.rows(), batch.rowsBytes(), batch.sequences(),
			batch.conflated(), batch.rowsMax(), e)
	})
}

// BooksInfo is the state of the books after the last batch.
type BooksInfo struct {
	IsSettled bool   // no book is inside a venue event, and no state is being loaded
	IsLoading bool   // a state is being loaded: the books contain only part of it
	Sequence  uint64 // of the newest record in the books
	Books     uint64
	Orders    uint64
	Digest    uint64 // equal for equal books
}

// Inspect returns totals over all books. It sorts all orders to compute the digest.
func (b *Books) Inspect() (BooksInfo, error) {
	info := C.lapwing_books_info{struct_size: C.uint32_t(C.sizeof_lapwing_books_info)}
	err := b.call(func(c *C.lapwing_books, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_books_inspect(c, &info, e)
	})
	if err != nil {
		return BooksInfo{}, err
	}
	return BooksInfo{
		IsSettled: info.is_settled != 0,
		IsLoading: info.is_loading != 0,
		Sequence:  uint64(info.sequence),
		Books:     uint64(info.books),
		Orders:    uint64(info.orders),
		Digest:    uint64(info.digest),
	}, nil
}

// Find returns the book with that key. ErrNotFound: the instrument has not been seen.
func (b *Books) Find(key BookKey) (Book, error) {
	book := C.lapwing_book{struct_size: C.uint32_t(C.sizeof_lapwing_book)}
	err := b.call(func(c *C.lapwing_books, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_books_find(c, key.c(), &book, e)
	})
	if err != nil {
		return Book{}, err
	}
	return Book{
		IsSettled:   book.is_settled != 0,
		IsStale:     book.is_stale != 0,
		HasTops:     book.has_tops != 0,
		Bid:         *(*Level)(unsafe.Pointer(&book.bid)),
		Ask:         *(*Level)(unsafe.Pointer(&book.ask)),
		BidLevels:   uint64(book.bid_levels),
		AskLevels:   uint64(book.ask_levels),
		Orders:      uint64(book.orders),
		Sequence:    uint64(book.sequence),
		TsEvent:     uint64(book.ts_event),
		TsRecv:      uint64(book.ts_recv),
		LostThrough: uint64(book.lost_through),
	}, nil
}

func (k BookKey) c() C.lapwing_book_key { return *(*C.lapwing_book_key)(unsafe.Pointer(&k)) }

// List returns the keys of all books, by publisher, then by instrument. It reuses the memory of keys if that
// is large enough.
func (b *Books) List(keys []BookKey) ([]BookKey, error) {
	return all(keys, func(at *BookKey, max C.size_t, count *C.size_t) error {
		return b.call(func(c *C.lapwing_books, e *C.lapwing_error) C.lapwing_result {
			return C.lapwing_books_list(c, (*C.lapwing_book_key)(unsafe.Pointer(at)), max, count, e)
		})
	})
}

// Levels returns the levels of a side from the index `from` on; 0 is the best. It reuses the memory of levels,
// and returns as many as fit into its capacity.
func (b *Books) Levels(key BookKey, side Side, from int, levels []Level) ([]Level, error) {
	if err := cmp.Or(side.check(), notNegative("from", from)); err != nil {
		return levels[:0], err
	}
	var count C.size_t
	at := (*C.lapwing_level)(unsafe.Pointer(unsafe.SliceData(levels)))
	err := b.call(func(c *C.lapwing_books, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_books_levels(c, key.c(), C.char(side), C.size_t(from), at, C.size_t(cap(levels)),
			&count, e)
	})
	return levels[:count], err
}

// Orders returns the orders of the level with that index in queue order. It reuses the memory of orders if
// that is large enough. ErrNotFound: no such level.
func (b *Books) Orders(key BookKey, side Side, level int, orders []Order) ([]Order, error) {
	if err := cmp.Or(side.check(), notNegative("level", level)); err != nil {
		return orders[:0], err
	}
	return all(orders, func(at *Order, max C.size_t, count *C.size_t) error {
		return b.call(func(c *C.lapwing_books, e *C.lapwing_error) C.lapwing_result {
			return C.lapwing_books_orders(c, key.c(), C.char(side), C.size_t(level),
				(*C.lapwing_order)(unsafe.Pointer(at)), max, count, e)
		})
	})
}

// all repeats a call with more memory until the whole list fits.
func all[T any](list []T, read func(at *T, max C.size_t, count *C.size_t) error) ([]T, error) {
	for {
		var count C.size_t
		err := read(unsafe.SliceData(list), C.size_t(cap(list)), &count)
		if CodeOf(err) != ErrTooSmall {
			return list[:min(int(count), cap(list))], err
		}
		list = make([]T, count)
	}
}
