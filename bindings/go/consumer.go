package lapwing

/*
#cgo noescape lapwing_channel_peek
#cgo nocallback lapwing_channel_peek
#cgo noescape lapwing_channel_release
#cgo nocallback lapwing_channel_release
#include "calls.h"
*/
import "C"

import (
	"context"
	"sync"
	"unsafe"
)

// Consumer is the receiving end of a channel.
type Consumer struct {
	channel
	peeked []C.lapwing_message
	views  views
}

func (c *Consumer) open(made *C.lapwing_channel) { c.adopt(made, "Consumer") }

// Receive copies the next message into *message and releases it. It reuses the memory of the payload.
func (c *Consumer) Receive(ctx context.Context, message *Message) error {
	if err := c.views.refuse(1); err != nil { // before the peek, which would discard the last one
		return err
	}
	return c.peek(ctx, 1, func(end *C.lapwing_channel, found []C.lapwing_message, e *C.lapwing_error) C.lapwing_result {
		if err := c.views.refuse(1); err != nil {
			return refuse(e, err)
		}
		message.copy(&found[0])
		return c.releaseNow(end, 1, e)
	})
}

// Peek copies as many messages as are available and fit, beginning with the first unreleased one. It returns
// their number, and reuses the memory of their payloads.
func (c *Consumer) Peek(ctx context.Context, messages []Message) (int, error) {
	count := 0
	err := c.peek(ctx, len(messages), func(_ *C.lapwing_channel, found []C.lapwing_message, _ *C.lapwing_error) C.lapwing_result {
		count = len(found)
		for i := range found {
			messages[i].copy(&found[i])
		}
		return C.LAPWING_OK
	})
	return count, err
}

// UnsafePeek is like Peek, but without copies: the payloads are in the producer's memory. The producer may
// change them at any time, so copy a payload before you validate it. A write to a payload crashes the program.
// Call Done for each message. Until then, Release and Close return ErrMisuse.
func (c *Consumer) UnsafePeek(ctx context.Context, messages []UnsafeMessage) (int, error) {
	count := 0
	err := c.peek(ctx, len(messages), func(_ *C.lapwing_channel, found []C.lapwing_message, _ *C.lapwing_error) C.lapwing_result {
		count = len(found)
		for i := range found {
			messages[i] = c.views.add(i, &found[i])
		}
		return C.LAPWING_OK
	})
	return count, err
}

// Release releases the first count messages of the last peek. ErrMisuse: there were fewer, or one of them has
// a view that is not done.
func (c *Consumer) Release(count int) error {
	return c.call(func(end *C.lapwing_channel, e *C.lapwing_error) C.lapwing_result {
		if err := c.views.refuse(count); err != nil {
			return refuse(e, err)
		}
		return c.releaseNow(end, count, e)
	})
}

// Arm is for an event loop, before it polls FD. true: nothing has arrived, and FD becomes readable when that
// may have changed. false: try at once. The result is valid until the next call.
func (c *Consumer) Arm() (bool, error) { return c.arm(0) }

// Close closes the handle. If a view is not done, it returns ErrMisuse and the handle stays open.
func (c *Consumer) Close() error {
	refuse := func() error { return c.views.refuse(-1) }
	if err := refuse(); err != nil { // before Close ends the current wait
		return err
	}
	return c.closeUnless(refuse) // a peek in progress may have created a view
}

// peek calls use with the borrowed messages during the C call, so that no other call can release them
// meanwhile.
func (c *Consumer) peek(ctx context.Context, max int,
	use func(*C.lapwing_channel, []C.lapwing_message, *C.lapwing_error) C.lapwing_result) error {
	return c.wait(ctx, func(end *C.lapwing_channel, timeout C.int64_t, e *C.lapwing_error) C.lapwing_result {
		if len(c.peeked) < max {
			c.peeked = make([]C.lapwing_message, max)
		}
		var count C.size_t
		result := C.lapwing_channel_peek(end, unsafe.SliceData(c.peeked), C.size_t(max), timeout, &count, e)
		if result != C.LAPWING_OK {
			return result
		}
		return use(end, c.peeked[:count], e)
	})
}

func (c *Consumer) releaseNow(end *C.lapwing_channel, count int, e *C.lapwing_error) C.lapwing_result {
	result := C.lapwing_channel_release(end, C.size_t(count), e)
	if result == C.LAPWING_OK {
		c.views.released(count)
	}
	return result
}

func (m *Message) copy(found *C.lapwing_message) {
	m.Type = uint32(found._type)
	m.Payload = copyPayload(m.Payload, found.payload, found.bytes)
}

// UnsafeMessage is a message in place. It may be copied; one Done ends all copies.
type UnsafeMessage struct {
	Type    uint32
	Payload []byte
	view    *view
}

// Done ends the view. Do not use the payload afterwards. Done is idempotent.
func (m *UnsafeMessage) Done() {
	m.Payload = nil
	if m.view != nil {
		m.view.done()
	}
}

// views counts the views that are not done, for each unreleased message.
type views struct {
	mu    sync.Mutex
	first uint64 // number of the first unreleased message, from 0
	open  map[uint64]int
}

type view struct {
	of      *views
	message uint64
	once    sync.Once
}

func (v *views) add(i int, found *C.lapwing_message) UnsafeMessage {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open == nil {
		v.open = map[uint64]int{}
	}
	made := &view{of: v, message: v.first + uint64(i)}
	v.open[made.message]++
	payload := unsafe.Slice((*byte)(found.payload), int(found.bytes))
	return UnsafeMessage{Type: uint32(found._type), Payload: payload, view: made}
}

func (w *view) done() {
	w.once.Do(func() {
		w.of.mu.Lock()
		defer w.of.mu.Unlock()
		if w.of.open[w.message]--; w.of.open[w.message] == 0 {
			delete(w.of.open, w.message)
		}
	})
}

// refuse returns an error if one of the first count messages has a view. A count of -1 means all messages.
func (v *views) refuse(count int) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	for message := range v.open {
		if count < 0 || message < v.first+uint64(count) {
			return misuse("message %d that is not released has a view; call its Done first", message-v.first+1)
		}
	}
	return nil
}

func (v *views) released(count int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.first += uint64(count)
}
