package lapwing_test

import (
	"slices"
	"strings"
	"testing"

	"lapwing.example/go/lapwing"
)

// other has the size of a quote.
type other struct {
	Price      int64
	Time       uint64
	Size       uint32
	Instrument uint32
}

// earlier has spare bytes where a later version has the field price.
type earlier struct {
	Time       uint64
	Instrument uint32
	Size       uint32
	_          uint64
}

func refusedAs(t *testing.T, err error, words string) {
	t.Helper()
	wantCode(t, err, lapwing.ErrRecordSize)
	if !strings.Contains(err.Error(), words) {
		t.Errorf("%v, and %q was wanted", err, words)
	}
}

const moved = "is not test.quote: at offset 0 it has price, where time is"

func TestAPublisherTakesTheStructsOfItsBusAndNoOthers(t *testing.T) {
	p := openPublisher(t, t.TempDir())
	for range 2 {
		_, err := lapwing.PublishRows(within(t), p, make([]other, 3))
		refusedAs(t, err, moved)
	}
	_, err := lapwing.PublishRow(within(t), p, &other{})
	refusedAs(t, err, moved)
	_, err = lapwing.PublishRow(within(t), p, &earlier{})
	refusedAs(t, err, "where price is")
	_, err = lapwing.PublishRows(within(t), p, make([][3]uint64, 1))
	refusedAs(t, err, "it has no field names")
	if info, err := p.Inspect(); err != nil || info.Head != 0 {
		t.Fatal(info.Head, err)
	}
	if last, err := lapwing.PublishRow(within(t), p, &quotes(1, 1)[0]); err != nil || last != 1 {
		t.Fatal(last, err)
	}
	_, err = lapwing.PublishRow(within(t), p, &other{})
	refusedAs(t, err, moved)
	if last, err := lapwing.PublishRows(within(t), p, make([][quoteBytes]byte, 2)); err != nil || last != 3 {
		t.Fatal("bytes are compared by size", last, err)
	}
}

func TestABusThatIsNotDescribedTakesEveryTypeOfItsSize(t *testing.T) {
	p, err := lapwing.OpenPublisher(within(t), lapwing.PublisherOptions{
		Directory: t.TempDir(), RecordBytes: quoteBytes, Capacity: 4096})
	if err != nil {
		t.Fatal(err)
	}
	defer end(p)
	publish(t, p, quotes(1, 1))
	if _, err := lapwing.PublishRows(within(t), p, make([]other, 1)); err != nil {
		t.Fatal(err)
	}
	if last, err := lapwing.PublishRows(within(t), p, make([][3]uint64, 1)); err != nil || last != 3 {
		t.Fatal(last, err)
	}
}

func TestItemsAreReadAsTheStructsOfTheBusAndNoOthers(t *testing.T) {
	directory := t.TempDir()
	p := openPublisher(t, directory)
	publish(t, p, quotes(1, 3))
	shutdown(t, p)
	var read []quote
	for item, err := range lapwing.ItemsOf[quote](within(t), openSubscriber(t, fromOldest(directory))) {
		if err != nil {
			t.Fatal(err)
		}
		if item.Event == nil {
			read = append(read, item.Record)
		}
	}
	if !slices.Equal(read, quotes(1, 3)) {
		t.Fatal(read)
	}
	var ends []error
	for item, err := range lapwing.ItemsOf[other](within(t), openSubscriber(t, fromOldest(directory))) {
		if err != nil || item.Event == nil {
			ends = append(ends, err)
		}
	}
	if len(ends) != 1 {
		t.Fatal(ends)
	}
	refusedAs(t, ends[0], moved)
}

func TestRowsAreReadAsTheStructsOfTheBusAndNoOthers(t *testing.T) {
	directory := t.TempDir()
	p := openPublisher(t, directory)
	sent := quotes(1, 3)
	publish(t, p, sent)
	if _, err := p.Flush(within(t)); err != nil {
		t.Fatal(err)
	}
	check := func(b *lapwing.Batch) {
		t.Helper()
		_, err := lapwing.Rows[other](b)
		refusedAs(t, err, moved)
		_, err = lapwing.Rows[[3]uint64](b)
		refusedAs(t, err, "it has no field names")
		if rows, err := lapwing.Rows[quote](b); err != nil || !slices.Equal(rows, sent) {
			t.Error(rows, err)
		}
		if _, err := lapwing.Rows[earlier](b); err != nil {
			t.Error("a later version may use spare bytes:", err)
		}
	}
	options := lapwing.SubscriberOptions{Directory: directory, Start: lapwing.StartOldest()}
	s := openSubscriber(t, options)
	b := lapwing.NewBatch(1024)
	for b.Kind != lapwing.BatchRecords {
		if err := s.Read(within(t), b); err != nil {
			t.Fatal(err)
		}
	}
	check(b)
	for item, err := range openSubscriber(t, options).Items(within(t)) {
		if err != nil {
			t.Fatal(err)
		}
		if item.Kind != lapwing.BatchRecords {
			_, err := lapwing.RecordOf[quote](item)
			wantCode(t, err, lapwing.ErrInvalidArgument)
			continue
		}
		_, err := lapwing.RecordOf[other](item)
		refusedAs(t, err, moved)
		if got, err := lapwing.RecordOf[quote](item); err != nil || got != sent[0] {
			t.Error(got, err)
		}
		break
	}
	h, err := lapwing.OpenHistory(directory)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.Read(1, b); err != nil {
		t.Fatal(err)
	}
	check(b)
}
