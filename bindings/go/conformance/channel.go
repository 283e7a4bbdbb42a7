package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"lapwing.example/go/lapwing"
)

// end is the common interface of the three ends of a channel.
type end interface {
	Inspect() (lapwing.ChannelInfo, error)
	Shutdown() error
}

type sends interface {
	SendBatch(context.Context, []lapwing.Message) (int, error)
}

func init() {
	operations["listener.open"] = func(d *driver, s step) []string {
		made, err := lapwing.Listen(s.text("path"), lapwing.ListenerOptions{})
		return opened(d, s, made, err)
	}
	operations["listener.take-over"] = func(d *driver, s step) []string {
		ctx, cancel := s.context()
		defer cancel()
		made, err := lapwing.TakeOver(ctx, s.text("path"), lapwing.ListenerOptions{})
		return opened(d, s, made, err)
	}
	operations["listener.tend"] = func(d *driver, s step) []string {
		return answer(thing[lapwing.Listener](d, s.text("on")).Tend())
	}
	operations["listener.accept"] = listenerAccept
	operations["listener.interrupt"] = interrupt
	operations["listener.destroy"] = destroy
	operations["channel.connect"] = channelConnect
	operations["channel.write"] = channelWrite
	operations["channel.abort"] = func(d *driver, s step) []string {
		ctx, cancel := s.context()
		defer cancel()
		producer := thing[lapwing.Producer](d, s.text("on"))
		if _, err := producer.UnsafeClaim(ctx, int(s.number("bytes"))); err != nil {
			return answer(err)
		}
		return answer(producer.Abort())
	}
	operations["channel.send"] = channelSend
	operations["channel.drain"] = func(d *driver, s step) []string {
		ctx, cancel := s.context()
		defer cancel()
		return answer(thing[lapwing.Producer](d, s.text("on")).Drain(ctx))
	}
	operations["channel.peek"] = channelPeek
	operations["channel.release"] = func(d *driver, s step) []string {
		return answer(thing[lapwing.Consumer](d, s.text("on")).Release(int(s.number("count"))))
	}
	operations["channel.start"] = channelStart
	operations["channel.finish"] = channelFinish
	operations["channel.cancel"] = func(d *driver, s step) []string {
		return answer(thing[lapwing.Duplex](d, s.text("on")).Cancel(d.call(s)))
	}
	operations["channel.next"] = channelNext
	operations["channel.reply"] = channelReply
	operations["channel.arm"] = channelArm
	operations["channel.inspect"] = channelInspect
	operations["channel.interrupt"] = interrupt
	operations["channel.close"] = func(d *driver, s step) []string {
		on, isOne := named[end](d, s.text("on"))
		if !isOne {
			return misuse()
		}
		return answer(on.Shutdown())
	}
	operations["channel.destroy"] = destroy
}

func channelOptions(s step) lapwing.ChannelOptions {
	return lapwing.ChannelOptions{
		Capacity:        s.number("capacity"),
		MessageBytesMax: uint32(s.number("message_bytes_max")),
		CallWindow:      uint32(s.number("call_window")),
		LateReplies:     s.is("late_replies"),
	}
}

func listenerAccept(d *driver, s step) []string {
	ctx, cancel := s.context()
	defer cancel()
	listener := thing[lapwing.Listener](d, s.text("on"))
	switch s.text("role") {
	case "producer":
		made, err := listener.AcceptProducer(ctx, channelOptions(s))
		return opened(d, s, made, err)
	case "consumer":
		made, err := listener.AcceptConsumer(ctx, channelOptions(s))
		return opened(d, s, made, err)
	}
	made, err := listener.AcceptDuplex(ctx, channelOptions(s))
	return opened(d, s, made, err)
}

func channelConnect(d *driver, s step) []string {
	ctx, cancel := s.context()
	defer cancel()
	switch s.text("role") {
	case "producer":
		made, err := lapwing.ConnectProducer(ctx, s.text("path"), channelOptions(s))
		return opened(d, s, made, err)
	case "consumer":
		made, err := lapwing.ConnectConsumer(ctx, s.text("path"), channelOptions(s))
		return opened(d, s, made, err)
	}
	made, err := lapwing.ConnectDuplex(ctx, s.text("path"), channelOptions(s))
	return opened(d, s, made, err)
}

func channelWrite(d *driver, s step) []string {
	ctx, cancel := s.context()
	defer cancel()
	producer := thing[lapwing.Producer](d, s.text("on"))
	bytes := int(s.number("bytes"))
	claim := bytes
	if s.has("claim") {
		claim = int(s.number("claim"))
	}
	payload, err := producer.UnsafeClaim(ctx, claim)
	if err != nil {
		return answer(err)
	}
	copy(payload, row(s.number("n"), bytes))
	return answer(producer.Commit(bytes, uint32(s.number("type"))))
}

