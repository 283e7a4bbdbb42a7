package lapwing

// #include "calls.h"
import "C"

import (
	"cmp"
	"unsafe"
)

// Side of a book.
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

// BookKey names a book.
type BookKey struct {
	InstrumentID uint32
	PublisherID  uint16
	_            uint16
}

// Level is a price with all its orders.
type Level struct {
	Price  int64  // 1e-9; NoPrice: none
	Size   uint64 // of all its orders
	Orders uint32 // 0: a top, of which the number of orders is not known
	_      uint32
}

// Order is one that rests.
type Order struct {
	OrderID uint64
	Price   int64  // 1e-9
	Place   uint64 // among equal prices the lower one is first
	TsRecv  uint64 // ns since 1970
	Size    uint32 // what is left of it
	Flags   uint32
}

// C fills these three in where they are: a size that differed would not compile.
var (
	_ [unsafe.Sizeof(BookKey{})]byte = [C.sizeof_lapwing_book_key]byte{}
	_ [unsafe.Sizeof(Level{})]byte   = [C.sizeof_lapwing_level]byte{}
	_ [unsafe.Sizeof(Order{})]byte   = [C.sizeof_lapwing_order]byte{}
)

// Book is one instrument of one publisher.
type Book struct {
	IsSettled   bool // false: within an event of the venue
	IsStale     bool // its orders may differ from the venue's
	HasTops     bool // the feed gives the best price of each side, and no orders
	Bid         Level
	Ask         Level
	BidLevels   uint64
	AskLevels   uint64
	Orders      uint64
	Sequence    uint64 // of its last record; 0: none since a state was loaded
	TsEvent     uint64 // likewise, ns since 1970; NoTime: none
	TsRecv      uint64
	LostThrough uint64 // the last sequence of the bus that was lost; 0: none
}

type booksHandle = handle[*C.lapwing_books]

// Books is the order books of a bus of dbn.mbo.
type Books struct {
	booksHandle
}

// NewBooks is books in which nothing is yet.
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

// Take takes the batches of one subscriber in their order, events too. ErrMisuse: the batch does not
// follow the last one. ErrRecordSize: its rows are neither dbn.mbo nor of the fold `orders`.
// ErrInvalidArgument: rows that replace others (Conflate), or memory that was replaced by a smaller one
// after the read. Nothing is changed then.
func (b *Books) Take(batch *Batch) error {
	return b.call(func(c *C.lapwing_books, e *C.lapwing_error) C.lapwing_result {
		if err := batch.holds(); err != nil {
			return refuse(e, err)
		}
		return C.lw_books_take(c, &batch.out, batch.rows(), batch.rowsBytes(), batch.sequences(),
			batch.conflated(), batch.rowsMax(), e)
	})
}

// BooksInfo is as of the last batch.
type BooksInfo struct {
	IsSettled bool   // no book is within an event of the venue, and no state is being loaded
	IsLoading bool   // a state is: the books are half of it
	Sequence  uint64 // of the last record that is in them
	Books     uint64
	Orders    uint64
	Digest    uint64 // equal for equal books
}

// Inspect costs a sort of all orders, for the digest.
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

// Find is the book of that key. ErrNotFound: the instrument was not seen.
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

// List is the keys of all books, by publisher, then by instrument. It uses the memory of keys where that
// is enough.
func (b *Books) List(keys []BookKey) ([]BookKey, error) {
	return all(keys, func(at *BookKey, max C.size_t, count *C.size_t) error {
		return b.call(func(c *C.lapwing_books, e *C.lapwing_error) C.lapwing_result {
			return C.lapwing_books_list(c, (*C.lapwing_book_key)(unsafe.Pointer(at)), max, count, e)
		})
	})
}

// Levels returns the levels of a side from the index `from` on; 0 is the best. It returns as many as fit
// into the capacity of levels, whose memory it uses.
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

// Orders is the orders of the level of that index, the first in the queue first. It uses the memory of
// orders where that is enough. ErrNotFound: no such level.
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

// all repeats a call with more memory as long as there is more than fits.
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
