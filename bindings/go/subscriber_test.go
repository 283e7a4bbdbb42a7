package lapwing_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"lapwing.example/go/lapwing"
)

func TestItemsYieldsRecordsAndEventsInOrderAndEndsAtClose(t *testing.T) {
	directory := t.TempDir()
	p := openPublisher(t, directory)
	publish(t, p, quotes(1, 500))
	shutdown(t, p)

	next, events := uint64(1), []string{}
	for item, err := range openSubscriber(t, fromOldest(directory)).Items(within(t)) {
		if err != nil {
			t.Fatal(err)
		}
		if item.Kind == lapwing.BatchEvent {
			events = append(events, item.Event.Kind.String())
			continue
		}
		got, err := lapwing.Record[quote](item.Row)
		if err != nil || item.Sequence != next || got != quotes(int(next), 1)[0] {
			t.Fatalf("record %d is %+v, and %d was due: %v", item.Sequence, got, next, err)
		}
		next++
	}
	if next != 501 || events[0] != "session" || events[len(events)-1] != "closed" {
		t.Fatalf("%d records and the events %v", next-1, events)
	}
}

func TestTheSessionEventSaysWhatTheRecordsAre(t *testing.T) {
	directory := t.TempDir()
	p := openPublisher(t, directory)
	info, err := p.Inspect()
	if err != nil {
		t.Fatal(err)
	}
	for item, err := range openSubscriber(t, fromOldest(directory)).Items(within(t)) {
		if err != nil {
			t.Fatal(err)
		}
		e := item.Event
		if e.Kind != lapwing.EventSession || e.SchemaName != "test.quote" || e.RecordBytes != quoteBytes ||
			!e.IsDescribed || !e.IsFirstSession || e.SessionID != info.SessionID {
			t.Fatalf("%+v", e)
		}
		return
	}
}

func TestALoopThatIsLeftIsTakenUpWithTheNextItem(t *testing.T) {
	directory := t.TempDir()
	p := openPublisher(t, directory)
	publish(t, p, quotes(1, 100))
	shutdown(t, p)
	s := openSubscriber(t, fromOldest(directory))

	var seen uint64
	for item, err := range s.Items(within(t)) {
		if err != nil {
			t.Fatal(err)
		}
		if seen = item.Sequence; item.Kind == lapwing.BatchRecords && seen == 10 {
			break
		}
	}
	position, err := s.Position(0)
	if err != nil || position.Sequence != 10 {
		t.Fatalf("the position after record 10 is %d: %v", position.Sequence, err)
	}
	wantCode(t, s.Read(within(t), lapwing.NewBatch(4096)), lapwing.ErrMisuse)
	_, err = s.ReadOne(within(t), make([]byte, quoteBytes))
	wantCode(t, err, lapwing.ErrMisuse)

	for item, err := range s.Items(within(t)) {
		if err != nil {
			t.Fatal(err)
		}
		if item.Kind == lapwing.BatchRecords {
			if seen++; item.Sequence != seen {
				t.Fatalf("record %d came, and %d was due", item.Sequence, seen)
			}
		}
	}
	if seen != 100 {
		t.Fatal("the second loop ended with record", seen)
	}

	after := fromOldest(directory)
	after.Start = lapwing.StartAfter(position)
	for item, err := range openSubscriber(t, after).Items(within(t)) {
		if err != nil {
			t.Fatal(err)
		}
		if item.Kind == lapwing.BatchRecords {
			if item.Sequence != 11 {
				t.Fatal("after position 10 comes", item.Sequence)
			}
			return
		}
	}
	t.Fatal("after position 10 comes no record")
}

func TestReadOneCopiesTheNextRecordAndReportsAnEventThatIsDue(t *testing.T) {
	directory := t.TempDir()
	p := openPublisher(t, directory)
	publish(t, p, quotes(1, 3))
	s := openSubscriber(t, fromOldest(directory))
	var got quote
	_, err := s.ReadOne(within(t), lapwing.BytesOf(&got))
	wantCode(t, err, lapwing.ErrEventDue)
	batch := lapwing.NewBatch(4096)
	if err := s.Read(within(t), batch); err != nil || batch.Event().Kind != lapwing.EventSession {
		t.Fatal(batch.Kind, err)
	}
	sequence, err := s.ReadOne(within(t), lapwing.BytesOf(&got))
	if err != nil || sequence != 1 || got != quotes(1, 1)[0] {
		t.Fatal(sequence, got, err)
	}
	_, err = s.ReadOne(within(t), make([]byte, 8))
	wantCode(t, err, lapwing.ErrRecordSize)
}

func TestTheEndOfReadOneHasTheWordsOfRead(t *testing.T) {
	s := openSubscriber(t, lapwing.SubscriberOptions{Directory: t.TempDir() + "/none", Reattach: 1})
	_, err := s.ReadOne(within(t), make([]byte, quoteBytes))
	wantCode(t, err, lapwing.ErrNoBus)
	var e *lapwing.Error
	if !errors.As(err, &e) || e.Message == "" {
		t.Fatalf("%+v", e)
	}
	var code lapwing.Code
	if !errors.As(err, &code) || code != lapwing.ErrNoBus {
		t.Fatal(code)
	}
	again := s.Read(within(t), lapwing.NewBatch(4096))
	if again == nil || again.Error() != err.Error() {
		t.Fatalf("ReadOne returns %q, and Read %q", err, again)
	}
}

