package main

import (
	"syscall"
	"time"

	"lapwing.example/go/lapwing"
)

const (
	rowBytesMax  = 4096 // while the bus's record size is unknown
	readAllBytes = 1 << 20
	readAllRows  = 4096
)

func init() {
	operations["subscriber.open"] = subscriberOpen
	operations["subscriber.read"] = subscriberRead
	operations["subscriber.read-all"] = func(d *driver, s step) []string {
		return readAll(thing[lapwing.Subscriber](d, s.text("on")), s, func(*lapwing.Batch) error { return nil })
	}
	operations["subscriber.take"] = subscriberTake
	operations["subscriber.inspect"] = func(d *driver, s step) []string {
		info, err := thing[lapwing.Subscriber](d, s.text("on")).Inspect()
		return answer(err, pair("record_bytes", info.RecordBytes), pair("schema", info.SchemaName),
			pair("records", info.Records), pair("first", info.First), pair("last", info.Last),
			pair("gaps", info.Gaps), pair("lost", info.Lost), pair("filled", info.Filled),
			pair("sessions", info.Sessions), pair("filtered", info.Filtered),
			pair("conflated", info.Conflated))
	}
	operations["subscriber.position"] = func(d *driver, s step) []string {
		position, err := thing[lapwing.Subscriber](d, s.text("on")).Position(s.number("sequence"))
		if err == nil {
			d.keep(s.text("as"), &position)
		}
		return answer(err, pair("sequence", position.Sequence))
	}
	operations["subscriber.fd"] = subscriberFD
	operations["subscriber.interrupt"] = interrupt
	operations["subscriber.destroy"] = destroy
}

func subscriberOpen(d *driver, s step) []string {
	options := lapwing.SubscriberOptions{
		Directory:     s.text("directory"),
		Start:         start(d, s),
		BehindRecords: uint32(s.number("behind_records")),
		Fold:          s.text("fold"),
		Expect:        s.schema("expect"),
		Instruments:   s.list("instruments"),
		Reattach:      s.millis("reattach_ms"),
		StaleAfter:    s.millis("stale_after_ms"),
		EndAtClose:    s.is("end_at_close"),
		OnGap: pick(s, "on_gap", map[string]lapwing.OnGap{"fill": lapwing.GapFill,
			"skip": lapwing.GapSkip, "stop": lapwing.GapStop}),
		Wait:             waitStrategy(s),
		Conflate:         s.has("conflate_ms"),
		ConflateInterval: s.millis("conflate_ms"),
	}
	made, err := lapwing.OpenSubscriber(options)
	return opened(d, s, made, err)
}

func waitStrategy(s step) lapwing.WaitStrategy {
	return pick(s, "wait", map[string]lapwing.WaitStrategy{"busy": lapwing.WaitBusy,
		"backoff": lapwing.WaitBackoff, "park": lapwing.WaitPark})
}

func start(d *driver, s step) lapwing.Start {
	switch s.text("start") {
	case "oldest":
		return lapwing.StartOldest()
	case "sequence":
		return lapwing.StartSequence(s.number("value"))
	case "time":
		return lapwing.StartTime(time.Unix(0, int64(s.number("value"))))
	case "snapshot":
		return lapwing.StartSnapshot()
	case "after":
		return lapwing.StartAfter(*thing[lapwing.Position](d, s.text("position")))
	}
	return lapwing.StartLive()
}

func newBatch(bytes, rows int) *lapwing.Batch {
	b := lapwing.NewBatch(bytes)
	b.Sequences, b.Conflated = make([]uint64, rows), make([]uint64, rows)
	return b
}

func subscriberRead(d *driver, s step) []string {
	ctx, cancel := s.context()
	defer cancel()
	from := thing[lapwing.Subscriber](d, s.text("on"))
	rows, bytes := int(s.number("rows")), int(s.number("bytes"))
	if !s.has("bytes") {
		bytes = rows * rowBytes(from)
	}
	b := newBatch(bytes, rows)
	err := from.Read(ctx, b)
	if lapwing.CodeOf(err) == lapwing.ErrTooSmall {
		return []string{result(err) + " " + pair("row_bytes", b.RowBytes)}
	}
	if err != nil {
		return answer(err)
	}
	return []string{batchLine(b)}
}

// rowBytes returns the size of the bus's records, or rowBytesMax while it is unknown.
func rowBytes(s *lapwing.Subscriber) int {
	info, err := s.Inspect()
	if err != nil || info.RecordBytes == 0 {
		return rowBytesMax
	}
	return info.RecordBytes
}

// readAll reads batches, passes each to take, and ends after the event that the step names, or at an error.
func readAll(from *lapwing.Subscriber, s step, take func(*lapwing.Batch) error) []string {
	var lines []string
	b := newBatch(readAllBytes, readAllRows)
	var rows group
	flush := func() {
		if rows.count > 0 {
			lines = append(lines, rows.line())
		}
	}
	for {
		ctx, cancel := s.context()
		err := from.Read(ctx, b)
		cancel()
		if err == nil {
			err = take(b)
		}
		if err != nil {
			flush()
			return append(lines, result(err))
		}
		if event := b.Event(); event != nil {
			flush()
			lines = append(lines, eventLine(event))
			if event.Kind.String() == s.text("until") {
				return append(lines, result(nil))
			}
			continue
		}
		if rows.kind != b.Kind || rows.rowBytes != b.RowBytes {
			flush()
		}
		rows.add(b)
	}
}

func subscriberTake(d *driver, s step) []string {
	ctx, cancel := s.context()
	defer cancel()
	from := thing[lapwing.Subscriber](d, s.text("on"))
	bytes := int(s.number("bytes"))
	if !s.has("bytes") {
		bytes = rowBytes(from)
	}
	record := make([]byte, bytes)
	sequence, err := from.ReadOne(ctx, record)
	return answer(err, pair("sequence", sequence), pair("digest", digestOf(record)))
}

func subscriberFD(d *driver, s step) []string {
	fd, err := thing[lapwing.Subscriber](d, s.text("on")).FD()
	if err != nil {
		return answer(err)
	}
	timeout := int(s.millis("timeout_ms").Milliseconds())
	if s.text("timeout_ms") == "forever" {
		timeout = -1
	}
	set, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return answer(err)
	}
	defer syscall.Close(set)
	event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}
	if err := syscall.EpollCtl(set, syscall.EPOLL_CTL_ADD, fd, &event); err != nil {
		return answer(err)
	}
	for {
		count, err := syscall.EpollWait(set, make([]syscall.EpollEvent, 1), timeout)
		if err != syscall.EINTR {
			return answer(err, pair("readable", count))
		}
	}
}
