package lapwing_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"lapwing.example/go/lapwing"
)

// readRecords reads from the beginning of a bus into b, and returns once b contains records.
func readRecords(t *testing.T, s *lapwing.Subscriber, b *lapwing.Batch) {
	t.Helper()
	for b, err := range s.Batches(within(t), b) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Kind == lapwing.BatchRecords {
			return
		}
	}
	t.Fatal("the bus has no records")
}

func newBooks(t *testing.T) *lapwing.Books {
	t.Helper()
	books, err := lapwing.NewBooks()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { books.Close() })
	return books
}

func TestBooksRefuseABatchWhoseMemoryWasTakenAway(t *testing.T) {
	books, b := newBooks(t), lapwing.NewBatch(1<<16)
	b.Sequences, b.Conflated = make([]uint64, 16), make([]uint64, 16)
	readRecords(t, openSubscriber(t, fromOldest(bookedBus(t))), b)
	whole := *b
	for what, damage := range map[string]func(){
		"no memory":      func() { b.Memory = nil },
		"a short memory": func() { b.Memory = b.Memory[:b.Count*b.RowBytes-1] },
		"few sequences":  func() { b.Sequences = b.Sequences[:b.Count-1] },
		"few conflated":  func() { b.Conflated = b.Conflated[:b.Count-1] },
	} {
		damage()
		if err := books.Take(b); lapwing.CodeOf(err) != lapwing.ErrInvalidArgument {
			t.Fatalf("a batch with %s is answered with %v", what, err)
		}
		*b = whole
	}
	if err := books.Take(b); err != nil {
		t.Fatal(err)
	}
}

func TestRowsStayWithinTheMemoryOfTheirBatch(t *testing.T) {
	b := lapwing.NewBatch(1 << 16)
	readRecords(t, openSubscriber(t, fromOldest(bookedBus(t))), b)
	b.Memory = make([]byte, 8)
	defer func() {
		if recover() == nil {
			t.Fatal("rows were given that the memory does not have")
		}
	}()
	_, err := lapwing.Rows[mbo](b)
	t.Fatal(err)
}

func TestABatchOfAReadThatWasRefusedIsEmptyToBooks(t *testing.T) {
	books, b := newBooks(t), lapwing.NewBatch(1<<16)
	s := openSubscriber(t, fromOldest(bookedBus(t)))
	readRecords(t, s, b)
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	wantCode(t, s.Read(canceled, b), lapwing.ErrInterrupted)
	if err := books.Take(b); err != nil {
		t.Fatal(err)
	}
	if info, err := books.Inspect(); err != nil || info.Orders != 0 || b.Kind != lapwing.BatchNothing {
		t.Fatalf("%+v of a batch of kind %v: %v", info, b.Kind, err)
	}
}

func TestAConsumerThatClosesKeepsAViewThatIsMadeMeanwhile(t *testing.T) {
	for n := range 60 {
		p, c := connected(t, lapwing.ChannelOptions{})
		views := make([]lapwing.UnsafeMessage, 1)
		peeked := make(chan int)
		go func() {
			count, _ := c.UnsafePeek(context.Background(), views)
			peeked <- count
		}()
		go p.Send(context.Background(), numbered(10))
		for range n { // close at another moment in each round
			runtime.Gosched()
		}
		err := c.Close()
		if <-peeked == 0 {
			continue
		}
		if err == nil {
			t.Fatal("the memory of a view was taken away")
		}
		wantCode(t, err, lapwing.ErrMisuse)
		wantMessage(t, lapwing.Message{Type: views[0].Type, Payload: views[0].Payload}, 10)
		views[0].Done()
	}
}

