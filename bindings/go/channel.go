package lapwing

/*
#cgo noescape lw_channel_send
#cgo nocallback lw_channel_send
#include "calls.h"
*/
import "C"

import (
	"cmp"
	"context"
	"runtime"
	"time"
	"unsafe"
)

// Message is a channel message.
type Message struct {
	Type    uint32 // chosen by the sender
	Payload []byte
}

// ChannelOptions are options for the messages that this side sends; a consumer ignores sizes. A zero field
// has its default; see "Options" in the package documentation.
type ChannelOptions struct {
	Name            string        // shown by `lapwing info`; "": none
	Capacity        uint64        // bytes, a power of two; 0: 1 MiB
	MessageBytesMax uint32        // 0: 64 KiB
	CallWindow      uint32        // limit on accepted unanswered calls, and on untaken one-way messages; 0: 64
	Wait            WaitStrategy  // how to wait; 0: WaitBackoff
	Retry           time.Duration // how long a connect retries while no process listens, or Forever; 0: it tries once
	NUMANode        *uint32       // allocate this side's memory on that node, or fail; nil: anywhere
	PeerUID         *uint32       // the only user to serve, or to connect to; nil: this user and root
	Aligned         bool          // align payloads to 64 bytes; otherwise to 16, and payloads of 49 to 56 bytes to 8
	HugePages       bool          // back the memory with huge pages, or fail
	NoMembarrier    bool          // use a fence for each message instead of a system call
	LateReplies     bool          // deliver replies that arrive after their call's end, marked late
}

func (o *ChannelOptions) c(a *arena) C.lapwing_channel_options {
	a.err = cmp.Or(a.err, load(), o.Wait.check(), duration("Retry", o.Retry, "Forever"))
	if a.err != nil {
		return C.lapwing_channel_options{}
	}
	c := o.withoutName()
	c.name = a.text(o.Name)
	return c
}

func (o *ChannelOptions) withoutName() (c C.lapwing_channel_options) {
	C.lapwing_channel_options_init(&c, C.sizeof_lapwing_channel_options)
	c.flags = flag(o.Aligned, C.LAPWING_CHANNEL_ALIGNED) |
		flag(o.HugePages, C.LAPWING_CHANNEL_HUGE_PAGES) |
		flag(o.NUMANode != nil, C.LAPWING_CHANNEL_NUMA) |
		flag(o.PeerUID != nil, C.LAPWING_CHANNEL_PEER_UID) |
		flag(o.NoMembarrier, C.LAPWING_CHANNEL_NO_MEMBARRIER) |
		flag(o.LateReplies, C.LAPWING_CHANNEL_LATE_REPLIES)
	set(&c.capacity, o.Capacity)
	set(&c.message_bytes_max, o.MessageBytesMax)
	set(&c.call_window, o.CallWindow)
	c.wait = waits[o.Wait]
	set(&c.retry_ns, o.Retry)
	if o.NUMANode != nil {
		c.numa_node = C.uint32_t(*o.NUMANode)
	}
	if o.PeerUID != nil {
		c.peer_uid = C.uint32_t(*o.PeerUID)
	}
	return c
}

// ConnectProducer connects to a path where a consumer listens. ErrNoBus: nothing is at the path.
// ErrPeerGone: no process listens. When ctx is canceled, the attempt continues in a goroutine until it times
// out, after a few seconds at most. The other side may then see its peer disconnect.
func ConnectProducer(ctx context.Context, path string, options ChannelOptions) (*Producer, error) {
	return newEnd[Producer](connect(ctx, path, C.LAPWING_CHANNEL_ROLE_PRODUCER, options))
}

// ConnectConsumer connects to a path where a producer listens, as ConnectProducer does.
func ConnectConsumer(ctx context.Context, path string, options ChannelOptions) (*Consumer, error) {
	return newEnd[Consumer](connect(ctx, path, C.LAPWING_CHANNEL_ROLE_CONSUMER, options))
}

// ConnectDuplex connects to a path where a duplex listens, as ConnectProducer does.
func ConnectDuplex(ctx context.Context, path string, options ChannelOptions) (*Duplex, error) {
	return newEnd[Duplex](connect(ctx, path, C.LAPWING_CHANNEL_ROLE_DUPLEX, options))
}

func connect(ctx context.Context, path string, role C.uint32_t, options ChannelOptions) (*C.lapwing_channel, error) {
	return openPeer(ctx, options.Retry,
		func(timeout C.int64_t, made **C.lapwing_channel, e *C.lapwing_error) C.lapwing_result {
			var a arena
			defer a.free()
			at, c := a.text(path), options.c(&a)
			if a.err != nil {
				return refuse(e, a.err)
			}
			return C.lapwing_channel_connect(at, role, &c, timeout, made, e)
		},
		func(c *C.lapwing_channel) { C.lapwing_channel_destroy(&c) })
}

// channel is the part shared by the three kinds of ends.
type channel struct {
	handle[*C.lapwing_channel]
}

func (c *channel) adopt(made *C.lapwing_channel, what string) {
	c.own(made, what,
		func(c *C.lapwing_channel) { C.lapwing_channel_interrupt(c) },
		func(c *C.lapwing_channel) { C.lapwing_channel_destroy(&c) })
}

