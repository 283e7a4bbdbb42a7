package lapwing

/*
#cgo noescape lw_subscriber_read
#cgo nocallback lw_subscriber_read
#cgo noescape lw_subscriber_take
#cgo nocallback lw_subscriber_take
#include "calls.h"
*/
import "C"

import (
	"cmp"
	"context"
	"time"
	"unsafe"
)

// Start says where a subscriber begins. The zero Start is StartLive.
type Start struct {
	kind     C.uint32_t
	value    uint64
	position Position
}

// StartLive begins with the next record that is published.
func StartLive() Start { return Start{kind: C.LAPWING_START_LIVE} }

// StartOldest begins with the oldest record that is kept.
func StartOldest() Start { return Start{kind: C.LAPWING_START_OLDEST} }

// StartAt begins with that sequence.
func StartAt(sequence uint64) Start {
	return Start{kind: C.LAPWING_START_SEQUENCE, value: sequence}
}

// StartTime begins at that time or a little before, so that nothing published since is missed.
func StartTime(t time.Time) Start {
	return Start{kind: C.LAPWING_START_TIME, value: uint64(t.UnixNano())}
}

// StartSnapshot delivers the state of the newest checkpoint, then what follows.
func StartSnapshot() Start { return Start{kind: C.LAPWING_START_SNAPSHOT} }

// StartAfter goes on after a position that was stored.
func StartAfter(position Position) Start {
	return Start{kind: C.LAPWING_START_AFTER, position: position}
}

// OnGap is what a subscriber does about records that the ring does not have any more.
type OnGap uint32

const (
	GapFill     OnGap = C.LAPWING_ON_GAP_FILL     // read them from the journal; the default
	GapSkip     OnGap = C.LAPWING_ON_GAP_SKIP     // report them, and go on in the ring
	GapStop     OnGap = C.LAPWING_ON_GAP_STOP     // report them, and end with ErrStoppedAtGap
	GapSnapshot OnGap = C.LAPWING_ON_GAP_SNAPSHOT // report them, and go on with the newest checkpoint's state
)

// WaitStrategy is how a wait waits.
type WaitStrategy uint32

const (
	WaitBusy    WaitStrategy = C.LAPWING_WAIT_BUSY    // spins; needs a core of its own
	WaitBackoff WaitStrategy = C.LAPWING_WAIT_BACKOFF // spins for a while, then yields, then sleeps; the default
	WaitPark    WaitStrategy = C.LAPWING_WAIT_PARK    // sleeps at once
)

func (w WaitStrategy) check() error {
	return choice("Wait", w, WaitPark, "WaitBusy, WaitBackoff, WaitPark")
}

// SubscriberOptions: zero is the default of each field but the directory.
type SubscriberOptions struct {
	Directory        string // of the bus
	Name             string // shown by `lapwing subscribers`
	Start            Start
	OnGap            OnGap
	Wait             WaitStrategy
	BehindRecords    uint32        // behind and live events: docs/api.md; 0: not by this measure
	Behind           time.Duration // likewise
	Fold             string        // of a state; "": the schema's default
	Expect           string        // what the records have to be: Schema.Text; "": anything
	Instruments      []string      // symbols, even of digits, or numbers as "id:5930"; nil: all
	Reattach         time.Duration // for how long a bus or publisher is waited for; 0: 30 s
	FlushTimeout     time.Duration // how long the publisher may take for the join; 0: 10 s
	StaleAfter       time.Duration // 0: never
	EndAtClose       bool          // a clean close is the end: ErrClosed
	Conflate         bool          // the newest record of each key, once an interval
	ConflateInterval time.Duration // 0: 250 ms
	ConflateKeysMax  uint32        // 0: 65,536; more keys end the interval early
}

