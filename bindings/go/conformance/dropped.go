package main

import (
	"context"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"time"

	"lapwing.example/go/lapwing"
)

const droppedCount = 1000 // records

// dropped keeps the publisher alive until misuse.drop.
var dropped *lapwing.Publisher

func init() {
	operations["misuse.open-dropped"] = guarded(misuseOpenDropped)
	operations["misuse.drop"] = misuseDrop
}

func misuseOpenDropped(_ *driver, s step) []string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dropped = ownPublisher(ctx, lapwing.PublisherOptions{Directory: s.text("directory")})
	var records []byte
	for n := range uint64(droppedCount) {
		records = append(records, row(n+1, misuseBytes)...)
	}
	must(dropped.PublishBatch(ctx, records, misuseBytes))
	return ok()
}

func misuseDrop(*driver, step) []string {
	seen := make(chan struct{}, 1)
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(watchedLog{slog.NewTextHandler(os.Stderr, nil), "a Publisher was never closed", seen}))
	began := time.Now()
	dropped = nil
	for time.Since(began) < patience {
		runtime.GC()
		select {
		case <-seen: // the collector's cleanup logs this after it has closed the publisher
			return ok(pair("ms", time.Since(began).Milliseconds()))
		case <-time.After(time.Millisecond):
		}
	}
	return []string{resultName(lapwing.ErrTimedOut)}
}

// watchedLog signals when a line that contains the text is logged.
type watchedLog struct {
	slog.Handler
	text string
	seen chan<- struct{}
}

func (w watchedLog) Handle(ctx context.Context, record slog.Record) error {
	if strings.Contains(record.Message, w.text) {
		select {
		case w.seen <- struct{}{}:
		default:
		}
	}
	return w.Handler.Handle(ctx, record)
}
