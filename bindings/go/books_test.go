package lapwing_test

import (
	"testing"

	"lapwing.example/go/lapwing"
)

const lastOfEvent = 0x80

func add(id uint64, side lapwing.Side, price int64, size uint32) mbo {
	return mbo{Length: 14, RType: 0xa0, PublisherID: 1, InstrumentID: 7, OrderID: id, Price: price * 1e9,
		Size: size, Flags: lastOfEvent, Action: 'A', Side: uint8(side)}
}

// bookedBus returns a closed bus with a book of three bids at two prices, and an ask.
func bookedBus(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	p, err := lapwing.OpenPublisher(within(t), lapwing.PublisherOptions{Directory: directory, SchemaName: "dbn.mbo", RecordBytes: 56})
	if err != nil {
		t.Fatal(err)
	}
	orders := []mbo{add(1, lapwing.Bid, 99, 10), add(2, lapwing.Bid, 100, 20), add(3, lapwing.Bid, 100, 5),
		add(4, lapwing.Ask, 101, 7)}
	if _, err := lapwing.PublishRows(within(t), p, orders); err != nil {
		t.Fatal(err)
	}
	if err := end(p); err != nil {
		t.Fatal(err)
	}
	return directory
}

func TestBooksHaveLevelsAndOrdersInTheirPlaces(t *testing.T) {
	books, err := lapwing.NewBooks()
	if err != nil {
		t.Fatal(err)
	}
	defer books.Close()
	s := openSubscriber(t, fromOldest(bookedBus(t)))
	for b, err := range s.Batches(within(t), lapwing.NewBatch(1<<16)) {
		if err == nil {
			err = books.Take(b)
		}
		if err != nil {
			t.Fatal(err)
		}
		if b.Kind == lapwing.BatchRecords {
			wantCode(t, books.Take(b), lapwing.ErrMisuse) // the same batch again
		}
	}

	keys, err := books.List(nil)
	key := lapwing.BookKey{PublisherID: 1, InstrumentID: 7}
	if err != nil || len(keys) != 1 || keys[0] != key {
		t.Fatal(keys, err)
	}
	book, err := books.Find(key)
	if err != nil || book.Bid != (lapwing.Level{Price: 100e9, Size: 25, Orders: 2}) ||
		book.Ask != (lapwing.Level{Price: 101e9, Size: 7, Orders: 1}) || book.Orders != 4 ||
		book.BidLevels != 2 || book.AskLevels != 1 || !book.IsSettled || book.IsStale || book.Sequence != 4 {
		t.Fatalf("%+v %v", book, err)
	}
	levels, err := books.Levels(key, lapwing.Bid, 1, make([]lapwing.Level, 0, 9))
	if err != nil || len(levels) != 1 || levels[0] != (lapwing.Level{Price: 99e9, Size: 10, Orders: 1}) {
		t.Fatal(levels, err)
	}
	orders, err := books.Orders(key, lapwing.Bid, 0, nil)
	if err != nil || len(orders) != 2 || orders[0].OrderID != 2 || orders[1].OrderID != 3 || orders[1].Size != 5 {
		t.Fatal(orders, err)
	}
	memory := make([]lapwing.Order, 0, 2)
	if again, err := books.Orders(key, lapwing.Bid, 0, memory); err != nil || &again[0] != &memory[:1][0] {
		t.Fatal("memory that is enough was not used:", err)
	}
	_, err = books.Find(lapwing.BookKey{PublisherID: 1, InstrumentID: 8})
	wantCode(t, err, lapwing.ErrNotFound)
	_, err = books.Orders(key, lapwing.Ask, 1, nil)
	wantCode(t, err, lapwing.ErrNotFound)
	info, err := books.Inspect()
	if err != nil || info.Books != 1 || info.Orders != 4 || info.Sequence != 4 || !info.IsSettled || info.Digest == 0 {
		t.Fatalf("%+v %v", info, err)
	}
}

func TestRecordsOfAnotherSchemaAreNoneOfBooks(t *testing.T) {
	directory := t.TempDir()
	p := openPublisher(t, directory)
	publish(t, p, quotes(1, 1))
	shutdown(t, p)
	books, err := lapwing.NewBooks()
	if err != nil {
		t.Fatal(err)
	}
	defer books.Close()
	for b, err := range openSubscriber(t, fromOldest(directory)).Batches(within(t), lapwing.NewBatch(4096)) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Kind == lapwing.BatchRecords {
			wantCode(t, books.Take(b), lapwing.ErrRecordSize)
			return
		}
	}
	t.Fatal("no records came")
}
