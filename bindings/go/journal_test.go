package lapwing_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"lapwing.example/go/lapwing"
)

func TestACursorKeepsThePositionAndTheTwoNumbers(t *testing.T) {
	directory := t.TempDir()
	p := openPublisher(t, directory)
	publish(t, p, quotes(1, 5))
	position, err := caughtUp(t, directory).Position(0)
	if err != nil || position.Sequence != 5 {
		t.Fatal(position, err)
	}

	path := t.TempDir() + "/cursor"
	open := func(ctx context.Context) (*lapwing.Cursor, error) {
		return lapwing.OpenCursor(ctx, path, lapwing.CursorOptions{Durable: true})
	}
	cursor, err := open(within(t))
	if err != nil {
		t.Fatal(err)
	}
	_, err = cursor.Last()
	wantCode(t, err, lapwing.ErrNotFound)
	commit := lapwing.Commit{Position: position, OutputBytes: 123, OutputFile: 4}
	if err := cursor.Commit(commit); err != nil {
		t.Fatal(err)
	}
	_, err = open(lapwing.NoWait)
	wantCode(t, err, lapwing.ErrInUse)
	cursor.Close()

	again, err := open(within(t))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if last, err := again.Last(); err != nil || last != commit {
		t.Fatal(last, err)
	}
}

func TestAHistoryHasEveryRecordBySequence(t *testing.T) {
	directory := t.TempDir()
	p := openPublisher(t, directory)
	sent := quotes(1, 300)
	publish(t, p, sent)
	shutdown(t, p)

	h, err := lapwing.OpenHistory(directory)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	info, err := h.Inspect()
	if err != nil || info.Oldest != 1 || info.Archived != 300 || info.Durable != 300 || info.SchemaName != "test.quote" {
		t.Fatalf("%+v %v", info, err)
	}
	batch := lapwing.NewBatch(70 * quoteBytes)
	var got []quote
	for b, err := range h.Batches(101, batch) {
		if err != nil {
			t.Fatal(err)
		}
		rows, err := lapwing.Rows[quote](b)
		if err != nil || b.Sequence(0) != uint64(101+len(got)) {
			t.Fatal(b.Sequence(0), err)
		}
		got = append(got, rows...)
	}
	if !slices.Equal(got, sent[100:]) {
		t.Fatal(len(got), "rows, and they are not those from 101 on")
	}
	wantCode(t, h.Read(301, batch), lapwing.ErrWouldBlock)
	if sequence, err := h.FindTime(time.Unix(0, 0)); err != nil || sequence != 1 {
		t.Fatal(sequence, err)
	}
}

func TestAViewOfAFinishedSegmentHasItsRowsAndOutlivesTheHistory(t *testing.T) {
	directory := t.TempDir()
	p, err := lapwing.OpenPublisher(within(t), lapwing.PublisherOptions{Directory: directory,
		Schema: quoteSchema, Capacity: 4096, SegmentBytes: 64 << 10}) // 2,048 slots of 32 bytes
	if err != nil {
		t.Fatal(err)
	}
	defer end(p)
	sent := quotes(1, 5000)
	publish(t, p, sent)
	if _, err := p.Flush(within(t)); err != nil {
		t.Fatal(err)
	}
	h, err := lapwing.OpenHistory(directory)
	if err != nil {
		t.Fatal(err)
	}
	view, err := h.UnsafeMap(11, 60)
	h.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	if view.First != 11 || view.Count != 50 || view.RowBytes != quoteBytes {
		t.Fatalf("%+v", view)
	}
	for i := range view.Count {
		if row, err := lapwing.Record[quote](view.UnsafeRow(i)); err != nil || row != sent[10+i] {
			t.Fatal(i, row, err)
		}
	}
	rows := make([]byte, 3*quoteBytes)
	if count := view.CopyRows(rows, 48); count != 2 {
		t.Fatal(count, "rows were copied, and 2 were left")
	}
	if row, err := lapwing.Record[quote](rows[quoteBytes:][:quoteBytes]); err != nil || row != sent[59] {
		t.Fatal(row, err)
	}
	if err := view.Close(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Fatal("a closed view gave a row")
		}
	}()
	view.UnsafeRow(0)
}
