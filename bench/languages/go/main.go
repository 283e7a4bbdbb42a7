// Command rates measures the Go package. See README.md in the parent folder.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"lapwing.example/go/lapwing"
)

// A publisher without a journal never waits. Other waits have no deadline, because a context with a deadline
// reads the clock in each call.

const (
	rateBytes     = 56 // bytes per record
	rateCapacity  = 1 << 20
	echoCapacity  = 4096
	attachWithin  = 10 * time.Second
	blockTrips    = 1000
	messageBytes  = 32
	echoedMessage = 1 // message type
)

var rates = map[string]func(step) string{
	"read":         rateRead,
	"take":         rateTake,
	"publish":      ratePublish,
	"publish-one":  ratePublishOne,
	"echo":         rateEcho,
	"ping":         ratePing,
	"channel-echo": rateChannelEcho,
	"channel-ping": rateChannelPing,
}

// step contains the arguments of a rate: key=value.
type step map[string]string

func (s step) text(key string) string { return s[key] }

func (s step) number(key string) int { return must(strconv.Atoi(s[key])) }

func main() {
	s := step{}
	for _, word := range os.Args[2:] {
		key, value, _ := strings.Cut(word, "=")
		s[key] = value
	}
	fmt.Println(rates[os.Args[1]](s))
}

