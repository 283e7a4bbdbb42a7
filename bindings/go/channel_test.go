package lapwing_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"lapwing.example/go/lapwing"
)

func listen(t *testing.T) (*lapwing.Listener, string) {
	t.Helper()
	path := t.TempDir() + "/socket"
	l, err := lapwing.Listen(path, lapwing.ListenerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, path
}

// connected returns a producer and its consumer.
func connected(t *testing.T, options lapwing.ChannelOptions) (*lapwing.Producer, *lapwing.Consumer) {
	t.Helper()
	listener, path := listen(t)
	type side struct {
		*lapwing.Consumer
		error
	}
	accepted := make(chan side)
	go func() {
		c, err := listener.AcceptConsumer(within(t), lapwing.ChannelOptions{})
		accepted <- side{c, err}
	}()
	p, err := lapwing.ConnectProducer(within(t), path, options)
	if err != nil {
		t.Fatal(err)
	}
	c := <-accepted
	if c.error != nil {
		t.Fatal(c.error)
	}
	t.Cleanup(func() { p.Close(); c.Consumer.Close() })
	return p, c.Consumer
}

// duplexes returns a client and its server.
func duplexes(t *testing.T) (client, server *lapwing.Duplex) {
	t.Helper()
	listener, path := listen(t)
	type side struct {
		*lapwing.Duplex
		error
	}
	accepted := make(chan side)
	go func() {
		d, err := listener.AcceptDuplex(within(t), lapwing.ChannelOptions{})
		accepted <- side{d, err}
	}()
	client, err := lapwing.ConnectDuplex(within(t), path, lapwing.ChannelOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := <-accepted
	if s.error != nil {
		t.Fatal(s.error)
	}
	t.Cleanup(func() { client.Close(); s.Duplex.Close() })
	return client, s.Duplex
}

func numbered(n int) lapwing.Message {
	return lapwing.Message{Type: uint32(n), Payload: bytes.Repeat([]byte{byte(n)}, n)}
}

func wantMessage(t *testing.T, got lapwing.Message, n int) {
	t.Helper()
	if got.Type != uint32(n) || !bytes.Equal(got.Payload, numbered(n).Payload) {
		t.Fatalf("type %d with %d bytes came, and message %d was due", got.Type, len(got.Payload), n)
	}
}

func TestMessagesOfAnySizeArriveInOrder(t *testing.T) {
	p, c := connected(t, lapwing.ChannelOptions{})
	batch := make([]lapwing.Message, 200)
	for n := range batch {
		batch[n] = numbered(n)
	}
	go func() {
		if sent, err := p.SendBatch(within(t), batch); err != nil || sent != len(batch) {
			t.Error(sent, err)
		}
		if err := p.Send(within(t), numbered(200)); err != nil {
			t.Error(err)
		}
	}()
	var message lapwing.Message
	for n := range 201 {
		if err := c.Receive(within(t), &message); err != nil {
			t.Fatal(err)
		}
		wantMessage(t, message, n)
	}
	if err := p.Drain(within(t)); err != nil {
		t.Fatal(err)
	}
	info, err := p.Inspect()
	if err != nil || info.Sent != 201 || info.Released != 201 || info.Role != lapwing.ChannelProducer {
		t.Fatalf("%+v %v", info, err)
	}
}

func TestReceivingIntoTheSameMessageAllocatesNothing(t *testing.T) {
	p, c := connected(t, lapwing.ChannelOptions{})
	ctx, sent := within(t), numbered(100)
	received := lapwing.Message{Payload: make([]byte, 0, 100)}
	allocations := testing.AllocsPerRun(200, func() {
		if err := p.Send(ctx, sent); err != nil {
			t.Fatal(err)
		}
		if err := c.Receive(ctx, &received); err != nil {
			t.Fatal(err)
		}
	})
	if allocations != 0 {
		t.Fatalf("%v allocations", allocations)
	}
}

func TestAFullChannelWaitsForRoomAndKeepsWhatWasSent(t *testing.T) {
	p, c := connected(t, lapwing.ChannelOptions{Capacity: 4096, MessageBytesMax: 1024})
	batch := make([]lapwing.Message, 8)
	for i := range batch {
		batch[i] = lapwing.Message{Type: uint32(i), Payload: make([]byte, 1000)}
	}
	sent, err := p.SendBatch(lapwing.NoWait, batch)
	wantCode(t, err, lapwing.ErrWouldBlock)
	if sent == 0 || sent == len(batch) {
		t.Fatal(sent, "were sent")
	}
	got := make([]lapwing.Message, 8)
	count, err := c.Peek(within(t), got)
	if err != nil || count != sent || got[count-1].Type != uint32(sent-1) {
		t.Fatal(count, err)
	}
	if armed, err := p.Arm(1000); err != nil || !armed {
		t.Fatal(armed, err)
	}
	fd, err := p.FD()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Release(count); err != nil {
		t.Fatal(err)
	}
	waitReadable(t, fd)
	wantCode(t, c.Release(1), lapwing.ErrMisuse)
}

func TestWhatIsWrittenIntoAClaimIsSentAtItsCommit(t *testing.T) {
	p, c := connected(t, lapwing.ChannelOptions{})
	wantCode(t, p.Commit(1, 1), lapwing.ErrMisuse)
	if _, err := p.UnsafeClaim(within(t), 10); err != nil {
		t.Fatal(err)
	}
	if err := p.Abort(); err != nil {
		t.Fatal(err)
	}
	payload, err := p.UnsafeClaim(within(t), 10)
	if err != nil || len(payload) != 10 {
		t.Fatal(len(payload), err)
	}
	copy(payload, numbered(7).Payload)
	wantCode(t, c.Receive(lapwing.NoWait, new(lapwing.Message)), lapwing.ErrWouldBlock)
	if err := p.Commit(7, 7); err != nil {
		t.Fatal(err)
	}
	var message lapwing.Message
	if err := c.Receive(within(t), &message); err != nil {
		t.Fatal(err)
	}
	wantMessage(t, message, 7)
	_, err = p.UnsafeClaim(within(t), 1<<20)
	wantCode(t, err, lapwing.ErrMisuse)
}

func TestAMessageWithAViewIsNotReleased(t *testing.T) {
	p, c := connected(t, lapwing.ChannelOptions{})
	for n := range 3 {
		if err := p.Send(within(t), numbered(n+1)); err != nil {
			t.Fatal(err)
		}
	}
	views := make([]lapwing.UnsafeMessage, 3)
	if count, err := c.UnsafePeek(within(t), views); err != nil || count != 3 {
		t.Fatal(count, err)
	}
	for i, view := range views {
		wantMessage(t, lapwing.Message{Type: view.Type, Payload: view.Payload}, i+1)
	}
	second := views[1]
	views[0].Done()
	views[2].Done()
	err := c.Release(3)
	wantCode(t, err, lapwing.ErrMisuse)
	if !strings.Contains(err.Error(), "message 2") {
		t.Fatal(err)
	}
	if err := c.Release(1); err != nil {
		t.Fatal(err)
	}
	wantCode(t, c.Receive(within(t), new(lapwing.Message)), lapwing.ErrMisuse)
	wantCode(t, c.Close(), lapwing.ErrMisuse)
	second.Done()
	views[1].Done() // the same view
	if err := c.Release(2); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// serveSquares answers calls until the client disconnects. It answers calls of type 9 with an error, and never
// answers calls of type 8.
func serveSquares(ctx context.Context, server *lapwing.Duplex) error {
	var request lapwing.Request
	for {
		if err := server.Next(ctx, &request); err != nil {
			return err
		}
		var err error
		switch request.Type {
		case 8:
		case 9:
			err = server.ReplyError(ctx, request.Call, 42, "nine")
		default:
			n := binary.LittleEndian.Uint64(request.Payload)
			err = server.Reply(ctx, request.Call, lapwing.Message{Type: 2, Payload: number(n * n)})
		}
		if err != nil {
			return err
		}
	}
}

func number(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

func TestCallsAreAnsweredByRepliesAndErrors(t *testing.T) {
	client, server := duplexes(t)
	served := make(chan error, 1)
	go func() { served <- serveSquares(within(t), server) }()
	for n := range uint64(20) {
		reply, err := client.Call(within(t), lapwing.Message{Type: 1, Payload: number(n)})
		if err != nil || reply.Type != 2 || !bytes.Equal(reply.Payload, number(n*n)) {
			t.Fatal(n, reply, err)
		}
	}
	_, err := client.Call(within(t), lapwing.Message{Type: 9})
	var answered *lapwing.CallError
	if !errors.As(err, &answered) || answered.Code != 42 || answered.Text != "nine" {
		t.Fatal(err)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if code := lapwing.CodeOf(<-served); code != lapwing.ErrClosed && code != lapwing.ErrPeerGone {
		t.Fatal(code)
	}
}

func TestCallsUnderWayFinishInAnyOrder(t *testing.T) {
	client, server := duplexes(t)
	var started [3]uint64
	for i := range started {
		call, err := client.Start(within(t), numbered(i+1))
		if err != nil {
			t.Fatal(err)
		}
		started[i] = call
	}
	var requests [3]lapwing.Request
	for i := range requests {
		if err := server.Next(within(t), &requests[i]); err != nil {
			t.Fatal(err)
		}
		wantMessage(t, requests[i].Message, i+1)
	}
	for _, i := range []int{2, 0, 1} {
		if err := server.Reply(within(t), requests[i].Call, numbered(10+i)); err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, server.Reply(within(t), requests[0].Call, numbered(1)), lapwing.ErrMisuse)
	var reply lapwing.Reply
	if err := client.FinishAny(within(t), &reply); err != nil || reply.Call != started[2] {
		t.Fatal(reply.Call, err)
	}
	wantMessage(t, reply.Message, 12)
	if err := client.Finish(within(t), started[1], &reply); err != nil || reply.Call != started[1] {
		t.Fatal(reply.Call, err)
	}
	wantMessage(t, reply.Message, 11)
	if err := client.Cancel(started[0]); err != nil {
		t.Fatal(err)
	}
	wantCode(t, client.FinishAny(within(t), &reply), lapwing.ErrMisuse)
}

func TestACallEndsWithItsContextAndTheNextOneIsAnswered(t *testing.T) {
	client, server := duplexes(t)
	go serveSquares(within(t), server)
	short, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := client.Call(short, lapwing.Message{Type: 8})
	wantCode(t, err, lapwing.ErrTimedOut)

	canceled, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err = client.Call(canceled, lapwing.Message{Type: 8})
	wantCode(t, err, lapwing.ErrInterrupted)
	wantCode(t, client.FinishAny(lapwing.NoWait, new(lapwing.Reply)), lapwing.ErrMisuse) // no call is pending

	call, err := client.Start(within(t), lapwing.Message{Type: 1, Payload: number(4)})
	if err != nil {
		t.Fatal(err)
	}
	var finished lapwing.Reply
	wantCode(t, client.Finish(lapwing.NoWait, call, &finished), lapwing.ErrInvalidArgument)
	if err := client.Finish(within(t), call, &finished); err != nil || !bytes.Equal(finished.Payload, number(16)) {
		t.Fatal(finished, err)
	}
	reply, err := client.Call(within(t), lapwing.Message{Type: 1, Payload: number(5)})
	if err != nil || !bytes.Equal(reply.Payload, number(25)) {
		t.Fatal(reply, err)
	}
}

func TestOneWayMessagesHaveNoCall(t *testing.T) {
	client, server := duplexes(t)
	if err := client.Send(within(t), numbered(3)); err != nil {
		t.Fatal(err)
	}
	var request lapwing.Request
	if err := server.Next(within(t), &request); err != nil || request.Call != 0 {
		t.Fatal(request.Call, err)
	}
	wantMessage(t, request.Message, 3)
	armed, err := server.Arm()
	if err != nil || !armed {
		t.Fatal(armed, err)
	}
	fd, err := server.FD()
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Shutdown(); err != nil {
		t.Fatal(err)
	}
	waitReadable(t, fd)
	wantCode(t, server.Next(within(t), &request), lapwing.ErrClosed)
}

func TestConnectingEndsInTheWayItFails(t *testing.T) {
	_, err := lapwing.ConnectProducer(within(t), t.TempDir()+"/none", lapwing.ChannelOptions{})
	wantCode(t, err, lapwing.ErrNoBus)

	_, path := listen(t) // without calling accept
	short, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = lapwing.ConnectProducer(short, path, lapwing.ChannelOptions{})
	wantCode(t, err, lapwing.ErrTimedOut)

	canceled, stop := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, stop)
	_, err = lapwing.ConnectProducer(canceled, path, lapwing.ChannelOptions{})
	wantCode(t, err, lapwing.ErrInterrupted)
}

func TestAnAcceptEndsWithItsContextAndTheListenerServesOn(t *testing.T) {
	listener, path := listen(t)
	canceled, stop := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, stop)
	_, err := listener.AcceptConsumer(canceled, lapwing.ChannelOptions{})
	wantCode(t, err, lapwing.ErrInterrupted)

	go func() {
		p, err := lapwing.ConnectProducer(within(t), path, lapwing.ChannelOptions{})
		if err == nil {
			err = p.Send(within(t), numbered(1))
		}
		if err == nil {
			err = p.Drain(within(t))
			p.Close()
		}
		if err != nil {
			t.Error(err)
		}
	}()
	c, err := listener.AcceptConsumer(within(t), lapwing.ChannelOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var message lapwing.Message
	if err := c.Receive(within(t), &message); err != nil {
		t.Fatal(err)
	}
	wantMessage(t, message, 1)
	if err := listener.Tend(); err != nil {
		t.Fatal(err)
	}
	wantCode(t, c.Receive(within(t), &message), lapwing.ErrClosed)
}

func TestASuccessorTakesTheListenersPlace(t *testing.T) {
	listener, path := listen(t)
	_, err := lapwing.Listen(path, lapwing.ListenerOptions{})
	wantCode(t, err, lapwing.ErrInUse)
	taken := make(chan error)
	go func() {
		successor, err := lapwing.TakeOver(within(t), path, lapwing.ListenerOptions{})
		if err == nil {
			err = successor.Close()
		}
		taken <- err
	}()
	_, err = listener.AcceptDuplex(within(t), lapwing.ChannelOptions{})
	wantCode(t, err, lapwing.ErrClosed)
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
	fd, err := listener.FD()
	wantCode(t, err, lapwing.ErrClosed)
	if fd != -1 {
		t.Fatal(fd)
	}
}

func ExampleCode() {
	_, err := lapwing.ConnectProducer(lapwing.NoWait, "no-such-path", lapwing.ChannelOptions{})
	fmt.Println(errors.Is(err, lapwing.ErrNoBus), lapwing.CodeOf(err).String())
	// Output: true no-bus
}
