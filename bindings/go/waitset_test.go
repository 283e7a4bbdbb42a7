package lapwing_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"lapwing.example/go/lapwing"
)

func openSet(t *testing.T) *lapwing.WaitSet {
	t.Helper()
	set, err := lapwing.NewWaitSet(lapwing.WaitBackoff)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	return set
}

// twoBuses returns the publishers of two buses, and a subscriber of each that waits for the next record.
func twoBuses(t *testing.T) (ps [2]*lapwing.Publisher, ss [2]*lapwing.Subscriber) {
	t.Helper()
	for i := range ps {
		directory := t.TempDir()
		ps[i] = openPublisher(t, directory)
		ss[i] = caughtUp(t, directory)
	}
	return ps, ss
}

// setOf returns a set of the two subscribers.
func setOf(t *testing.T, ss [2]*lapwing.Subscriber) *lapwing.WaitSet {
	t.Helper()
	set := openSet(t)
	if err := errors.Join(set.AddSubscriber(ss[0]), set.AddSubscriber(ss[1])); err != nil {
		t.Fatal(err)
	}
	return set
}

func wantReady(t *testing.T, set *lapwing.WaitSet, source lapwing.Source, kind lapwing.SourceKind) lapwing.Ready {
	t.Helper()
	ready, err := set.Wait(within(t))
	if err != nil || ready.Source != source || ready.Kind != kind {
		t.Fatalf("%+v %v; wanted: %v", ready, err, kind)
	}
	return ready
}

func wantNothing(t *testing.T, set *lapwing.WaitSet) {
	t.Helper()
	_, err := set.Wait(lapwing.NoWait)
	wantCode(t, err, lapwing.ErrWouldBlock)
}

func takeOne(t *testing.T, s *lapwing.Subscriber) {
	t.Helper()
	if _, err := s.ReadOne(lapwing.NoWait, make([]byte, quoteBytes)); err != nil {
		t.Fatal(err)
	}
}

type answered struct {
	ready lapwing.Ready
	err   error
}

// waiting starts a wait without a result, and returns once it waits. source is in the set.
func waiting(t *testing.T, ctx context.Context, set *lapwing.WaitSet, source *lapwing.Subscriber) <-chan answered {
	t.Helper()
	answers := make(chan answered, 1)
	go func() {
		for {
			ready, err := set.Wait(ctx)
			if lapwing.CodeOf(err) == lapwing.ErrMisuse && !errors.Is(err, os.ErrClosed) {
				continue // it overlapped the Inspect below
			}
			answers <- answered{ready, err}
			return
		}
	}()
	for {
		if _, err := source.Inspect(); lapwing.CodeOf(err) == lapwing.ErrMisuse {
			return answers
		}
		select {
		case answer := <-answers:
			t.Fatalf("the wait did not wait: %+v", answer)
		default:
		}
	}
}

func TestASetReturnsTheBusThatHasARecord(t *testing.T) {
	ps, ss := twoBuses(t)
	set := setOf(t, ss)
	wantNothing(t, set)
	for _, i := range []int{1, 0, 0, 1} {
		publish(t, ps[i], quotes(1, 1))
		wantReady(t, set, ss[i], lapwing.SourceSubscriber)
		wantReady(t, set, ss[i], lapwing.SourceSubscriber) // the wait took nothing
		takeOne(t, ss[i])
		wantNothing(t, set)
	}
}

func TestSourcesTakeTurns(t *testing.T) {
	ps, ss := twoBuses(t)
	set := setOf(t, ss)
	seen := map[lapwing.Source]int{}
	for _, p := range ps {
		publish(t, p, quotes(1, 10))
	}
	for range 10 {
		ready, err := set.Wait(within(t))
		if err != nil {
			t.Fatal(err)
		}
		seen[ready.Source]++
	}
	if seen[ss[0]] != 5 || seen[ss[1]] != 5 {
		t.Fatal(seen)
	}
}

func TestARecordWakesASetThatWaits(t *testing.T) {
	ps, ss := twoBuses(t)
	set := setOf(t, ss)
	answers := waiting(t, context.Background(), set, ss[0])
	publish(t, ps[1], quotes(1, 1))
	if answer := <-answers; answer.err != nil || answer.ready.Source != ss[1] {
		t.Fatalf("%+v", answer)
	}
}