// must returns made or ends the program with the error.
func must[T any](made T, err error) T {
	check(err)
	return made
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// stopwatch stores the duration of each pass, and the bytes that the runtime allocated during all
// of them.
type stopwatch struct {
	began     time.Time
	heap      runtime.MemStats
	took      []time.Duration
	allocated uint64
}

func (w *stopwatch) start() {
	runtime.ReadMemStats(&w.heap)
	w.began = time.Now()
}

func (w *stopwatch) stop() {
	took, before := time.Since(w.began), w.heap.TotalAlloc
	runtime.ReadMemStats(&w.heap)
	w.allocated += w.heap.TotalAlloc - before
	w.took = append(w.took, took)
}

// perRecord formats the median pass in ns per record.
func (w *stopwatch) perRecord(records int) string {
	return fmt.Sprintf("ns=%.3f", float64(median(w.took))/float64(records))
}

// measure runs a step's passes, after one pass that is not counted.
func measure(s step, pass func(*stopwatch)) *stopwatch {
	pass(new(stopwatch))
	w := new(stopwatch)
	for range s.number("passes") {
		pass(w)
	}
	return w
}

func median[T time.Duration | float64](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

func ratedSubscriber(directory string) *lapwing.Subscriber {
	return must(lapwing.OpenSubscriber(lapwing.SubscriberOptions{
		Directory: directory, Start: lapwing.StartOldest(), OnGap: lapwing.GapSkip, Wait: lapwing.WaitBusy,
		Reattach: attachWithin}))
}

func ratedPublisher(directory string, capacity uint64) *lapwing.Publisher {
	return must(lapwing.OpenPublisher(context.Background(), lapwing.PublisherOptions{
		Directory: directory, RecordBytes: rateBytes, Capacity: capacity, NoJournal: true}))
}

func endPublisher(p *lapwing.Publisher) {
	check(p.Shutdown(context.Background()))
	check(p.Close())
}

func rateRead(s step) string {
	records, rows := s.number("records"), s.number("rows")
	b := lapwing.NewBatch(rows * rateBytes)
	w := measure(s, func(w *stopwatch) {
		subscriber := ratedSubscriber(s.text("directory"))
		defer subscriber.Close()
		w.start()
		readRecords(subscriber, b, records)
		w.stop()
	})
	garbage := float64(w.allocated) / float64(records*len(w.took))
	return w.perRecord(records) + fmt.Sprintf(" garbage=%.3f", garbage)
}

func readRecords(s *lapwing.Subscriber, b *lapwing.Batch, count int) {
	for count > 0 {
		check(s.Read(context.Background(), b))
		if b.Kind == lapwing.BatchRecords {
			count -= b.Count
		}
	}
}

func rateTake(s step) string {
	records := s.number("records")
	w := measure(s, func(w *stopwatch) {
		subscriber := ratedSubscriber(s.text("directory"))
		defer subscriber.Close()
		w.start()
		takeRecords(subscriber, records)
		w.stop()
	})
	return w.perRecord(records)
}

// takeRecords iterates, which is faster than ReadOne, because one cgo call returns many records.
func takeRecords(s *lapwing.Subscriber, count int) {
	for item, err := range s.Items(context.Background()) {
		check(err)
		if item.Kind != lapwing.BatchRecords {
			continue
		}
		if count--; count == 0 {
			return
		}
	}
}

func ratePublish(s step) string {
	records, rows := s.number("records"), s.number("rows")
	publisher := ratedPublisher(s.text("directory"), rateCapacity)
	defer endPublisher(publisher)
	batch := make([]byte, rows*rateBytes)
	w := measure(s, func(w *stopwatch) {
		w.start()
		for left := records; left > 0; left -= rows {
			must(publisher.PublishBatch(lapwing.NoWait, batch[:min(left, rows)*rateBytes], rateBytes))
		}
		w.stop()
	})
	return w.perRecord(records)
}

func ratePublishOne(s step) string {
	records := s.number("records")
	publisher := ratedPublisher(s.text("directory"), rateCapacity)
	defer endPublisher(publisher)
	record := make([]byte, rateBytes)
	w := measure(s, func(w *stopwatch) {
		w.start()
		for range records {
			must(publisher.Publish(lapwing.NoWait, record))
		}
		w.stop()
	})
	return w.perRecord(records)
}

// takeNext reads the next record, and skips events before it.
func takeNext(s *lapwing.Subscriber, record []byte) {
	for {
		_, err := s.ReadOne(context.Background(), record)
		if lapwing.CodeOf(err) != lapwing.ErrEventDue {
			check(err)
			return
		}
		check(s.Read(context.Background(), lapwing.NewBatch(0)))
	}
}

func rateEcho(s step) string {
	publisher := ratedPublisher(s.text("out"), echoCapacity)
	defer endPublisher(publisher)
	subscriber := ratedSubscriber(s.text("in"))
	defer subscriber.Close()
	record := make([]byte, rateBytes)
	for range s.number("count") {
		takeNext(subscriber, record)
		must(publisher.Publish(lapwing.NoWait, record))
	}
	return ""
}

func ratePing(s step) string {
	publisher := ratedPublisher(s.text("out"), echoCapacity)
	defer endPublisher(publisher)
	subscriber := ratedSubscriber(s.text("in"))
	defer subscriber.Close()
	record := make([]byte, rateBytes)
	return roundTrips(s, func() {
		must(publisher.Publish(lapwing.NoWait, record))
		takeNext(subscriber, record)
	})
}

// roundTrips returns the median block in ns per round trip. The first block is a warm-up.
func roundTrips(s step, trip func()) string {
	var blocks []float64
	for left := s.number("count"); left > 0; left -= blockTrips {
		trips := min(left, blockTrips)
		began := time.Now()
		for range trips {
			trip()
		}
		blocks = append(blocks, float64(time.Since(began))/float64(trips))
	}
	if len(blocks) > 1 {
		blocks = blocks[1:]
	}
	return fmt.Sprintf("ns=%.1f", median(blocks))
}

// Receive and Send copy 32 bytes, but need one cgo call fewer than a view and a claim.

func rateChannelEcho(s step) string {
	ctx, options := context.Background(), lapwing.ChannelOptions{Wait: lapwing.WaitBusy}
	listener := must(lapwing.Listen(s.text("path"), lapwing.ListenerOptions{}))
	defer listener.Close()
	consumer := must(listener.AcceptConsumer(ctx, options))
	defer consumer.Close()
	producer := must(listener.AcceptProducer(ctx, options))
	defer producer.Close()
	var message lapwing.Message
	for range s.number("count") {
		check(consumer.Receive(ctx, &message))
		check(producer.Send(ctx, message))
	}
	_ = producer.Drain(ctx) // the peer may close after the last message
	return ""
}

func rateChannelPing(s step) string {
	ctx, options := context.Background(), lapwing.ChannelOptions{Wait: lapwing.WaitBusy, Retry: attachWithin}
	producer := must(lapwing.ConnectProducer(ctx, s.text("path"), options))
	defer producer.Close()
	consumer := must(lapwing.ConnectConsumer(ctx, s.text("path"), options))
	defer consumer.Close()
	sent := lapwing.Message{Type: echoedMessage, Payload: make([]byte, messageBytes)}
	var message lapwing.Message
	return roundTrips(s, func() {
		check(producer.Send(ctx, sent))
		check(consumer.Receive(ctx, &message))
	})
}
