package lapwing

/*
#cgo noescape lapwing_channel_claim
#cgo nocallback lapwing_channel_claim
#include "calls.h"
*/
import "C"

import (
	"context"
	"unsafe"
)

// Producer is the sending end of a channel, with backpressure.
type Producer struct {
	sender
}

func (p *Producer) open(c *C.lapwing_channel) { p.adopt(c, "Producer") }

// UnsafeClaim returns room for a message of up to that many bytes, in the channel's memory. Write to it only
// until Commit, Abort, Close or the next claim. ErrMisuse: the size is above the maximum.
func (p *Producer) UnsafeClaim(ctx context.Context, bytes int) ([]byte, error) {
	var payload unsafe.Pointer
	err := p.wait(ctx, func(c *C.lapwing_channel, timeout C.int64_t, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_channel_claim(c, C.size_t(bytes), timeout, &payload, e)
	})
	if err != nil || payload == nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(payload), bytes), nil
}

// Commit sends the first bytes of the claim. ErrMisuse if there is no claim or it is shorter.
func (p *Producer) Commit(bytes int, messageType uint32) error {
	return p.call(func(c *C.lapwing_channel, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_channel_commit(c, C.size_t(bytes), C.uint32_t(messageType), e)
	})
}

// Abort abandons the claim.
func (p *Producer) Abort() error {
	return p.call(func(c *C.lapwing_channel, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_channel_abort(c, e)
	})
}

// Drain waits until the consumer has released everything.
func (p *Producer) Drain(ctx context.Context) error {
	return p.wait(ctx, func(c *C.lapwing_channel, timeout C.int64_t, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_channel_drain(c, timeout, e)
	})
}

// Arm is for an event loop, before it polls FD. true: there is no room for a message of that many bytes, and FD
// becomes readable when that may have changed. false: try at once. The result is valid until the next call. Arm
// abandons an open claim.
func (p *Producer) Arm(bytes int) (bool, error) { return p.arm(bytes) }