func TestTheWaitOfASetEndsAsOthersDo(t *testing.T) {
	_, ss := twoBuses(t)
	set := setOf(t, ss)

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err := set.Wait(ctx)
	wantCode(t, err, lapwing.ErrTimedOut)

	ctx, cancel = context.WithCancel(context.Background())
	answers := waiting(t, ctx, set, ss[0])
	cancel()
	if answer := <-answers; !errors.Is(answer.err, lapwing.ErrInterrupted) || !errors.Is(answer.err, context.Canceled) {
		t.Fatal(answer.err)
	}

	answers = waiting(t, context.Background(), set, ss[0])
	set.Interrupt()
	wantCode(t, (<-answers).err, lapwing.ErrInterrupted)

	answers = waiting(t, context.Background(), set, ss[0])
	if err := set.Close(); err != nil {
		t.Fatal(err)
	}
	if answer := <-answers; !errors.Is(answer.err, lapwing.ErrMisuse) || !errors.Is(answer.err, os.ErrClosed) {
		t.Fatal(answer.err)
	}
	if _, err := ss[0].Inspect(); err != nil {
		t.Fatal("a source was closed with its set:", err)
	}
	wantNothing(t, setOf(t, ss)) // the sources can be added to another set
}

func TestTimersAreReadyInTimeAndAgain(t *testing.T) {
	set := openSet(t)
	once, err := set.AddTimer(lapwing.Never, 0)
	if err != nil {
		t.Fatal(err)
	}
	wantNothing(t, set)
	for range 2 {
		if err := once.Reset(0, 0); err != nil {
			t.Fatal(err)
		}
		if ready := wantReady(t, set, once, lapwing.SourceTimer); ready.Expirations != 1 {
			t.Fatalf("%+v", ready)
		}
		wantNothing(t, set)
	}
	tick, err := set.AddTimer(time.Millisecond, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	var expirations uint64
	for expirations < 5 {
		expirations += wantReady(t, set, tick, lapwing.SourceTimer).Expirations
	}
	if err := tick.Reset(lapwing.Never, 0); err != nil {
		t.Fatal(err)
	}
	wantNothing(t, set)
	if err := set.Remove(tick); err != nil {
		t.Fatal(err)
	}
	wantCode(t, tick.Reset(0, 0), lapwing.ErrNotFound)
	wantCode(t, set.Remove(tick), lapwing.ErrNotFound)
	wantCode(t, once.Reset(-2, 0), lapwing.ErrInvalidArgument)
	wantCode(t, once.Reset(0, -1), lapwing.ErrInvalidArgument)
	wantCode(t, new(lapwing.Timer).Reset(0, 0), lapwing.ErrMisuse)
}

func TestADescriptorIsReadyWithItsEvents(t *testing.T) {
	set := openSet(t)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	defer in.Close()
	pipe, err := set.AddFD(int(out.Fd()), syscall.EPOLLIN)
	if err != nil {
		t.Fatal(err)
	}
	wantNothing(t, set)
	if _, err := in.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if ready := wantReady(t, set, pipe, lapwing.SourceFD); ready.Events != syscall.EPOLLIN {
		t.Fatalf("%+v", ready)
	}
	if err := set.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	wantNothing(t, set)
	_, err = set.AddFD(-1, syscall.EPOLLIN)
	wantCode(t, err, lapwing.ErrInvalidArgument)
}

func TestAChannelIsReadyForEachOfItsEnds(t *testing.T) {
	set := openSet(t)
	listener, path := listen(t)
	if err := set.AddListener(listener); err != nil {
		t.Fatal(err)
	}
	wantNothing(t, set)
	producers := make(chan *lapwing.Producer, 1)
	go func() {
		producer, err := lapwing.ConnectProducer(within(t), path, lapwing.ChannelOptions{Capacity: 4096, MessageBytesMax: 1024})
		if err != nil {
			t.Error(err)
		}
		producers <- producer
	}()
	wantReady(t, set, listener, lapwing.SourceListener)
	consumer, err := listener.AcceptConsumer(within(t), lapwing.ChannelOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	producer := <-producers
	if producer == nil {
		t.FailNow()
	}
	defer producer.Close()
	if err := errors.Join(set.Remove(listener), set.AddConsumer(consumer)); err != nil {
		t.Fatal(err)
	}
	wantNothing(t, set)
	full := lapwing.Message{Payload: make([]byte, 1024)}
	for err = nil; err == nil; {
		err = producer.Send(lapwing.NoWait, full)
	}
	wantCode(t, err, lapwing.ErrWouldBlock)
	wantReady(t, set, consumer, lapwing.SourceConsumer)

	wantCode(t, set.AddProducer(producer, 4096), lapwing.ErrInvalidArgument) // above its maximum
	if err := errors.Join(set.Remove(consumer), set.AddProducer(producer, 1024)); err != nil {
		t.Fatal(err)
	}
	wantNothing(t, set)
	var message lapwing.Message
	for err = nil; err == nil; {
		err = consumer.Receive(lapwing.NoWait, &message)
	}
	wantReady(t, set, producer, lapwing.SourceProducer)
}

func TestADuplexIsReadyForACall(t *testing.T) {
	set := openSet(t)
	client, server := duplexes(t)
	if err := set.AddDuplex(server); err != nil {
		t.Fatal(err)
	}
	wantNothing(t, set)
	if _, err := client.Start(within(t), lapwing.Message{Type: 1}); err != nil {
		t.Fatal(err)
	}
	wantReady(t, set, server, lapwing.SourceDuplex)
}

func TestASourceIsInOneSetOnce(t *testing.T) {
	ps, ss := twoBuses(t)
	set := setOf(t, ss)
	wantCode(t, set.AddSubscriber(ss[0]), lapwing.ErrMisuse)
	wantCode(t, openSet(t).AddSubscriber(ss[0]), lapwing.ErrMisuse)
	wantCode(t, openSet(t).Remove(ss[0]), lapwing.ErrNotFound)
	wantCode(t, set.Remove(new(lapwing.Subscriber)), lapwing.ErrNotFound)
	publish(t, ps[0], quotes(1, 1))
	if err := set.Remove(ss[0]); err != nil {
		t.Fatal(err)
	}
	wantCode(t, set.Remove(ss[0]), lapwing.ErrNotFound)
	wantNothing(t, set)
	other := openSet(t)
	if err := other.AddSubscriber(ss[0]); err != nil {
		t.Fatal(err)
	}
	wantReady(t, other, ss[0], lapwing.SourceSubscriber)
	wantCode(t, new(lapwing.WaitSet).AddSubscriber(ss[1]), lapwing.ErrMisuse)
	wantCode(t, set.AddSubscriber(new(lapwing.Subscriber)), lapwing.ErrMisuse)
}

func TestASourceThatIsClosedLeavesItsSet(t *testing.T) {
	ps, ss := twoBuses(t)
	set := setOf(t, ss)
	publish(t, ps[0], quotes(1, 1))
	wantReady(t, set, ss[0], lapwing.SourceSubscriber)
	ss[0].Close()
	wantNothing(t, set)
	wantCode(t, set.Remove(ss[0]), lapwing.ErrNotFound)
}

// A source may be closed at any time. In C, closing it during a wait would be an error.
func TestSourcesThatAreClosedDuringAWaitLeaveTheSet(t *testing.T) {
	ps, ss := twoBuses(t)
	set := setOf(t, ss)
	directory := t.TempDir()
	openPublisher(t, directory)
	for range 20 {
		added := caughtUp(t, directory)
		if err := set.AddSubscriber(added); err != nil {
			t.Fatal(err)
		}
		answers := waiting(t, context.Background(), set, ss[0])
		if err := added.Close(); err != nil {
			t.Fatal(err)
		}
		publish(t, ps[1], quotes(1, 1))
		if answer := <-answers; answer.err != nil || answer.ready.Source != ss[1] {
			t.Fatalf("%+v", answer)
		}
		takeOne(t, ss[1])
	}
}

func TestCallsOfASetAndOfItsSourcesDoNotOverlap(t *testing.T) {
	_, ss := twoBuses(t)
	set := setOf(t, ss)
	answers := waiting(t, context.Background(), set, ss[0])
	wantCode(t, ss[1].Read(lapwing.NoWait, lapwing.NewBatch(4096)), lapwing.ErrMisuse)
	wantCode(t, set.Remove(ss[1]), lapwing.ErrMisuse)
	_, err := set.AddTimer(0, 0)
	wantCode(t, err, lapwing.ErrMisuse)
	set.Interrupt()
	wantCode(t, (<-answers).err, lapwing.ErrInterrupted)

	reads := reading(t, context.Background(), ss[1])
	for { // the read has begun, and may be about to enter the set
		if _, err = set.Wait(lapwing.NoWait); lapwing.CodeOf(err) == lapwing.ErrMisuse {
			break
		}
		wantCode(t, err, lapwing.ErrWouldBlock)
	}
	ss[1].Interrupt()
	wantCode(t, <-reads, lapwing.ErrInterrupted)
	wantNothing(t, set)
}

func TestAWaitOfASetAllocatesNothing(t *testing.T) {
	ps, ss := twoBuses(t)
	set, ctx := setOf(t, ss), within(t)
	publish(t, ps[0], quotes(1, 1))
	allocations := testing.AllocsPerRun(200, func() {
		if ready, err := set.Wait(ctx); err != nil || ready.Source != ss[0] {
			t.Fatal(ready, err)
		}
	})
	if allocations != 0 {
		t.Fatalf("%v allocations", allocations)
	}
}

func TestASetThatIsCollectedOpenLeavesItsSources(t *testing.T) {
	warned := captureWarnings(t)
	_, ss := twoBuses(t)
	func() {
		set, err := lapwing.NewWaitSet(lapwing.WaitBackoff)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(set.AddSubscriber(ss[0]), set.AddSubscriber(ss[1])); err != nil {
			t.Fatal(err)
		}
		if _, err := set.AddTimer(0, 0); err != nil {
			t.Fatal(err)
		}
	}()
	collectUntil(t, warned, "a WaitSet was never closed")
	wantNothing(t, setOf(t, ss))
	runtime.KeepAlive(ss)
}
