package lapwing_test

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"lapwing.example/go/lapwing"
)

// reading starts a read without a result, and returns once the read waits.
func reading(t *testing.T, ctx context.Context, s *lapwing.Subscriber) <-chan error {
	t.Helper()
	answers := make(chan error, 1)
	go func() {
		for {
			err := s.Read(ctx, lapwing.NewBatch(4096))
			if lapwing.CodeOf(err) == lapwing.ErrMisuse && !errors.Is(err, os.ErrClosed) {
				continue // it overlapped the Inspect below
			}
			answers <- err
			return
		}
	}()
	for {
		if _, err := s.Inspect(); lapwing.CodeOf(err) == lapwing.ErrMisuse {
			return answers
		}
		select {
		case err := <-answers:
			t.Fatal("the read did not wait:", err)
		default:
		}
	}
}

func waitReadable(t *testing.T, fd int) {
	t.Helper()
	set, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(set)
	event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}
	if err := syscall.EpollCtl(set, syscall.EPOLL_CTL_ADD, fd, &event); err != nil {
		t.Fatal(err)
	}
	for {
		count, err := syscall.EpollWait(set, make([]syscall.EpollEvent, 1), int(patience.Milliseconds()))
		if err == syscall.EINTR {
			continue
		}
		if err != nil || count != 1 {
			t.Fatal("the descriptor did not become readable:", err)
		}
		return
	}
}

func TestNoWaitAnswersWouldBlock(t *testing.T) {
	directory := t.TempDir()
	openPublisher(t, directory)
	wantCode(t, caughtUp(t, directory).Read(lapwing.NoWait, lapwing.NewBatch(4096)), lapwing.ErrWouldBlock)
}

func TestADeadlineEndsAWait(t *testing.T) {
	directory := t.TempDir()
	openPublisher(t, directory)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	s := caughtUp(t, directory)
	for range 2 { // during the wait, and before it
		err := s.Read(ctx, lapwing.NewBatch(4096))
		wantCode(t, err, lapwing.ErrTimedOut)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, lapwing.ErrTimedOut) {
			t.Fatal(err)
		}
	}
}

func TestACancellationEndsAWaitAndNoLaterOne(t *testing.T) {
	directory := t.TempDir()
	p := openPublisher(t, directory)
	s := caughtUp(t, directory)
	why := errors.New("the test says so")
	ctx, cancel := context.WithCancelCause(context.Background())
	answers := reading(t, ctx, s)
	cancel(why)
	err := <-answers
	wantCode(t, err, lapwing.ErrInterrupted)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
		t.Fatal(err)
	}
	answers = reading(t, context.Background(), s)
	publish(t, p, quotes(1, 1))
	if err := <-answers; err != nil {
		t.Fatal(err)
	}
}

func TestACancellationBetweenWaitsEndsNone(t *testing.T) {
	directory := t.TempDir()
	p := openPublisher(t, directory)
	s := caughtUp(t, directory)
	for n := range 50 {
		ctx, cancel := context.WithCancel(context.Background())
		publish(t, p, quotes(n, 1))
		if err := s.Read(ctx, lapwing.NewBatch(4096)); err != nil {
			t.Fatal(err)
		}
		cancel() // interrupts the subscriber while no call waits, or the wait below
		answers := reading(t, context.Background(), s)
		publish(t, p, quotes(n, 1))
		if err := <-answers; err != nil {
			t.Fatal(err)
		}
	}
}

func TestInterruptEndsOneWait(t *testing.T) {
	directory := t.TempDir()
	p := openPublisher(t, directory)
	s := caughtUp(t, directory)
	answers := reading(t, context.Background(), s)
	s.Interrupt()
	wantCode(t, <-answers, lapwing.ErrInterrupted)

	s.Interrupt() // interrupts the next wait
	wantCode(t, s.Read(within(t), lapwing.NewBatch(4096)), lapwing.ErrInterrupted)

	publish(t, p, quotes(1, 1))
	if err := s.Read(within(t), lapwing.NewBatch(4096)); err != nil {
		t.Fatal(err)
	}
}

func TestCloseEndsAWait(t *testing.T) {
	directory := t.TempDir()
	openPublisher(t, directory)
	s := caughtUp(t, directory)
	answers := reading(t, context.Background(), s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	err := <-answers
	wantCode(t, err, lapwing.ErrMisuse)
	if !errors.Is(err, os.ErrClosed) {
		t.Fatal(err)
	}
}

func TestACallThatOverlapsAWaitIsMisuse(t *testing.T) {
	directory := t.TempDir()
	openPublisher(t, directory)
	s := caughtUp(t, directory)
	answers := reading(t, context.Background(), s)
	_, err := s.ReadOne(within(t), make([]byte, quoteBytes))
	wantCode(t, err, lapwing.ErrMisuse)
	s.Interrupt()
	wantCode(t, <-answers, lapwing.ErrInterrupted)
	if _, err := s.Inspect(); err != nil {
		t.Fatal(err)
	}
}

func TestAPublishThatIsInterruptedOnceIsNotPublishedTwice(t *testing.T) {
	directory := t.TempDir()
	p := openPublisher(t, directory)
	for n := range 200 {
		ctx, cancel := context.WithCancel(context.Background())
		if _, err := lapwing.PublishRows(ctx, p, quotes(n*100+1, 100)); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	info, err := p.Inspect()
	if err != nil || info.Head != 20000 {
		t.Fatal(info.Head, err)
	}
}