// newEnd returns the Go handle of an end: a Producer, Consumer or Duplex.
func newEnd[End any, P interface {
	*End
	open(*C.lapwing_channel)
}](c *C.lapwing_channel, err error) (P, error) {
	if err != nil {
		return nil, err
	}
	end := P(new(End))
	end.open(c)
	return end, nil
}

// ChannelRole is the role of this side of a channel.
type ChannelRole uint32

const (
	ChannelProducer ChannelRole = C.LAPWING_CHANNEL_ROLE_PRODUCER
	ChannelConsumer ChannelRole = C.LAPWING_CHANNEL_ROLE_CONSUMER
	ChannelDuplex   ChannelRole = C.LAPWING_CHANNEL_ROLE_DUPLEX
)

func (r ChannelRole) String() string { return nameOf(int(r), channelRoles) }

var channelRoles = []string{ChannelProducer: "producer", ChannelConsumer: "consumer", ChannelDuplex: "duplex"}

// ChannelInfo is the state of a channel at the time of the call.
type ChannelInfo struct {
	Role            ChannelRole
	ConnectionID    ID     // the same on both sides
	MessageBytesMax uint64 // of messages that arrive (consumer) or are sent (otherwise)
	Sent            uint64
	Received        uint64 // and released
	Released        uint64 // sent messages that the other side reports as released
	FullWaits       uint64
	EmptyWaits      uint64
	Sleeps          uint64
	Wakes           uint64 // wake-ups of the other side; each is a system call
	LateReplies     uint64
}

// Inspect returns the state of the channel. It never waits.
func (c *channel) Inspect() (ChannelInfo, error) {
	info := C.lapwing_channel_info{struct_size: C.uint32_t(C.sizeof_lapwing_channel_info)}
	err := c.call(func(c *C.lapwing_channel, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_channel_inspect(c, &info, e)
	})
	if err != nil {
		return ChannelInfo{}, err
	}
	return ChannelInfo{
		Role:            ChannelRole(info.role),
		ConnectionID:    goID(&info.connection_id),
		MessageBytesMax: uint64(info.message_bytes_max),
		Sent:            uint64(info.sent),
		Received:        uint64(info.received),
		Released:        uint64(info.released),
		FullWaits:       uint64(info.full_waits),
		EmptyWaits:      uint64(info.empty_waits),
		Sleeps:          uint64(info.sleeps),
		Wakes:           uint64(info.wakes),
		LateReplies:     uint64(info.late_replies),
	}, nil
}

// Shutdown ends the channel and notifies the other side at once. Borrowed memory stays valid until Close, which
// does the same and frees the memory. Shutdown is idempotent.
func (c *channel) Shutdown() error {
	return c.call(func(c *C.lapwing_channel, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_channel_close(c, e)
	})
}

// FD returns a descriptor for an event loop; see Arm. Do not close it. After Shutdown it returns -1 and
// ErrClosed.
func (c *channel) FD() (int, error) {
	fd := C.int32_t(-1)
	err := c.call(func(c *C.lapwing_channel, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_channel_fd(c, &fd, e)
	})
	return int(fd), err
}

func (c *channel) arm(bytes int) (bool, error) {
	var armed C.int32_t
	err := c.call(func(c *C.lapwing_channel, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_channel_arm(c, C.size_t(bytes), &armed, e)
	})
	return armed != 0, err
}

// sender is an end that can send one-way messages.
type sender struct {
	channel
}

// Send copies a message into the channel. It waits for room until ctx is done.
func (s *sender) Send(ctx context.Context, message Message) error {
	return s.wait(ctx, func(c *C.lapwing_channel, timeout C.int64_t, e *C.lapwing_error) C.lapwing_result {
		return C.lw_channel_send(c, (*C.uint8_t)(unsafe.SliceData(message.Payload)),
			C.size_t(len(message.Payload)), C.uint32_t(message.Type), timeout, e)
	})
}

// SendBatch copies messages into the channel, in order. sent is the number of messages that were sent, even on
// failure.
func (s *sender) SendBatch(ctx context.Context, messages []Message) (sent int, err error) {
	if len(messages) == 0 {
		return 0, nil
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	batch := make([]C.lapwing_message, len(messages))
	for i, m := range messages {
		if len(m.Payload) > 0 {
			pinner.Pin(&m.Payload[0])
			batch[i].payload = unsafe.Pointer(&m.Payload[0])
		}
		batch[i].bytes, batch[i]._type = C.size_t(len(m.Payload)), C.uint32_t(m.Type)
	}
	err = s.wait(ctx, func(c *C.lapwing_channel, timeout C.int64_t, e *C.lapwing_error) C.lapwing_result {
		var count C.size_t
		left := batch[sent:]
		result := C.lapwing_channel_send(c, unsafe.SliceData(left), C.size_t(len(left)), timeout, &count, e)
		sent += int(count)
		return result
	})
	return sent, err
}

// copyPayload copies a payload from shared memory. It reuses memory if that is large enough.
func copyPayload(memory []byte, payload unsafe.Pointer, bytes C.size_t) []byte {
	if payload == nil {
		return memory[:0]
	}
	return append(memory[:0], unsafe.Slice((*byte)(payload), int(bytes))...)
}
