package lapwing_test

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"lapwing.example/go/lapwing"
)

// lines is a log that a test can read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// collectUntil collects garbage until the warning is logged.
func collectUntil(t *testing.T, warned *lines, text string) {
	t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(warned.String(), text); {
		if time.Now().After(deadline) {
			t.Fatalf("no warning has %q: %q", text, warned)
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

func captureWarnings(t *testing.T) *lines {
	before, warned := slog.Default(), &lines{}
	slog.SetDefault(slog.New(slog.NewTextHandler(warned, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return warned
}

func TestAHandleThatIsCollectedOpenIsClosedAndWarnedOf(t *testing.T) {
	warned := captureWarnings(t)
	directory := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background()) // outlives the publisher that watches it
	defer cancel()
	func() {
		p, err := lapwing.OpenPublisher(ctx, lapwing.PublisherOptions{Directory: directory, Schema: quoteSchema})
		if err != nil {
			t.Fatal(err)
		}
		publish(t, p, quotes(1, 1))
		if _, err := p.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}()
	collectUntil(t, warned, "a Publisher was never closed")
	// The bus is free.
	p, err := lapwing.OpenPublisher(within(t), lapwing.PublisherOptions{Directory: directory, Schema: quoteSchema})
	if err != nil {
		t.Fatal(err)
	}
	end(p)
}

func TestAHandleThatIsClosedIsNotWarnedOf(t *testing.T) {
	warned := captureWarnings(t)
	func() {
		b, err := lapwing.NewBooks()
		if err != nil {
			t.Fatal(err)
		}
		b.Close()
	}()
	func() {
		if _, err := lapwing.OpenSubscriber(lapwing.SubscriberOptions{Directory: "."}); err != nil {
			t.Fatal(err)
		}
	}()
	collectUntil(t, warned, "a Subscriber was never closed") // proves that the collector has run
	if strings.Contains(warned.String(), "Books") {
		t.Fatal(warned)
	}
}

func TestLogLinesReachTheFunctionThatIsSet(t *testing.T) {
	got := &lines{}
	if err := lapwing.SetLog(func(line string) { got.Write([]byte(line + "\n")) }); err != nil {
		t.Fatal(err)
	}
	p := openPublisher(t, t.TempDir())
	publish(t, p, quotes(1, 1))
	shutdown(t, p)
	if err := lapwing.SetLog(nil); err != nil { // passes on the remaining lines first
		t.Fatal(err)
	}
	if got.String() == "" {
		t.Fatal("a publisher that began and ended said nothing")
	}
	before := got.String()
	openPublisher(t, t.TempDir())
	if got.String() != before {
		t.Fatal("a line came after the function was taken away")
	}
}
