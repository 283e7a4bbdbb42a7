package main

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"lapwing.example/go/lapwing"
)

// The steps misuse.*: invalid actions of a program.

const (
	misuseBytes = 16 // of a record
	exitCode    = 7
	patience    = 10 * time.Second
)

func init() {
	for name, operation := range map[string]func(*driver, step) []string{
		"used-after":   misuseUsedAfter,
		"two-threads":  misuseTwoThreads,
		"wait":         misuseWait,
		"exit-in-wait": misuseExitInWait,
	} {
		operations["misuse."+name] = guarded(operation)
	}
}

// specimen is an object of one kind, and a call that uses it.
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

// ownChannel returns a listener, and both sides of a channel.
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

func misuseUsedAfter(_ *driver, s step) []string {
	kinds := specimens(s.text("directory"))
	var answers []string
	for _, kind := range kinds {
		check(kind.Close())
		check(kind.Close())
		answers = append(answers, result(kind.use()))
	}
	slices.Sort(answers)
	return ok(pair("kinds", len(kinds)), pair("answers", strings.Join(slices.Compact(answers), ",")))
}

// caughtUp returns a subscriber that has read everything, so that its next read waits.
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

// readOn reads until an error. It ignores the error of a call that overlaps another one.
func readOn(s *lapwing.Subscriber) error {
	b := lapwing.NewBatch(rowBytesMax)
	for {
		err := s.Read(context.Background(), b)
		if err != nil && lapwing.CodeOf(err) != lapwing.ErrMisuse {
			return err
		}
	}
}

// refused reads without waiting until a read is refused, because another goroutine waits. It returns that
// error.
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

func misuseWait(_ *driver, s step) []string { return answer(readOn(caughtUp(s.text("directory")))) }

func misuseExitInWait(_ *driver, s step) []string {
	subscriber := caughtUp(s.text("directory"))
	go readOn(subscriber)
	_ = refused(subscriber) // so the other goroutine waits
	os.Exit(exitCode)
	return nil
}