func message(s step, n uint64) lapwing.Message {
	return lapwing.Message{Type: uint32(s.number("type")), Payload: row(n, int(s.number("bytes")))}
}

func channelSend(d *driver, s step) []string {
	ctx, cancel := s.context()
	defer cancel()
	on, isOne := named[sends](d, s.text("on"))
	if !isOne {
		on = new(lapwing.Producer)
	}
	sent, err := on.SendBatch(ctx, messages(s))
	return []string{result(err) + " " + pair("sent", sent)}
}

// messages returns the messages of a send, numbered from n on.
func messages(s step) (made []lapwing.Message) {
	count := uint64(1)
	if s.has("count") {
		count = s.number("count")
	}
	for i := range count {
		made = append(made, message(s, s.number("n")+i))
	}
	return made
}

func channelPeek(d *driver, s step) []string {
	ctx, cancel := s.context()
	defer cancel()
	messages := make([]lapwing.Message, s.number("max"))
	count, err := thing[lapwing.Consumer](d, s.text("on")).Peek(ctx, messages)
	shown := make([]string, count)
	for i, m := range messages[:count] {
		shown[i] = fmt.Sprintf("%d:%d:%v", m.Type, len(m.Payload), digestOf(m.Payload))
	}
	return answer(err, pair("count", count), pair("messages", strings.Join(shown, ",")))
}

const noSuchCall = math.MaxUint64

// call returns the channel's number for the call that a step names; 0 if it names none.
func (d *driver) call(s step) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := s.number("call")
	switch {
	case n == 0:
		return 0
	case n > uint64(len(d.calls)):
		return noSuchCall
	}
	return d.calls[n-1]
}

func channelStart(d *driver, s step) []string {
	ctx, cancel := s.context()
	defer cancel()
	call, err := thing[lapwing.Duplex](d, s.text("on")).Start(ctx, message(s, s.number("n")))
	if err != nil {
		return answer(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, call)
	return ok(pair("call", len(d.calls)))
}

func channelFinish(d *driver, s step) []string {
	ctx, cancel := s.context()
	defer cancel()
	duplex := thing[lapwing.Duplex](d, s.text("on"))
	var reply lapwing.Reply
	var err error
	if s.has("call") {
		err = duplex.Finish(context.Background(), d.call(s), &reply) // the call's own timeout applies
	} else {
		err = duplex.FinishAny(ctx, &reply)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	call := slices.Index(d.calls, reply.Call) + 1
	return answer(err, pair("call", call), pair("error", reply.IsError), pair("late", reply.IsLate),
		pair("code", reply.Code), pair("type", reply.Type), pair("bytes", len(reply.Payload)),
		pair("digest", digestOf(reply.Payload)))
}

func channelNext(d *driver, s step) []string {
	ctx, cancel := s.context()
	defer cancel()
	var request lapwing.Request
	err := thing[lapwing.Duplex](d, s.text("on")).Next(ctx, &request)
	if err == nil {
		d.keep(s.text("as"), &request.Call)
	}
	return answer(err, pair("call", request.Call != 0), pair("type", request.Type),
		pair("bytes", len(request.Payload)), pair("digest", digestOf(request.Payload)))
}

func channelReply(d *driver, s step) []string {
	ctx, cancel := s.context()
	defer cancel()
	duplex, call := thing[lapwing.Duplex](d, s.text("on")), *thing[uint64](d, s.text("call"))
	if s.has("error") {
		return answer(duplex.ReplyError(ctx, call, uint32(s.number("error")), s.text("text")))
	}
	return answer(duplex.Reply(ctx, call, message(s, s.number("n"))))
}

func channelArm(d *driver, s step) []string {
	var armed bool
	var err error
	on, isOne := named[end](d, s.text("on"))
	if !isOne {
		return misuse()
	}
	switch end := on.(type) {
	case *lapwing.Producer:
		armed, err = end.Arm(int(s.number("bytes")))
	case *lapwing.Consumer:
		armed, err = end.Arm()
	case *lapwing.Duplex:
		armed, err = end.Arm()
	}
	return answer(err, pair("armed", armed))
}

func channelInspect(d *driver, s step) []string {
	on, isOne := named[end](d, s.text("on"))
	if !isOne {
		return misuse()
	}
	info, err := on.Inspect()
	return answer(err, pair("role", info.Role), pair("message_bytes_max", info.MessageBytesMax), pair("sent", info.Sent),
		pair("received", info.Received), pair("released", info.Released), pair("late", info.LateReplies))
}
