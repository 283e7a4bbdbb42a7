package lapwing

// #include "calls.h"
import "C"

import (
	"context"
	"errors"
	"time"
)

// Special values for duration options. Each option documents the value that it accepts.
const (
	Forever   time.Duration = C.LAPWING_FOREVER    // no limit
	Never     time.Duration = C.LAPWING_NEVER      // never
	OnRequest time.Duration = C.LAPWING_ON_REQUEST // only when a call requests it
)

// NoWait is the context of a call that does not wait. If it would have to wait, it returns ErrWouldBlock.
var NoWait context.Context = noWait{}

type noWait struct{}

func (noWait) Deadline() (time.Time, bool) { return time.Time{}, true }
func (noWait) Done() <-chan struct{}       { return closedChannel }
func (noWait) Err() error                  { return context.DeadlineExceeded }
func (noWait) Value(any) any               { return nil }

var closedChannel = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// timeoutOf returns the timeout for a C call.
func timeoutOf(ctx context.Context) C.int64_t {
	if ctx == NoWait {
		return 0
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		return C.LAPWING_FOREVER
	}
	return C.int64_t(max(time.Until(deadline), 1)) // 0 means NoWait
}

// A call that opens a handle cannot be interrupted, because there is no handle yet. A call that waits until
// another process releases a lock waits in steps of this length, and checks the context between them.
const lockPatience = 50 * time.Millisecond

// openLocked performs a call that waits for a lock.
func openLocked(ctx context.Context, open func(C.int64_t, *C.lapwing_error) C.lapwing_result) error {
	if err := load(); err != nil {
		return err
	}
	e := noError()
	var taken error // the error of the last step, which names the obstacle
	for {
		switch {
		case ctx == NoWait || ctx.Err() == nil:
		case taken != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
			return taken
		default:
			return ended(ctx)
		}
		timeout, isLast := timeoutOf(ctx), true
		if timeout == C.LAPWING_FOREVER || timeout > C.int64_t(lockPatience) {
			timeout, isLast = C.int64_t(lockPatience), false
		}
		taken = failure(open(timeout, &e), &e)
		if code := CodeOf(taken); isLast || code != ErrInUse && code != ErrTimedOut {
			return taken
		}
	}
}

// With a context that has no deadline, a call that waits for a peer restarts after this time.
const peerPatience = 10 * time.Second

// openPeer performs a call that waits for another process to answer. If the context is canceled, the call
// continues in a goroutine until it times out, and its result is discarded.
func openPeer[P any](ctx context.Context, patience time.Duration,
	open func(C.int64_t, *P, *C.lapwing_error) C.lapwing_result, drop func(P)) (P, error) {
	var none P
	if err := load(); err != nil {
		return none, err
	}
	if ctx != NoWait && ctx.Err() != nil {
		return none, ended(ctx)
	}
	type answer struct {
		made P
		err  error
	}
	attempt := func() (a answer) {
		e := noError()
		for {
			timeout := timeoutOf(ctx)
			isLast := timeout != C.LAPWING_FOREVER || ctx.Done() == nil
			if !isLast {
				timeout = C.int64_t(max(patience, peerPatience))
			}
			a.err = failure(open(timeout, &a.made, &e), &e)
			code := CodeOf(a.err)
			again := code == ErrTimedOut || patience == Forever && (code == ErrNoBus || code == ErrPeerGone)
			if isLast || !again || ctx.Err() != nil {
				return a
			}
		}
	}
	if ctx == NoWait || ctx.Done() == nil {
		a := attempt()
		return a.made, a.err
	}
	answers := make(chan answer, 1)
	go func() { answers <- attempt() }()
	select {
	case a := <-answers:
		return a.made, a.err
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) { // the call times out too, and its error has the details
		a := <-answers
		return a.made, a.err
	}
	go func() {
		if a := <-answers; a.err == nil {
			drop(a.made)
		}
	}()
	return none, ended(ctx)
}
