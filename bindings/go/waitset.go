package lapwing

/*
#cgo noescape lapwing_wait_set_wait
#cgo nocallback lapwing_wait_set_wait
#include "calls.h"
*/
import "C"

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"
)

// SourceKind is the kind of a source in a WaitSet.
type SourceKind uint32

const (
	SourceSubscriber SourceKind = C.LAPWING_SOURCE_SUBSCRIBER
	SourceConflated  SourceKind = C.LAPWING_SOURCE_CONFLATED // a Subscriber with Conflate
	SourceConsumer   SourceKind = C.LAPWING_SOURCE_CONSUMER
	SourceProducer   SourceKind = C.LAPWING_SOURCE_PRODUCER
	SourceDuplex     SourceKind = C.LAPWING_SOURCE_DUPLEX
	SourceListener   SourceKind = C.LAPWING_SOURCE_LISTENER
	SourceFD         SourceKind = C.LAPWING_SOURCE_FD
	SourceTimer      SourceKind = C.LAPWING_SOURCE_TIMER
)

func (k SourceKind) String() string { return nameOf(int(k), sourceKinds) }

var sourceKinds = []string{SourceSubscriber: "subscriber", SourceConflated: "conflated",
	SourceConsumer: "consumer", SourceProducer: "producer", SourceDuplex: "duplex", SourceListener: "listener",
	SourceFD: "fd", SourceTimer: "timer"}

// Source is a source of a WaitSet: a *Subscriber, *Consumer, *Producer, *Duplex, *Listener, *Descriptor or
// *Timer.
type Source interface {
	begin() error
	end()
	place() *atomic.Pointer[membership]
}

func (s *Subscriber) place() *atomic.Pointer[membership] { return s.membership() }
func (c *channel) place() *atomic.Pointer[membership]    { return c.membership() }
func (l *Listener) place() *atomic.Pointer[membership]   { return l.membership() }

// setOnly is a source that exists only in a wait set.
type setOnly struct{ member atomic.Pointer[membership] }

func (s *setOnly) begin() error                       { return nil }
func (s *setOnly) end()                               {}
func (s *setOnly) place() *atomic.Pointer[membership] { return &s.member }

// Descriptor is a file descriptor in a WaitSet.
type Descriptor struct{ setOnly }

// Timer is a timer in a WaitSet.
type Timer struct {
	setOnly
	set *WaitSet
}

type waitSetHandle = handle[*C.lapwing_wait_set]

// WaitSet waits for several buses, channels, listeners, descriptors and timers in one goroutine:
//
//	set, err := lapwing.NewWaitSet(lapwing.WaitBackoff)
//	…
//	err = errors.Join(set.AddSubscriber(es), set.AddSubscriber(nq))
//	…
//	for {
//		ready, err := set.Wait(ctx)
//		…
//		switch ready.Source {
//		case es: … // read with NoWait
//		case nq: …
//		}
//	}
//
// A set has up to 127 sources, which it does not own. A closed source leaves the set. A source that has ended
// stays ready until Remove or its Close. While Wait waits, calls on its sources return ErrMisuse. A Wait during
// a call on a source also returns ErrMisuse. Interrupt and Close of a source may be called at any time. Only
// the set's own Interrupt ends a Wait.
type WaitSet struct {
	waitSetHandle
	use     *setUse
	sources map[C.uint64_t]Source
	found   C.lapwing_ready
}

// NewWaitSet returns an empty set. A Subscriber that waits with WaitBusy requires a set with WaitBusy.
func NewWaitSet(wait WaitStrategy) (*WaitSet, error) {
	if err := cmp.Or(load(), wait.check()); err != nil {
		return nil, err
	}
	var made *C.lapwing_wait_set
	e := noError()
	if err := failure(C.lapwing_wait_set_open(waits[wait], &made, &e), &e); err != nil {
		return nil, err
	}
	use := &setUse{}
	use.changed.L = &use.mu
	w := &WaitSet{use: use, sources: map[C.uint64_t]Source{}}
	w.own(made, "WaitSet",
		func(c *C.lapwing_wait_set) { C.lapwing_wait_set_interrupt(c) },
		func(c *C.lapwing_wait_set) { use.leave(func() { C.lapwing_wait_set_destroy(&c) }) })
	use.interrupt = w.core.signal
	return w, nil
}

// AddSubscriber adds a subscriber. It is ready when Read would not wait.
func (w *WaitSet) AddSubscriber(s *Subscriber) error {
	return w.add(s, func(c *C.lapwing_wait_set, id *C.uint64_t, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_wait_set_add_subscriber(c, s.c, 0, id, e)
	})
}

// AddConsumer adds a consumer. It is ready when there is a message.
func (w *WaitSet) AddConsumer(c *Consumer) error { return w.addChannel(c, &c.channel, 0) }

// AddProducer adds a producer. It is ready when there is room for a message of that many bytes.
func (w *WaitSet) AddProducer(p *Producer, bytes int) error {
	if err := notNegative("bytes", bytes); err != nil {
		return err
	}
	return w.addChannel(p, &p.channel, bytes)
}

// AddDuplex adds a duplex. It is ready when there is a call, a message or a reply, or when one of its own calls
// has timed out.
func (w *WaitSet) AddDuplex(d *Duplex) error { return w.addChannel(d, &d.channel, 0) }

func (w *WaitSet) addChannel(source Source, end *channel, bytes int) error {
	return w.add(source, func(c *C.lapwing_wait_set, id *C.uint64_t, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_wait_set_add_channel(c, end.c, C.size_t(bytes), 0, id, e)
	})
}

