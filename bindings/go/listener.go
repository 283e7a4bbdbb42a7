package lapwing

// #include "calls.h"
import "C"

import "context"

type listenerHandle = handle[*C.lapwing_listener]

// Listener owns a channel's path and serves one peer after another.
type Listener struct {
	listenerHandle
}

// ListenerOptions are the options of Listen and TakeOver. A zero field has its default.
type ListenerOptions struct {
	PeerUID *uint32 // the only user to serve; nil: this user and root
}

func (o ListenerOptions) c() C.lapwing_channel_options {
	options := ChannelOptions{PeerUID: o.PeerUID}
	return options.withoutName()
}

func newListener(made *C.lapwing_listener) *Listener {
	l := &Listener{}
	l.own(made, "Listener",
		func(c *C.lapwing_listener) { C.lapwing_listener_interrupt(c) },
		func(c *C.lapwing_listener) { C.lapwing_listener_destroy(&c) })
	return l
}

// Listen listens on a path. ErrInUse: another listener uses it.
func Listen(path string, options ListenerOptions) (*Listener, error) {
	if err := load(); err != nil {
		return nil, err
	}
	var a arena
	defer a.free()
	at, c := a.text(path), options.c()
	if a.err != nil {
		return nil, a.err
	}
	var made *C.lapwing_listener
	e := noError()
	if err := failure(C.lapwing_listener_open(at, &c, &made, &e), &e); err != nil {
		return nil, err
	}
	return newListener(made), nil
}

// TakeOver replaces the process that listens there now, as soon as that process accepts or tends. When ctx is
// canceled, the attempt continues in a goroutine for a few seconds, and closes the listener if it succeeds.
func TakeOver(ctx context.Context, path string, options ListenerOptions) (*Listener, error) {
	made, err := openPeer(ctx, 0,
		func(timeout C.int64_t, made **C.lapwing_listener, e *C.lapwing_error) C.lapwing_result {
			var a arena
			defer a.free()
			at, c := a.text(path), options.c()
			if a.err != nil {
				return refuse(e, a.err)
			}
			return C.lapwing_listener_take_over(at, &c, timeout, made, e)
		},
		func(c *C.lapwing_listener) { C.lapwing_listener_destroy(&c) })
	if err != nil {
		return nil, err
	}
	return newListener(made), nil
}

// AcceptProducer serves the next peer. This side sends. ErrClosed: the listener was handed over.
func (l *Listener) AcceptProducer(ctx context.Context, options ChannelOptions) (*Producer, error) {
	return newEnd[Producer](l.accept(ctx, C.LAPWING_CHANNEL_ROLE_PRODUCER, options))
}

// AcceptConsumer serves the next peer. This side receives.
func (l *Listener) AcceptConsumer(ctx context.Context, options ChannelOptions) (*Consumer, error) {
	return newEnd[Consumer](l.accept(ctx, C.LAPWING_CHANNEL_ROLE_CONSUMER, options))
}

// AcceptDuplex serves the next peer, with calls and messages in both directions.
func (l *Listener) AcceptDuplex(ctx context.Context, options ChannelOptions) (*Duplex, error) {
	return newEnd[Duplex](l.accept(ctx, C.LAPWING_CHANNEL_ROLE_DUPLEX, options))
}

func (l *Listener) accept(ctx context.Context, role C.uint32_t, options ChannelOptions) (*C.lapwing_channel, error) {
	var a arena
	defer a.free()
	c := options.c(&a)
	if a.err != nil {
		return nil, a.err
	}
	var made *C.lapwing_channel
	err := l.wait(ctx, func(l *C.lapwing_listener, timeout C.int64_t, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_listener_accept(l, role, &c, timeout, &made, e)
	})
	return made, err
}

// Tend drops clients that stay silent, and lets a successor take over. Call it while serving a peer. It never
// waits. ErrClosed: the listener was handed over.
func (l *Listener) Tend() error {
	return l.call(func(l *C.lapwing_listener, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_listener_tend(l, e)
	})
}

// FD returns a descriptor for an event loop. Do not close it. It is readable when the call that was made last,
// accept or Tend, has something to do. After the listener was handed over, FD returns -1 and ErrClosed.
func (l *Listener) FD() (int, error) {
	fd := C.int32_t(-1)
	err := l.call(func(l *C.lapwing_listener, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_listener_fd(l, &fd, e)
	})
	return int(fd), err
}
