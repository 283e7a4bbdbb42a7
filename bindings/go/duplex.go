package lapwing

/*
#cgo noescape lw_channel_start
#cgo nocallback lw_channel_start
#cgo noescape lw_channel_reply
#cgo nocallback lw_channel_reply
#include "calls.h"
*/
import "C"

import (
	"context"
	"fmt"
	"unsafe"
)

// Duplex is one end of two channels: calls and one-way messages, in both directions. Send and SendBatch
// send one-way messages.
type Duplex struct {
	sender
	found    C.lapwing_reply // of the current call
	incoming C.lapwing_request
}

func (d *Duplex) open(c *C.lapwing_channel) { d.adopt(c, "Duplex") }

// Request is a call or a one-way message from the other side.
type Request struct {
	Call    uint64 // pass it to Reply; 0: one-way, no reply is expected
	Message        // in Go memory, which the next Next reuses
}

// Reply is the end of a call.
type Reply struct {
	Call    uint64 // 0: no call has ended
	IsLate  bool   // the call had already ended
	IsError bool   // the payload is an error's text, Code its number
	Code    uint32 // chosen by the server
	Message        // in Go memory, which the next Finish into this Reply reuses
}

// Err returns the server's error as a *CallError, or nil if the server replied.
func (r *Reply) Err() error {
	if !r.IsError {
		return nil
	}
	return &CallError{Code: r.Code, Text: string(r.Payload)}
}

// CallError is an error that the other side's program returned for a call.
type CallError struct {
	Code uint32 // chosen by the server
	Text string
}

func (e *CallError) Error() string {
	return fmt.Sprintf("the call was answered with error %d: %s", e.Code, e.Text)
}

// Call sends a request and waits for its reply. When ctx is done, the call is canceled. If the other side
// answers with an error, the error is a *CallError.
func (d *Duplex) Call(ctx context.Context, request Message) (Message, error) {
	call, err := d.Start(ctx, request)
	if err != nil {
		return Message{}, err
	}
	var reply Reply
	if err := d.Finish(ctx, call, &reply); err != nil {
		_ = d.Cancel(call) // otherwise the call would stay pending; misuse if it has ended
		return Message{}, err
	}
	return reply.Message, reply.Err()
}

// Start sends a request. The reply must arrive by the deadline of ctx. The number identifies the call.
func (d *Duplex) Start(ctx context.Context, request Message) (call uint64, err error) {
	var started C.uint64_t
	err = d.wait(ctx, func(c *C.lapwing_channel, timeout C.int64_t, e *C.lapwing_error) C.lapwing_result {
		return C.lw_channel_start(c, (*C.uint8_t)(unsafe.SliceData(request.Payload)),
			C.size_t(len(request.Payload)), C.uint32_t(request.Type), timeout, &started, e)
	})
	return uint64(started), err
}

// Finish waits until that call ends, at most until the deadline of its Start. If ctx is done first, the call
// stays pending. Finish returns nil if the other side answered with an error: see Reply.Err. ErrMisuse: there
// is no such call. ErrInvalidArgument if ctx is NoWait. To poll, use FinishAny.
func (d *Duplex) Finish(ctx context.Context, call uint64, reply *Reply) error {
	if ctx == NoWait {
		return invalid("Finish cannot poll for one call; use FinishAny with NoWait")
	}
	return d.receive(ctx, reply, func(c *C.lapwing_channel, _ C.int64_t, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_channel_finish(c, C.uint64_t(call), &d.found, e)
	})
}

// FinishAny waits for the next call that ends, or a late reply. reply.Call identifies it, even if the call
// ended with an error. ErrMisuse: no call is pending.
func (d *Duplex) FinishAny(ctx context.Context, reply *Reply) error {
	return d.receive(ctx, reply, func(c *C.lapwing_channel, timeout C.int64_t, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_channel_finish_any(c, timeout, &d.found, e)
	})
}

// Cancel ends a call without a reply.
func (d *Duplex) Cancel(call uint64) error {
	return d.call(func(c *C.lapwing_channel, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_channel_cancel(c, C.uint64_t(call), e)
	})
}

// Next waits for the next call or one-way message from the other side.
func (d *Duplex) Next(ctx context.Context, request *Request) error {
	return d.wait(ctx, func(c *C.lapwing_channel, timeout C.int64_t, e *C.lapwing_error) C.lapwing_result {
		d.incoming = C.lapwing_request{struct_size: C.uint32_t(C.sizeof_lapwing_request)}
		result := C.lapwing_channel_next(c, timeout, &d.incoming, e)
		request.Call = uint64(d.incoming.call)
		request.Message.take(result, &d.incoming.message)
		return result
	})
}

// Reply answers a call that Next returned, in any order. ErrMisuse: it is not a call, or was already answered.
func (d *Duplex) Reply(ctx context.Context, call uint64, reply Message) error {
	return d.reply(ctx, call, false, 0, reply)
}

// ReplyError answers a call with an error. The server chooses the number.
func (d *Duplex) ReplyError(ctx context.Context, call uint64, code uint32, text string) error {
	return d.reply(ctx, call, true, code, Message{Payload: []byte(text)})
}

// Arm is for an event loop, before it polls FD. true: nothing has arrived, and FD becomes readable when that
// may have changed. false: try at once. The result is valid until the next call.
func (d *Duplex) Arm() (bool, error) { return d.arm(0) }

func (d *Duplex) reply(ctx context.Context, call uint64, isError bool, code uint32, m Message) error {
	return d.wait(ctx, func(c *C.lapwing_channel, timeout C.int64_t, e *C.lapwing_error) C.lapwing_result {
		return C.lw_channel_reply(c, C.uint64_t(call), flag(isError, 1), C.uint32_t(code),
			(*C.uint8_t)(unsafe.SliceData(m.Payload)), C.size_t(len(m.Payload)), C.uint32_t(m.Type), timeout, e)
	})
}

// receive copies the borrowed reply in d.found during the call.
func (d *Duplex) receive(ctx context.Context, reply *Reply,
	f func(*C.lapwing_channel, C.int64_t, *C.lapwing_error) C.lapwing_result) error {
	return d.wait(ctx, func(c *C.lapwing_channel, timeout C.int64_t, e *C.lapwing_error) C.lapwing_result {
		d.found = C.lapwing_reply{struct_size: C.uint32_t(C.sizeof_lapwing_reply)}
		result := f(c, timeout, e)
		reply.Call, reply.Code = uint64(d.found.call), uint32(d.found.code)
		reply.IsError, reply.IsLate = d.found.is_error != 0, d.found.is_late != 0
		reply.Message.take(result, &d.found.message)
		return result
	})
}

// take copies a borrowed message. If the call failed, it clears the message.
func (m *Message) take(result C.lapwing_result, found *C.lapwing_message) {
	m.Type, m.Payload = 0, m.Payload[:0]
	if result == C.LAPWING_OK {
		m.copy(found)
	}
}