// AddListener adds a listener. It is ready when an accept or Tend has something to do.
func (w *WaitSet) AddListener(l *Listener) error {
	return w.add(l, func(c *C.lapwing_wait_set, id *C.uint64_t, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_wait_set_add_listener(c, l.c, 0, id, e)
	})
}

// AddFD adds a descriptor. It is ready when one of the given poll(2) events has occurred. On Linux their
// numbers are syscall.EPOLLIN, EPOLLOUT, EPOLLPRI and EPOLLRDHUP. Remove it before you close fd.
func (w *WaitSet) AddFD(fd int, events uint32) (*Descriptor, error) {
	d := &Descriptor{}
	err := w.add(d, func(c *C.lapwing_wait_set, id *C.uint64_t, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_wait_set_add_fd(c, C.int32_t(fd), C.uint32_t(events), 0, id, e)
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// AddTimer adds a timer. It is ready after the time `in`, and then at intervals of `every`. If `every` is 0, it
// is ready only once. If `in` is Never, the timer starts with Reset.
func (w *WaitSet) AddTimer(in, every time.Duration) (*Timer, error) {
	if err := timerTimes(in, every); err != nil {
		return nil, err
	}
	t := &Timer{set: w}
	err := w.add(t, func(c *C.lapwing_wait_set, id *C.uint64_t, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_wait_set_add_timer(c, C.int64_t(in), C.int64_t(every), 0, id, e)
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func timerTimes(in, every time.Duration) error {
	return cmp.Or(duration("in", in, "Never"), notNegative("every", every))
}

// Reset restarts the timer. The arguments are those of AddTimer. ErrNotFound: the timer was removed.
func (t *Timer) Reset(in, every time.Duration) error {
	if err := timerTimes(in, every); err != nil {
		return err
	}
	if t.set == nil {
		return misuse("this Timer cannot be set: it is not in a wait set. Get one from AddTimer")
	}
	return t.set.change(t, func(c *C.lapwing_wait_set, id C.uint64_t, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_wait_set_set_timer(c, id, C.int64_t(in), C.int64_t(every), e)
	})
}

// Remove removes a source. ErrNotFound: it is not in this set.
func (w *WaitSet) Remove(source Source) error {
	return w.change(source, func(c *C.lapwing_wait_set, id C.uint64_t, e *C.lapwing_error) C.lapwing_result {
		result := C.lapwing_wait_set_remove(c, id, e)
		if result == C.LAPWING_OK {
			source.place().Store(nil)
			delete(w.sources, id)
		}
		return result
	})
}

// add performs a call that adds a source. No other call may use the source meanwhile.
func (w *WaitSet) add(source Source,
	f func(*C.lapwing_wait_set, *C.uint64_t, *C.lapwing_error) C.lapwing_result) error {
	if err := source.begin(); err != nil {
		return err
	}
	defer source.end()
	return w.call(func(c *C.lapwing_wait_set, e *C.lapwing_error) C.lapwing_result {
		w.use.beginCall(false)
		defer w.use.endCall()
		var id C.uint64_t
		result := f(c, &id, e)
		if result == C.LAPWING_OK {
			w.forgetClosed()
			source.place().Store(&membership{w.use, id})
			w.sources[id] = source
		}
		return result
	})
}

// forgetClosed deletes the sources that left the set when they were closed.
func (w *WaitSet) forgetClosed() {
	for id, source := range w.sources {
		if m := source.place().Load(); m == nil || m.set != w.use {
			delete(w.sources, id)
		}
	}
}

// change performs a call on a source of the set. No other call may use the source meanwhile.
func (w *WaitSet) change(source Source,
	f func(*C.lapwing_wait_set, C.uint64_t, *C.lapwing_error) C.lapwing_result) error {
	absent := &Error{Code: ErrNotFound, Message: "the source was not found: it is not in this wait set. Add it first"}
	if m := source.place().Load(); m == nil || m.set != w.use {
		return absent
	}
	if err := source.begin(); err != nil {
		return err
	}
	defer source.end()
	return w.call(func(c *C.lapwing_wait_set, e *C.lapwing_error) C.lapwing_result {
		w.use.beginCall(false)
		defer w.use.endCall()
		m := source.place().Load()
		if m == nil || m.set != w.use {
			return refuse(e, absent)
		}
		return f(c, m.id, e)
	})
}

// Ready is a source that is ready.
type Ready struct {
	Source      Source // the source that was added
	Kind        SourceKind
	Expirations uint64 // of a timer, since it was last ready
	Events      uint32 // of a descriptor, as in poll(2)
}

// Wait returns the next source that is ready. It takes nothing from the source: call the source with NoWait.
// A source with more items is ready again. Sources take turns. Wait allocates nothing.
func (w *WaitSet) Wait(ctx context.Context) (ready Ready, err error) {
	err = w.wait(ctx, func(c *C.lapwing_wait_set, timeout C.int64_t, e *C.lapwing_error) C.lapwing_result {
		if !w.use.beginCall(true) {
			return refuse(e, misuse("the wait set cannot wait: another goroutine is in a call of a source of it"))
		}
		defer w.use.endCall()
		w.found = C.lapwing_ready{struct_size: C.sizeof_lapwing_ready}
		result := C.lapwing_wait_set_wait(c, &w.found, timeout, e)
		if result == C.LAPWING_OK {
			ready = Ready{w.sources[w.found.source], SourceKind(w.found.kind), uint64(w.found.expirations),
				uint32(w.found.events)}
		}
		return result
	})
	return ready, err
}

// Close ends the current wait and frees the set. Its sources stay open.
func (w *WaitSet) Close() error {
	return w.closeUnless(func() error {
		clear(w.sources)
		return nil
	})
}
