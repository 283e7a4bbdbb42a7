package main

import (
	"time"

	"lapwing.example/go/lapwing"
)

func init() {
	operations["set.open"] = func(d *driver, s step) []string {
		made, err := lapwing.NewWaitSet(waitStrategy(s))
		return opened(d, s, made, err)
	}
	operations["set.add"] = setAdd
	operations["set.add-timer"] = func(d *driver, s step) []string {
		timer, err := thing[lapwing.WaitSet](d, s.text("on")).AddTimer(timerIn(s), s.millis("every_ms"))
		if err == nil {
			d.token(timer, s)
		}
		return opened(d, s, timer, err)
	}
	operations["set.set-timer"] = func(d *driver, s step) []string {
		return answer(thing[lapwing.Timer](d, s.text("timer")).Reset(timerIn(s), s.millis("every_ms")))
	}
	operations["set.remove"] = func(d *driver, s step) []string {
		source, isOne := named[lapwing.Source](d, s.text("source"))
		if !isOne {
			source = new(lapwing.Timer)
		}
		return answer(thing[lapwing.WaitSet](d, s.text("on")).Remove(source))
	}
	operations["set.wait"] = func(d *driver, s step) []string {
		ctx, cancel := s.context()
		defer cancel()
		ready, err := thing[lapwing.WaitSet](d, s.text("on")).Wait(ctx)
		d.mu.Lock()
		defer d.mu.Unlock()
		return answer(err, pair("kind", ready.Kind), pair("token", d.tokens[ready.Source]))
	}
	operations["set.interrupt"] = interrupt
	operations["set.destroy"] = destroy
}

func setAdd(d *driver, s step) []string {
	set := thing[lapwing.WaitSet](d, s.text("on"))
	source, isOne := named[lapwing.Source](d, s.text("source"))
	if !isOne {
		return misuse()
	}
	var err error
	switch source := source.(type) {
	case *lapwing.Subscriber:
		err = set.AddSubscriber(source)
	case *lapwing.Consumer:
		err = set.AddConsumer(source)
	case *lapwing.Producer:
		err = set.AddProducer(source, int(s.number("bytes")))
	case *lapwing.Duplex:
		err = set.AddDuplex(source)
	case *lapwing.Listener:
		err = set.AddListener(source)
	}
	if err == nil {
		d.token(source, s)
	}
	return answer(err)
}

// token keeps a step's token of a source, which Go does not need: a set returns the source itself.
func (d *driver) token(source lapwing.Source, s step) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tokens[source] = s.number("token")
}

func timerIn(s step) time.Duration {
	if s.text("in_ms") == "never" {
		return lapwing.Never
	}
	return s.millis("in_ms")
}
