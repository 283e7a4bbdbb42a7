package lapwing

// #include "calls.h"
import "C"

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
)

// core is the C handle and other state that may outlive the Go handle. A context's watch and the collector's
// cleanup refer to it without keeping the Go handle alive.
type core[P comparable] struct {
	mu        sync.Mutex // keeps interrupt away from a handle that is being destroyed
	c         P          // nil once destroyed
	what      string     // "Subscriber"
	interrupt func(P)    // nil: the handle has no waits
	destroy   func(P)    // never waits
	waiting   atomic.Bool
	member    atomic.Pointer[membership] // of a wait set, if it is in one
}

// expire is called when the watched context is done.
func (k *core[P]) expire() {
	if k.waiting.Load() { // otherwise the next wait checks the context itself
		k.signal()
	}
}

func (k *core[P]) signal() {
	k.mu.Lock()
	defer k.mu.Unlock()
	var none P
	if k.c != none && k.interrupt != nil {
		k.interrupt(k.c)
	}
}

func (k *core[P]) free() bool {
	var none P
	k.mu.Lock()
	c := k.c
	k.c = none
	k.mu.Unlock()
	switch m := k.member.Swap(nil); {
	case c == none:
		return false
	case m != nil:
		m.set.leave(func() { k.destroy(c) })
	default:
		k.destroy(c)
	}
	return true
}

func (k *core[P]) leaked() {
	if k.free() {
		slog.Warn("lapwing: a " + k.what + " was never closed; the garbage collector has closed it")
	}
}

// handle is a C handle of type P that serves one call at a time.
//
// Contexts: a C interrupt ends the current wait, or the next one if there is none. A handle watches the context
// of its last wait, and interrupts the wait when the context is done. The interrupt can come late, after that
// wait has ended by itself. Therefore a wait that is interrupted without a reason continues.
type handle[P comparable] struct {
	*core[P]
	busy    sync.Mutex  // held during a call; Close waits for it
	inSet   *membership // during a call
	closing atomic.Bool // Close was called
	asked   atomic.Bool // Interrupt was called, and has not ended a wait yet
	watched <-chan struct{}
	unwatch func() bool
	failure C.lapwing_error
	cleanup runtime.Cleanup
}

func (h *handle[P]) own(c P, what string, interrupt, destroy func(P)) {
	h.core = &core[P]{c: c, what: what, interrupt: interrupt, destroy: destroy}
	h.failure = noError()
	h.cleanup = runtime.AddCleanup(h, (*core[P]).leaked, h.core)
}

// begin begins a call on the handle. end ends it.
func (h *handle[P]) begin() error {
	if h.core == nil {
		return misuse("this handle was never opened")
	}
	if !h.busy.TryLock() {
		if h.closing.Load() {
			return closedHandle(h.what)
		}
		return misuse("another goroutine is in a call of this %s, which serves one at a time", h.what)
	}
	if h.closing.Load() {
		h.busy.Unlock()
		return closedHandle(h.what)
	}
	if m := h.member.Load(); m != nil {
		if !m.set.beginSource() {
			h.busy.Unlock()
			return misuse("this %s cannot be called: its wait set waits. Call it after Wait has returned", h.what)
		}
		h.inSet = m
	}
	h.failure.code, h.failure.sys_errno, h.failure.message[0] = 0, 0, 0
	return nil
}

// membership returns where the handle stores its membership in a wait set.
func (h *handle[P]) membership() *atomic.Pointer[membership] {
	if h.core == nil { // it was never opened
		return new(atomic.Pointer[membership])
	}
	return &h.member
}

func (h *handle[P]) end() {
	if h.inSet != nil {
		h.inSet.set.endSource()
		h.inSet = nil
	}
	h.busy.Unlock()
}

// call performs a call that does not wait.
func (h *handle[P]) call(f func(P, *C.lapwing_error) C.lapwing_result) error {
	if err := h.begin(); err != nil {
		return err
	}
	defer h.end()
	return failure(f(h.c, &h.failure), &h.failure)
}

// wait makes a call that may block, and returns when it completes or ctx is done. f is called again after an
// interrupt that was meant for an earlier wait.
func (h *handle[P]) wait(ctx context.Context,
	f func(P, C.int64_t, *C.lapwing_error) C.lapwing_result) error {
	if err := h.begin(); err != nil {
		return err
	}
	defer h.end()
	if ctx != NoWait {
		h.watch(ctx)
		h.waiting.Store(true) // before the check: expire reads it after ctx is done
		defer h.waiting.Store(false)
		if ctx.Err() != nil {
			return ended(ctx)
		}
	}
	for {
		result := f(h.c, timeoutOf(ctx), &h.failure)
		switch {
		case Code(result) != ErrInterrupted:
			return failure(result, &h.failure)
		case h.closing.Load():
			return closedHandle(h.what)
		case h.asked.Swap(false):
			return failure(result, &h.failure)
		case ctx != NoWait && ctx.Err() != nil:
			return ended(ctx)
		}
	}
}

// watch interrupts the handle when ctx is done. Contexts with the same Done channel share the watch, so a loop
// of waits with one context sets it up once.
func (h *handle[P]) watch(ctx context.Context) {
	done := ctx.Done()
	if done == h.watched {
		return
	}
	if h.unwatch != nil {
		h.unwatch()
	}
	h.watched, h.unwatch = done, nil
	if done != nil {
		h.unwatch = context.AfterFunc(ctx, h.core.expire)
	}
}

// Interrupt ends the current wait, or the next one if there is none, with ErrInterrupted. It may be called at
// any time, from any goroutine.
func (h *handle[P]) Interrupt() {
	if h.core != nil {
		h.asked.Store(true)
		h.signal()
	}
}

// Close frees everything. It ends the current wait, and does not itself wait for a disk or a peer. Afterwards
// every call returns ErrMisuse, which is also os.ErrClosed. Close is idempotent.
func (h *handle[P]) Close() error { return h.closeUnless(func() error { return nil }) }

// closeUnless closes the handle once no call is in progress. If against returns an error, the handle stays
// open.
func (h *handle[P]) closeUnless(against func() error) error {
	if h.core == nil {
		return nil
	}
	h.closing.Store(true)
	h.signal()
	h.busy.Lock()
	defer h.busy.Unlock()
	if err := against(); err != nil {
		h.closing.Store(false)
		return err
	}
	if h.unwatch != nil {
		h.unwatch()
		h.unwatch = nil
	}
	h.cleanup.Stop()
	h.free()
	return nil
}
