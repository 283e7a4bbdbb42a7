package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"lapwing.example/go/lapwing"
)

// The steps misuse.*: what a program must not do, done by one that does it.

const (
	misuseBytes  = 16    // of a record
	mappedCount  = 20000 // records that finish some segments
	segmentBytes = 64 << 10
	exitCode     = 7
	patience     = 10 * time.Second
)

func init() {
	for name, operation := range map[string]func(*driver, step) []string{
		"closed-twice":  misuseClosedTwice,
		"used-after":    misuseUsedAfter,
		"two-threads":   misuseTwoThreads,
		"too-small":     misuseTooSmall,
		"record-size":   misuseRecordSize,
		"wrong-books":   misuseWrongBooks,
		"view-released": misuseViewReleased,
		"view-written":  misuseViewWritten,
		"wait":          misuseWait,
		"exit-in-wait":  misuseExitInWait,
	} {
		operations["misuse."+name] = guarded(operation)
	}
	operations["misuse.forked"] = func(*driver, step) []string {
		return []string{"impossible the runtime cannot fork"}
	}
}

// specimen is an object of one kind, and a call of it.
type specimen struct {
	io.Closer
	use func() error
}

// specimens opens an object of each kind.
func specimens(directory string) []specimen {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	publisher := ownPublisher(ctx, lapwing.PublisherOptions{Directory: "own"})
	subscriber := must(lapwing.OpenSubscriber(lapwing.SubscriberOptions{Directory: directory}))
	cursor := must(lapwing.OpenCursor(ctx, "cursor", lapwing.CursorOptions{}))
	history := must(lapwing.OpenHistory(directory))
	books := must(lapwing.NewBooks())
	listener, producer, consumer := ownChannel(ctx)
	return []specimen{
		{publisher, func() error { _, err := publisher.Inspect(); return err }},
		{subscriber, func() error { return subscriber.Read(lapwing.NoWait, lapwing.NewBatch(rowBytesMax)) }},
		{cursor, func() error { return cursor.Commit(lapwing.Commit{}) }},
		{history, func() error { _, err := history.Inspect(); return err }},
		{books, func() error { _, err := books.Inspect(); return err }},
		{listener, listener.Tend},
		{producer, func() error { return producer.Send(lapwing.NoWait, lapwing.Message{}) }},
		{consumer, func() error { return consumer.Receive(lapwing.NoWait, new(lapwing.Message)) }},
	}
}

func ownPublisher(ctx context.Context, options lapwing.PublisherOptions) *lapwing.Publisher {
	options.RecordBytes, options.Capacity = misuseBytes, 4096
	return must(lapwing.OpenPublisher(ctx, options))
}

// ownChannel is a listener, and both sides of a channel.
func ownChannel(ctx context.Context) (*lapwing.Listener, *lapwing.Producer, *lapwing.Consumer) {
	const path = "own.sock"
	listener := must(lapwing.Listen(path, lapwing.ListenerOptions{}))
	type side struct {
		consumer *lapwing.Consumer
		err      error
	}
	accepted := make(chan side, 1)
	go func() {
		consumer, err := listener.AcceptConsumer(ctx, lapwing.ChannelOptions{})
		accepted <- side{consumer, err}
	}()
	producer := must(lapwing.ConnectProducer(ctx, path, lapwing.ChannelOptions{}))
	peer := <-accepted
	return listener, producer, must(peer.consumer, peer.err)
}

func misuseClosedTwice(_ *driver, s step) []string {
	kinds := specimens(s.text("directory"))
	for _, kind := range kinds {
		check(kind.Close())
		check(kind.Close())
	}
	return ok(pair("kinds", len(kinds)))
}

func misuseUsedAfter(_ *driver, s step) []string {
	kinds := specimens(s.text("directory"))
	var answers []string
	for _, kind := range kinds {
		check(kind.Close())
		answers = append(answers, result(kind.use()))
	}
	slices.Sort(answers)
	return ok(pair("kinds", len(kinds)), pair("answers", strings.Join(slices.Compact(answers), ",")))
}

// caughtUp is a subscriber that has taken everything there is, so that its next read waits.
func caughtUp(directory string) *lapwing.Subscriber {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	subscriber := must(lapwing.OpenSubscriber(lapwing.SubscriberOptions{
		Directory: directory, Start: lapwing.StartOldest()}))
	for b, err := range subscriber.Batches(ctx, lapwing.NewBatch(rowBytesMax)) {
		check(err)
		if b.Kind == lapwing.BatchEvent && b.Event().Kind == lapwing.EventCaughtUp {
			break
		}
	}
	return subscriber
}

// readOn reads without end; the error that ends it is not that of a call that another one overlaps.
func readOn(s *lapwing.Subscriber) error {
	b := lapwing.NewBatch(rowBytesMax)
	for {
		err := s.Read(context.Background(), b)
		if err != nil && lapwing.CodeOf(err) != lapwing.ErrMisuse {
			return err
		}
	}
}