func TestAViewIsNotClosedWhileRowsAreCopied(t *testing.T) {
	directory := t.TempDir()
	p, err := lapwing.OpenPublisher(within(t), lapwing.PublisherOptions{Directory: directory,
		Schema: quoteSchema, Capacity: 4096, SegmentBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer end(p)
	publish(t, p, quotes(1, 5000))
	if _, err := p.Flush(within(t)); err != nil {
		t.Fatal(err)
	}
	h, err := lapwing.OpenHistory(directory)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for range 20 {
		view, err := h.UnsafeMap(1, 2000)
		if err != nil {
			t.Fatal(err)
		}
		copied, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			defer func() { _ = recover() }() // a closed view may panic
			rows := make([]byte, view.Count*quoteBytes)
			view.CopyRows(rows, 0)
			close(copied)
			for {
				view.CopyRows(rows, 0)
			}
		}()
		<-copied
		view.Close()
		<-ended
	}
}

func TestAnOptionThatCannotBeIsRefusedAndTheErrorSaysWhatItCanBe(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "bus")
	refused := func(err error, words string) {
		t.Helper()
		wantCode(t, err, lapwing.ErrInvalidArgument)
		if !strings.Contains(err.Error(), words) {
			t.Errorf("%v, and %q was wanted", err, words)
		}
	}
	for words, options := range map[string]lapwing.PublisherOptions{
		"OnJournalLag is 7; it can be: LagWait, LagShed":                 {OnJournalLag: 7},
		"OnJournalFailure is 7; it can be: FailureContinue, FailureStop": {OnJournalFailure: 7},
		"RecordBytes is -1; it can be: 0 or more":                        {RecordBytes: -1},
		"RetainAge is -1s; it can be: 0 or more, Never":                  {RetainAge: -time.Second},
		"SyncInterval is -1s; it can be: 0 or more, OnRequest":           {SyncInterval: -time.Second},
	} {
		options.Directory = directory
		_, err := lapwing.OpenPublisher(within(t), options)
		refused(err, words)
	}
	if _, err := os.Stat(directory); !os.IsNotExist(err) {
		t.Errorf("a refused publisher has made %s: %v", directory, err)
	}
	for words, options := range map[string]lapwing.SubscriberOptions{
		"OnGap is 9; it can be: GapFill, GapSkip, GapStop, GapSnapshot": {OnGap: 9},
		"Wait is 9; it can be: WaitBackoff, WaitBusy, WaitPark":         {Wait: 9},
		"BehindTime is -1s; it can be: 0 or more, Never":                {BehindTime: -time.Second},
		"Reattach is -1s; it can be: 0 or more, Forever":                {Reattach: -time.Second},
		"FlushTimeout is -1s":     {FlushTimeout: -time.Second},
		"StaleAfter is -1s":       {StaleAfter: -time.Second},
		"ConflateInterval is -1s": {Conflate: true, ConflateInterval: -time.Second},
	} {
		options.Directory = directory
		_, err := lapwing.OpenSubscriber(options)
		refused(err, words)
	}
	for words, options := range map[string]lapwing.ChannelOptions{
		"Wait is 9; it can be: WaitBackoff, WaitBusy, WaitPark": {Wait: 9},
		"Retry is -1s": {Retry: -time.Second},
	} {
		_, err := lapwing.ConnectProducer(within(t), directory, options)
		refused(err, words)
	}
	books, err := lapwing.NewBooks()
	if err != nil {
		t.Fatal(err)
	}
	defer books.Close()
	_, err = books.Levels(lapwing.BookKey{}, 'X', 0, make([]lapwing.Level, 1))
	refused(err, "side is 'X'; it can be: Bid, Ask")
	_, err = books.Levels(lapwing.BookKey{}, lapwing.Bid, -1, make([]lapwing.Level, 1))
	refused(err, "from is -1")
	_, err = books.Orders(lapwing.BookKey{}, 'X', 0, nil)
	refused(err, "side is 'X'; it can be: Bid, Ask")
	_, err = books.Orders(lapwing.BookKey{}, lapwing.Bid, -1, nil)
	refused(err, "level is -1")
}