func (o *SubscriberOptions) c(a *arena) (C.lapwing_subscriber_options, error) {
	err := cmp.Or(
		choice("OnGap", o.OnGap, GapSnapshot, "GapFill, GapSkip, GapStop, GapSnapshot"), o.Wait.check(),
		notNegative("Behind", o.Behind), notNegative("Reattach", o.Reattach),
		notNegative("FlushTimeout", o.FlushTimeout), notNegative("StaleAfter", o.StaleAfter),
		notNegative("ConflateInterval", o.ConflateInterval))
	if err != nil {
		return C.lapwing_subscriber_options{}, err
	}
	made := C.lapwing_subscriber_options{
		struct_size: C.uint32_t(C.sizeof_lapwing_subscriber_options),
		flags: flag(o.EndAtClose, C.LAPWING_SUBSCRIBER_END_AT_CLOSE) |
			flag(o.Conflate, C.LAPWING_SUBSCRIBER_CONFLATE),
		directory:            a.text(o.Directory),
		name:                 a.text(o.Name),
		start:                o.Start.kind,
		on_gap:               C.uint32_t(o.OnGap),
		wait:                 C.uint32_t(o.Wait),
		behind_records:       C.uint32_t(o.BehindRecords),
		start_value:          C.uint64_t(o.Start.value),
		start_position:       o.Start.position.c(),
		fold:                 a.text(o.Fold),
		expect:               a.text(o.Expect),
		instruments:          a.texts(o.Instruments),
		instrument_count:     C.size_t(len(o.Instruments)),
		reattach_ns:          C.int64_t(o.Reattach),
		flush_timeout_ns:     C.int64_t(o.FlushTimeout),
		stale_after_ns:       C.int64_t(o.StaleAfter),
		behind_ns:            C.int64_t(o.Behind),
		conflate_interval_ns: C.int64_t(o.ConflateInterval),
		conflate_keys_max:    C.uint32_t(o.ConflateKeysMax),
	}
	return made, a.err
}

type subscriberHandle = handle[*C.lapwing_subscriber]

// Subscriber reads a bus at its own pace, from any point, through every gap.
type Subscriber struct {
	subscriberHandle
	isSparse  bool
	items     items
	directory string
	fold      string
	records   *rowTypes // of the session that is read
	state     *rowTypes
}

// OpenSubscriber checks the options. It never waits: the bus is looked for by the calls that read.
func OpenSubscriber(options SubscriberOptions) (*Subscriber, error) {
	if err := load(); err != nil {
		return nil, err
	}
	var a arena
	defer a.free()
	c, err := options.c(&a)
	if err != nil {
		return nil, err
	}
	var made *C.lapwing_subscriber
	e := noError()
	if err := failure(C.lapwing_subscriber_open(&c, &made, &e), &e); err != nil {
		return nil, err
	}
	s := &Subscriber{isSparse: options.Conflate || len(options.Instruments) > 0,
		directory: options.Directory, fold: options.Fold}
	s.own(made, "Subscriber",
		func(c *C.lapwing_subscriber) { C.lapwing_subscriber_interrupt(c) },
		func(c *C.lapwing_subscriber) { C.lapwing_subscriber_destroy(&c) })
	return s, nil
}

// Read copies rows into the batch, as many as are there and fit, or brings one event. It waits until
// there is something. ErrTooSmall: b.RowBytes is what a row takes; nothing was consumed. ErrWouldBlock,
// ErrTimedOut, ErrInterrupted and ErrMisuse leave the subscriber as it was. Any other error is its end,
// and stays: ErrClosed (with EndAtClose), ErrPublisherGone, ErrNoBus, ErrStoppedAtGap, ErrRecordSize ….
// It allocates nothing.
func (s *Subscriber) Read(ctx context.Context, b *Batch) error {
	err := s.wait(ctx, func(c *C.lapwing_subscriber, timeout C.int64_t, e *C.lapwing_error) C.lapwing_result {
		if err := s.items.refuse(); err != nil {
			return refuse(e, err)
		}
		result := C.lw_subscriber_read(c, b.rows(), b.rowsBytes(), b.sequences(), b.conflated(), b.rowsMax(),
			&b.out, timeout, e)
		if result == C.LAPWING_OK {
			s.note(b)
		}
		return result
	})
	b.take(err)
	return err
}

// note stores the description with which the rows of a batch are compared; each session has its own.
func (s *Subscriber) note(b *Batch) {
	switch b.out.kind {
	case C.LAPWING_BATCH_RECORDS:
		b.types = s.records
	case C.LAPWING_BATCH_STATE:
		b.types = s.state
	case C.LAPWING_BATCH_EVENT:
		if kind := EventKind(b.out.event.kind); kind != EventSession && kind != EventReset {
			return
		}
		event := goEvent(&b.out.event)
		s.records, s.state = nil, nil
		if event.IsDescribed {
			s.records = busTypes(s.directory, event.Schema, false)
		}
		if s.fold == "orders" || s.fold == "" && event.Schema == "dbn.mbo" {
			s.state = entryTypes("orders")
		}
	}
}