func TestABatchThatHoldsNoRowIsTooSmallAndConsumesNothing(t *testing.T) {
	directory := t.TempDir()
	p := openPublisher(t, directory)
	publish(t, p, quotes(1, 2))
	s := openSubscriber(t, fromOldest(directory))
	batch := lapwing.NewBatch(quoteBytes - 1)
	if err := s.Read(within(t), batch); err != nil || batch.Kind != lapwing.BatchEvent {
		t.Fatal(batch.Kind, err)
	}
	wantCode(t, s.Read(within(t), batch), lapwing.ErrTooSmall)
	if batch.RowBytes != quoteBytes || batch.Count != 0 {
		t.Fatal(batch.RowBytes, batch.Count)
	}
	batch.Memory = lapwing.NewBatch(quoteBytes).Memory
	if err := s.Read(within(t), batch); err != nil || batch.Count != 1 || batch.Sequence(0) != 1 {
		t.Fatal(batch.Count, err)
	}
}

func TestConflationDeliversTheNewestOfEachKeyAndCountsTheOthers(t *testing.T) {
	directory := t.TempDir()
	p := openPublisher(t, directory)
	publish(t, p, quotes(1, 30))
	shutdown(t, p)
	options := fromOldest(directory)
	options.Conflate = true
	newest, total := map[uint32]uint64{}, uint64(0)
	for item, err := range openSubscriber(t, options).Items(within(t)) {
		if err != nil {
			t.Fatal(err)
		}
		if item.Kind != lapwing.BatchRecords {
			continue
		}
		got, err := lapwing.Record[quote](item.Row)
		if err != nil || got.Time != item.Sequence { // the record's time is its number
			t.Fatal(got, item.Sequence, err)
		}
		newest[got.Instrument] = item.Sequence
		total += 1 + item.Conflated
	}
	if !maps.Equal(newest, map[uint32]uint64{0: 30, 1: 28, 2: 29}) || total != 30 {
		t.Fatal(newest, total)
	}
}

func TestReadingABatchAllocatesNothing(t *testing.T) {
	directory := t.TempDir()
	p := openPublisher(t, directory)
	s := caughtUp(t, directory)
	ctx := within(t)
	sent, batch := quotes(1, 64), lapwing.NewBatch(64*quoteBytes)
	rows := 0
	allocations := testing.AllocsPerRun(200, func() {
		if _, err := lapwing.PublishRows(ctx, p, sent); err != nil {
			t.Fatal(err)
		}
		for got := 0; got < len(sent); got += batch.Count {
			if err := s.Read(ctx, batch); err != nil {
				t.Fatal(err)
			}
			rows += batch.Count
		}
		if err := s.Read(lapwing.NoWait, batch); !errors.Is(err, lapwing.ErrWouldBlock) {
			t.Fatal(err)
		}
	})
	if allocations != 0 || rows == 0 {
		t.Fatalf("%v allocations for %d rows", allocations, rows)
	}
}

func TestReadingOneRecordAllocatesNothing(t *testing.T) {
	directory := t.TempDir()
	p := openPublisher(t, directory)
	s := caughtUp(t, directory)
	ctx := within(t)
	record, got := make([]byte, quoteBytes), make([]byte, quoteBytes)
	allocations := testing.AllocsPerRun(200, func() {
		if _, err := p.Publish(ctx, record); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ReadOne(ctx, got); err != nil {
			t.Fatal(err)
		}
	})
	if allocations != 0 {
		t.Fatalf("%v allocations", allocations)
	}
}

func TestInspectSaysWhatWasDelivered(t *testing.T) {
	directory := t.TempDir()
	p := openPublisher(t, directory)
	publish(t, p, quotes(1, 7))
	info, err := caughtUp(t, directory).Inspect()
	if err != nil || info.Records != 7 || info.First != 1 || info.Last != 7 || info.Head != 7 ||
		info.SchemaName != "test.quote" || info.RecordBytes != quoteBytes || info.Sessions != 1 {
		t.Fatalf("%+v %v", info, err)
	}
}

func TestTheDescriptorBecomesReadableWhenARecordComes(t *testing.T) {
	directory := t.TempDir()
	p := openPublisher(t, directory)
	s := caughtUp(t, directory)
	fd, err := s.FD()
	if err != nil {
		t.Fatal(err)
	}
	for { // take everything from the join, until a call has no result
		if err := s.Read(lapwing.NoWait, lapwing.NewBatch(4096)); err != nil {
			wantCode(t, err, lapwing.ErrWouldBlock)
			break
		}
	}
	publish(t, p, quotes(1, 1))
	waitReadable(t, fd)
	var got quote
	if _, err := s.ReadOne(within(t), lapwing.BytesOf(&got)); err != nil {
		t.Fatal(err)
	}
}

func TestASubscriberThatExpectsOtherRecordsEnds(t *testing.T) {
	directory := t.TempDir()
	openPublisher(t, directory)
	options := fromOldest(directory)
	options.Expect = &lapwing.Schema{Text: strings.Replace(quoteText, `"size"`, `"quantity"`, 1)}
	err := openSubscriber(t, options).Read(within(t), lapwing.NewBatch(4096))
	wantCode(t, err, lapwing.ErrRecordSize)
	if !strings.Contains(err.Error(), "quantity") {
		t.Fatal(err)
	}
}

func TestCallsAfterCloseAreMisuse(t *testing.T) {
	s := openSubscriber(t, lapwing.SubscriberOptions{Directory: t.TempDir()})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	err := s.Read(context.Background(), lapwing.NewBatch(4096))
	wantCode(t, err, lapwing.ErrMisuse)
	if !errors.Is(err, os.ErrClosed) {
		t.Fatal(err)
	}
	_, err = s.Inspect()
	wantCode(t, err, lapwing.ErrMisuse)
	s.Interrupt() // no call is waiting
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var never lapwing.Subscriber
	_, err = never.Inspect()
	wantCode(t, err, lapwing.ErrMisuse)
}
