package lapwing_test

import (
	"context"
	"testing"
	"time"

	"lapwing.example/go/lapwing"
)

// patience limits waits that should succeed. No test measures time.
const patience = 20 * time.Second

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// quote is the record of most tests, and quoteText describes it.
type quote struct {
	Time       uint64 `lapwing:",time"`
	Instrument uint32 `lapwing:",key"`
	Size       uint32
	Price      int64 `lapwing:",price"`
}

const quoteText = `{"name":"test.quote","version":1,"record_bytes":24,"fields":[` +
	`{"name":"time","type":"uint64","offset":0,"unit":"utc_ns","role":"time"},` +
	`{"name":"instrument","type":"uint32","offset":8,"role":"key"},` +
	`{"name":"size","type":"uint32","offset":12},` +
	`{"name":"price","type":"int64","offset":16,"unit":"price"}]}`

const quoteBytes = 24

var quoteSchema = &lapwing.Schema{Text: quoteText}

func quotes(from, count int) []quote {
	made := make([]quote, count)
	for i := range made {
		n := from + i
		made[i] = quote{Time: uint64(n), Instrument: uint32(n % 3), Size: 10, Price: int64(n) * 1e9}
	}
	return made
}

// openPublisher creates a bus of quotes.
func openPublisher(t *testing.T, directory string) *lapwing.Publisher {
	t.Helper()
	p, err := lapwing.OpenPublisher(within(t), lapwing.PublisherOptions{
		Directory: directory, Schema: quoteSchema, Capacity: 4096})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(p) })
	return p
}

// end ends a publisher, so that it does not write to a directory that is being removed.
func end(p *lapwing.Publisher) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := p.Shutdown(ctx)
	p.Close()
	return err
}

func publish(t *testing.T, p *lapwing.Publisher, rows []quote) {
	t.Helper()
	if _, err := lapwing.PublishRows(within(t), p, rows); err != nil {
		t.Fatal(err)
	}
}

func shutdown(t *testing.T, p *lapwing.Publisher) {
	t.Helper()
	if err := p.Shutdown(within(t)); err != nil {
		t.Fatal(err)
	}
}

func openSubscriber(t *testing.T, options lapwing.SubscriberOptions) *lapwing.Subscriber {
	t.Helper()
	s, err := lapwing.OpenSubscriber(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// fromOldest returns options for reading a bus from its beginning to its clean end.
func fromOldest(directory string) lapwing.SubscriberOptions {
	return lapwing.SubscriberOptions{Directory: directory, Start: lapwing.StartOldest(), EndAtClose: true}
}

// caughtUp returns a subscriber that has read everything, so that its next read waits.
func caughtUp(t *testing.T, directory string) *lapwing.Subscriber {
	t.Helper()
	s := openSubscriber(t, lapwing.SubscriberOptions{Directory: directory, Start: lapwing.StartOldest()})
	for item, err := range s.Items(within(t)) {
		if err != nil {
			t.Fatal(err)
		}
		if item.Kind == lapwing.BatchEvent && item.Event.Kind == lapwing.EventCaughtUp {
			return s
		}
	}
	t.Fatal("the stream ended before it had caught up")
	return nil
}

func wantCode(t *testing.T, err error, code lapwing.Code) {
	t.Helper()
	if lapwing.CodeOf(err) != code {
		t.Fatalf("the error is %v, and %v was wanted", err, code)
	}
}
