package lapwing_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"lapwing.example/go/lapwing"
)

func TestRecordsArriveInOrderWithTheirSequences(t *testing.T) {
	directory := t.TempDir()
	p := openPublisher(t, directory)
	sent := quotes(1, 1000)
	last, err := lapwing.PublishRows(within(t), p, sent)
	if err != nil || last != 1000 {
		t.Fatal(last, err)
	}
	shutdown(t, p)

	s := openSubscriber(t, fromOldest(directory))
	batch := lapwing.NewBatch(100 * quoteBytes)
	var got []quote
	for b, err := range s.Batches(within(t), batch) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Kind != lapwing.BatchRecords {
			continue
		}
		if b.Sequence(0) != uint64(len(got)+1) || b.Count > 100 {
			t.Fatalf("after %d rows come %d from %d on", len(got), b.Count, b.Sequence(0))
		}
		rows, err := lapwing.Rows[quote](b)
		if err != nil {
			t.Fatal(err)
		}
		_, err = lapwing.Rows[[2]uint64](b)
		wantCode(t, err, lapwing.ErrRecordSize)
		one, err := lapwing.Record[quote](b.Row(b.Count - 1))
		if err != nil || one != rows[len(rows)-1] {
			t.Fatal(one, err)
		}
		got = append(got, rows...)
	}
	if !slices.Equal(got, sent) {
		t.Fatalf("%d rows arrived that are not those %d that were sent", len(got), len(sent))
	}
}

func TestOneRecordIsPublishedWithItsSequence(t *testing.T) {
	p := openPublisher(t, t.TempDir())
	for n := range 3 {
		sequence, err := p.Publish(within(t), lapwing.BytesOf(&quotes(n, 1)[0]))
		if err != nil || sequence != uint64(n+1) {
			t.Fatal(sequence, err)
		}
	}
	info, err := p.Inspect()
	if err != nil || info.Head != 3 || info.First != 1 || info.RecordBytes != quoteBytes ||
		info.Settled != lapwing.SettledFresh || info.JournalState != lapwing.JournalGood {
		t.Fatal(info, err)
	}
	if durable, err := p.Flush(within(t)); err != nil || durable != 3 {
		t.Fatal(durable, err)
	}
}

func TestRecordsOfAnotherSizeAreRefused(t *testing.T) {
	p := openPublisher(t, t.TempDir())
	_, err := p.Publish(within(t), make([]byte, 16))
	wantCode(t, err, lapwing.ErrRecordSize)
	_, err = lapwing.PublishRows(within(t), p, []uint64{1})
	wantCode(t, err, lapwing.ErrRecordSize)
	_, err = p.PublishBatch(within(t), make([]byte, 25), quoteBytes)
	wantCode(t, err, lapwing.ErrInvalidArgument)
	_, err = lapwing.PublishRows(within(t), p, []*int{nil})
	wantCode(t, err, lapwing.ErrInvalidArgument)
}

func TestASecondPublisherGetsTheBusWhenTheFirstEnds(t *testing.T) {
	directory := t.TempDir()
	first := openPublisher(t, directory)
	options := lapwing.PublisherOptions{Directory: directory, Schema: quoteSchema}
	_, err := lapwing.OpenPublisher(lapwing.NoWait, options)
	wantCode(t, err, lapwing.ErrInUse)

	short, cancel := context.WithTimeout(context.Background(), 120*time.Millisecond)
	defer cancel()
	_, err = lapwing.OpenPublisher(short, options)
	wantCode(t, err, lapwing.ErrInUse)

	opened := make(chan error)
	go func() {
		second, err := lapwing.OpenPublisher(within(t), options)
		if err == nil {
			err = end(second)
		}
		opened <- err
	}()
	time.Sleep(150 * time.Millisecond) // the open must try more than once
	shutdown(t, first)
	first.Close()
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
}

func TestTheOptionsReachTheLibrary(t *testing.T) {
	p, err := lapwing.OpenPublisher(within(t), lapwing.PublisherOptions{
		Directory: t.TempDir(), RecordBytes: 16, NoJournal: true, SchemaName: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	defer end(p)
	info, err := p.Inspect()
	if err != nil || info.RecordBytes != 16 || info.JournalState != lapwing.JournalNone {
		t.Fatal(info, err)
	}
	_, err = lapwing.OpenPublisher(within(t), lapwing.PublisherOptions{Directory: t.TempDir(), Capacity: 1000})
	wantCode(t, err, lapwing.ErrInvalidArgument) // not a power of two
	_, err = lapwing.OpenPublisher(within(t), lapwing.PublisherOptions{Directory: t.TempDir(), RecordBytes: -1})
	wantCode(t, err, lapwing.ErrInvalidArgument)
}

func TestAStringWithAZeroByteIsRefused(t *testing.T) {
	_, err := lapwing.OpenPublisher(within(t), lapwing.PublisherOptions{Directory: t.TempDir() + "/a\x00b"})
	wantCode(t, err, lapwing.ErrInvalidArgument)
	_, err = lapwing.OpenSubscriber(lapwing.SubscriberOptions{Directory: "a", Instruments: []string{"b", "c\x00"}})
	wantCode(t, err, lapwing.ErrInvalidArgument)
}