// Take copies the next record, which must be as long as the memory given: the fast path. ErrEventDue:
// an event or a state stands before it; read that with Read. ErrRecordSize: records have another size.
// Other errors are those of Read.
func (s *Subscriber) Take(ctx context.Context, record []byte) (sequence uint64, err error) {
	var taken C.uint64_t
	err = s.wait(ctx, func(c *C.lapwing_subscriber, timeout C.int64_t, e *C.lapwing_error) C.lapwing_result {
		if err := s.items.refuse(); err != nil {
			return refuse(e, err)
		}
		result := C.lw_subscriber_take(c, (*C.uint8_t)(unsafe.SliceData(record)), C.size_t(len(record)),
			timeout, &taken)
		if isEnd(Code(result)) { // read has the words
			var out C.lw_batch
			C.lw_subscriber_read(c, nil, 0, nil, nil, 0, &out, 0, e)
		}
		return result
	})
	return uint64(taken), err
}

// isEnd says whether a result of take is the subscriber's end.
func isEnd(code Code) bool {
	switch code {
	case C.LAPWING_OK, ErrEventDue, ErrWouldBlock, ErrTimedOut, ErrInterrupted, ErrRecordSize, ErrMisuse,
		ErrInvalidArgument, ErrForked, ErrNoMemory:
		return false
	}
	return true
}

// Position is what to store: after the record with that sequence, which is of the last batch, or in a
// loop over Items the one in hand. 0: after everything that was delivered.
func (s *Subscriber) Position(sequence uint64) (Position, error) {
	var position C.lapwing_position
	err := s.call(func(c *C.lapwing_subscriber, e *C.lapwing_error) C.lapwing_result {
		if sequence == 0 {
			sequence = s.items.delivered()
		}
		return C.lapwing_subscriber_position(c, C.uint64_t(sequence), &position, e)
	})
	return goPosition(&position), err
}

// FD is a descriptor for an event loop: the subscriber's own, not to be closed. It becomes readable
// when a call that answered ErrWouldBlock, ErrTimedOut or ErrInterrupted may have something. It costs a
// helper thread. ErrInvalidArgument: with WaitBusy. With Conflate also call at the interval's end.
func (s *Subscriber) FD() (int, error) {
	fd := C.int32_t(-1)
	err := s.call(func(c *C.lapwing_subscriber, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_subscriber_fd(c, &fd, e)
	})
	return int(fd), err
}

// SubscriberInfo is as of the call.
type SubscriberInfo struct {
	RecordBytes  int // of the session that was delivered last; 0: none was
	Schema       string
	Fold         string // from the first entry of a state on
	JournalID    ID
	SessionID    ID
	Head         uint64 // the newest record; 0 while no bus is attached
	Lag          uint64 // records behind it
	Durable      uint64 // no power cut takes a record up to here back
	IsLive       bool   // it reads the ring, at most BehindRecords behind
	IsDescribed  bool
	Records      uint64 // delivered
	First        uint64 // since the last reset
	Last         uint64
	Gaps         uint64
	Lost         uint64
	InState      uint64 // after a gap, not delivered since a state has them
	Filled       uint64
	Duplicates   uint64
	OutOfOrder   uint64
	Sessions     uint64
	Reattached   uint64
	StateEntries uint64 // of all states
	Filtered     uint64 // of other instruments
	Conflated    uint64 // replaced by newer ones of their keys
	Waiting      uint64 // keys whose newest record waits for the end of the interval
}

// Inspect waits for nothing.
func (s *Subscriber) Inspect() (SubscriberInfo, error) {
	info := C.lapwing_subscriber_info{struct_size: C.uint32_t(C.sizeof_lapwing_subscriber_info)}
	err := s.call(func(c *C.lapwing_subscriber, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_subscriber_inspect(c, &info, e)
	})
	if err != nil {
		return SubscriberInfo{}, err
	}
	return SubscriberInfo{
		RecordBytes:  int(info.record_bytes),
		Schema:       goText(info.schema[:]),
		Fold:         goText(info.fold[:]),
		JournalID:    goID(&info.journal_id),
		SessionID:    goID(&info.session_id),
		Head:         uint64(info.head),
		Lag:          uint64(info.lag),
		Durable:      uint64(info.durable),
		IsLive:       info.is_live != 0,
		IsDescribed:  info.is_described != 0,
		Records:      uint64(info.records),
		First:        uint64(info.first),
		Last:         uint64(info.last),
		Gaps:         uint64(info.gaps),
		Lost:         uint64(info.lost),
		InState:      uint64(info.in_state),
		Filled:       uint64(info.filled),
		Duplicates:   uint64(info.duplicates),
		OutOfOrder:   uint64(info.out_of_order),
		Sessions:     uint64(info.sessions),
		Reattached:   uint64(info.reattached),
		StateEntries: uint64(info.state_entries),
		Filtered:     uint64(info.filtered),
		Conflated:    uint64(info.conflated),
		Waiting:      uint64(info.waiting),
	}, nil
}