// refused reads without waiting until that is refused, which is while another goroutine waits.
func refused(s *lapwing.Subscriber) error {
	b := lapwing.NewBatch(rowBytesMax)
	for {
		err := s.Read(lapwing.NoWait, b)
		if err != nil && lapwing.CodeOf(err) != lapwing.ErrWouldBlock {
			return err
		}
	}
}

func misuseTwoThreads(_ *driver, s step) []string {
	subscriber := caughtUp(s.text("directory"))
	defer subscriber.Close()
	first := make(chan error, 1)
	go func() { first <- readOn(subscriber) }()
	second := refused(subscriber)
	subscriber.Interrupt()
	return ok(pair("second", result(second)), pair("first", result(<-first)))
}

func misuseTooSmall(_ *driver, s step) []string {
	subscriber := must(lapwing.OpenSubscriber(lapwing.SubscriberOptions{
		Directory: s.text("directory"), Start: lapwing.StartOldest()}))
	defer subscriber.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	b := lapwing.NewBatch(misuseBytes - 1)
	err := subscriber.Read(ctx, b)
	for err == nil && b.Kind == lapwing.BatchEvent {
		err = subscriber.Read(ctx, b)
	}
	return ok(pair("answer", result(err)))
}

func misuseRecordSize(*driver, step) []string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	publisher := ownPublisher(ctx, lapwing.PublisherOptions{Directory: "own"})
	defer publisher.Close()
	_, err := publisher.Publish(ctx, row(1, misuseBytes+8))
	return ok(pair("answer", result(err)))
}

func misuseWrongBooks(_ *driver, s step) []string {
	subscriber := must(lapwing.OpenSubscriber(lapwing.SubscriberOptions{
		Directory: s.text("directory"), Start: lapwing.StartOldest()}))
	defer subscriber.Close()
	books := must(lapwing.NewBooks())
	defer books.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var taken error
	for b, err := range subscriber.Batches(ctx, lapwing.NewBatch(rowBytesMax)) {
		check(err)
		if taken = books.Take(b); taken != nil || b.Kind == lapwing.BatchRecords {
			break
		}
	}
	return ok(pair("answer", result(taken)))
}

// borrowed has use called with a message of a channel, and with its consumer.
func borrowed(use func(*lapwing.Consumer, []byte) string) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	listener, producer, consumer := ownChannel(ctx)
	defer listener.Close()
	defer producer.Close()
	check(producer.Send(ctx, lapwing.Message{Payload: row(1, misuseBytes)}))
	views := make([]lapwing.UnsafeMessage, 1)
	must(consumer.UnsafePeek(ctx, views))
	name := use(consumer, views[0].Payload)
	views[0].Done()
	check(consumer.Close())
	return name
}

// mapped has use called with row 11 of a history, which is closed.
func mapped(use func(row []byte) string) string {
	const first = 11
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	publisher := ownPublisher(ctx, lapwing.PublisherOptions{Directory: "mapped", SegmentBytes: segmentBytes})
	defer publisher.Close()
	var records []byte
	for n := range uint64(mappedCount) {
		records = append(records, row(n+1, misuseBytes)...)
	}
	must(publisher.PublishBatch(ctx, records, misuseBytes))
	must(publisher.Flush(ctx))
	history := must(lapwing.OpenHistory("mapped"))
	defer history.Close()
	view := must(history.UnsafeMap(first, first))
	defer view.Close()
	check(history.Close())
	if !bytes.Equal(view.UnsafeRow(0), row(first, misuseBytes)) {
		return "changed"
	}
	return use(view.UnsafeRow(0))
}

func misuseViewReleased(*driver, step) []string {
	message := borrowed(func(consumer *lapwing.Consumer, payload []byte) string {
		name := result(consumer.Release(1))
		if !bytes.Equal(payload, row(1, misuseBytes)) {
			return "changed"
		}
		return name
	})
	history := mapped(func([]byte) string { return "kept" }) // it was compared after its history's end
	return ok(pair("message", message), pair("history", history))
}

// written is the name of what a write ends with: a runtime.Error where a program asks for panics.
func written(memory []byte) (name string) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		caught := recover()
		if _, isFault := caught.(interface {
			runtime.Error
			Addr() uintptr
		}); isFault {
			name = "RuntimeError"
		} else if caught != nil {
			panic(caught)
		}
	}()
	memory[0]++
	return resultName(0)
}

func misuseViewWritten(*driver, step) []string {
	message := borrowed(func(_ *lapwing.Consumer, payload []byte) string { return written(payload) })
	return ok(pair("message", message), pair("history", mapped(written)))
}

func misuseWait(_ *driver, s step) []string { return answer(readOn(caughtUp(s.text("directory")))) }

func misuseExitInWait(_ *driver, s step) []string {
	subscriber := caughtUp(s.text("directory"))
	go readOn(subscriber)
	_ = refused(subscriber) // so it waits
	os.Exit(exitCode)
	return nil
}
