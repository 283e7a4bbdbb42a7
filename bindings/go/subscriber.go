package lapwing

/*
#cgo noescape lw_subscriber_read
#cgo nocallback lw_subscriber_read
#cgo noescape lw_subscriber_read_one
#cgo nocallback lw_subscriber_read_one
#include "calls.h"
*/
import "C"

import (
	"cmp"
	"context"
	"time"
	"unsafe"
)

// Start is the position at which a subscriber begins. The zero Start is StartLive.
type Start struct {
	kind     C.uint32_t
	value    uint64
	position Position
}

// StartLive begins with the next record that is published.
func StartLive() Start { return Start{kind: C.LAPWING_START_LIVE} }

// StartOldest begins with the oldest retained record.
func StartOldest() Start { return Start{kind: C.LAPWING_START_OLDEST} }

// StartSequence begins with that sequence.
func StartSequence(sequence uint64) Start {
	return Start{kind: C.LAPWING_START_SEQUENCE, value: sequence}
}

// StartTime begins at that time or a little before it, so that no record published since then is missed.
func StartTime(t time.Time) Start {
	return Start{kind: C.LAPWING_START_TIME, value: uint64(t.UnixNano())}
}

// StartSnapshot delivers the state of the newest checkpoint, then the records after it.
func StartSnapshot() Start { return Start{kind: C.LAPWING_START_SNAPSHOT} }

// StartAfter continues after a stored position.
func StartAfter(position Position) Start {
	return Start{kind: C.LAPWING_START_AFTER, position: position}
}

// OnGap selects the action for records that are no longer in the ring. The zero OnGap is GapFill.
type OnGap uint32

const (
	GapFill     OnGap = iota // read them from the journal
	GapSkip                  // report them, and continue in the ring
	GapStop                  // report them, and end with ErrStoppedAtGap
	GapSnapshot              // report them, and continue with the state of the newest checkpoint
)

var onGaps = []C.lapwing_on_gap{GapFill: C.LAPWING_ON_GAP_FILL, GapSkip: C.LAPWING_ON_GAP_SKIP,
	GapStop: C.LAPWING_ON_GAP_STOP, GapSnapshot: C.LAPWING_ON_GAP_SNAPSHOT}

// WaitStrategy selects how a call waits. The zero WaitStrategy is WaitBackoff.
type WaitStrategy uint32

const (
	WaitBackoff WaitStrategy = iota // spins for a while, then yields, then sleeps
	WaitBusy                        // spins; needs its own core
	WaitPark                        // sleeps at once
)

var waits = []C.lapwing_wait{WaitBackoff: C.LAPWING_WAIT_BACKOFF, WaitBusy: C.LAPWING_WAIT_BUSY,
	WaitPark: C.LAPWING_WAIT_PARK}

func (w WaitStrategy) check() error {
	return choice("Wait", w, waits, "WaitBackoff, WaitBusy, WaitPark")
}

// SubscriberOptions are the options of OpenSubscriber. A zero field has its default; see "Options" in
// the package documentation.
type SubscriberOptions struct {
	Directory        string        // of the bus; required
	Name             string        // shown by `lapwing subscribers`; "": none
	Start            Start         // where to begin; zero: StartLive()
	OnGap            OnGap         // the action for a gap; 0: GapFill
	Wait             WaitStrategy  // how to wait; 0: WaitBackoff
	BehindRecords    uint32        // lag in records before an EventBehind (docs/reference/cpp.md); 0: no limit
	BehindTime       time.Duration // lag in time before an EventBehind, or Never; 0: Never
	Fold             string        // fold of the state; "": the schema's default
	Expect           *Schema       // schema that the records must match; nil: any
	Instruments      []string      // symbols, even if they are digits, or numbers as "id:5930"; nil: all
	Reattach         time.Duration // how long to wait for the bus or a publisher, or Forever; 0: 30 s
	FlushTimeout     time.Duration // how long the publisher may take to answer the join, or Forever; 0: 10 s
	StaleAfter       time.Duration // silence before an EventStale, or Never; 0: Never
	EndAtClose       bool          // end at a clean close, with ErrClosed
	Observes         bool          // the program only displays records: docs/how-to/monitor.md
	MeasureEvery     uint32        // measure the age of every Nth record, see Ages; 0: none
	Conflate         bool          // deliver only the newest record of each key, once per interval
	ConflateInterval time.Duration // with Conflate; 0: 250 ms
	ConflateKeysMax  uint32        // with Conflate; more keys end the interval early; 0: 65,536
}

func (o *SubscriberOptions) c(a *arena) (made C.lapwing_subscriber_options, err error) {
	err = cmp.Or(load(),
		choice("OnGap", o.OnGap, onGaps, "GapFill, GapSkip, GapStop, GapSnapshot"), o.Wait.check(),
		duration("BehindTime", o.BehindTime, "Never"), duration("Reattach", o.Reattach, "Forever"),
		duration("FlushTimeout", o.FlushTimeout, "Forever"), duration("StaleAfter", o.StaleAfter, "Never"),
		notNegative("ConflateInterval", o.ConflateInterval))
	if err != nil {
		return made, err
	}
	C.lapwing_subscriber_options_init(&made, C.sizeof_lapwing_subscriber_options)
	made.flags = flag(o.EndAtClose, C.LAPWING_SUBSCRIBER_END_AT_CLOSE) |
		flag(o.Conflate, C.LAPWING_SUBSCRIBER_CONFLATE) |
		flag(o.Observes, C.LAPWING_SUBSCRIBER_OBSERVES)
	made.directory = a.text(o.Directory)
	made.name = a.text(o.Name)
	made.start = o.Start.kind
	made.start_value = C.uint64_t(o.Start.value)
	made.start_position = o.Start.position.c()
	made.on_gap = onGaps[o.OnGap]
	made.wait = waits[o.Wait]
	made.behind_records = C.uint32_t(o.BehindRecords)
	set(&made.behind_time_ns, o.BehindTime)
	made.fold = a.text(o.Fold)
	made.expect = o.Expect.text(a)
	made.instruments = a.texts(o.Instruments)
	made.instrument_count = C.size_t(len(o.Instruments))
	set(&made.reattach_ns, o.Reattach)
	set(&made.flush_timeout_ns, o.FlushTimeout)
	set(&made.stale_after_ns, o.StaleAfter)
	set(&made.conflate_interval_ns, o.ConflateInterval)
	set(&made.conflate_keys_max, o.ConflateKeysMax)
	made.measure_every = C.uint32_t(o.MeasureEvery)
	return made, a.err
}

type subscriberHandle = handle[*C.lapwing_subscriber]

// Subscriber reads a bus at its own pace, from any position and across gaps.
type Subscriber struct {
	subscriberHandle
	isSparse bool
	items    items
	fold     string
	records  *rowTypes // of the current session
	state    *rowTypes
}

// OpenSubscriber checks the options. It never waits: the read calls find the bus.
func OpenSubscriber(options SubscriberOptions) (*Subscriber, error) {
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
	s := &Subscriber{isSparse: options.Conflate || len(options.Instruments) > 0, fold: options.Fold}
	s.own(made, "Subscriber",
		func(c *C.lapwing_subscriber) { C.lapwing_subscriber_interrupt(c) },
		func(c *C.lapwing_subscriber) { C.lapwing_subscriber_destroy(&c) })
	return s, nil
}

// Read copies as many rows as are available and fit into the batch, or returns one event. It waits until there
// is a row or an event. It allocates nothing. ErrTooSmall: b.RowBytes is the size of a row; nothing was
// consumed. ErrWouldBlock, ErrTimedOut, ErrInterrupted and ErrMisuse do not change the subscriber. All other
// errors are final: ErrClosed (with EndAtClose), ErrPublisherGone, ErrNoAnswer, ErrNoBus, ErrStoppedAtGap,
// ErrRecordSize ….
func (s *Subscriber) Read(ctx context.Context, b *Batch) error {
	err := s.wait(ctx, func(c *C.lapwing_subscriber, timeout C.int64_t, e *C.lapwing_error) C.lapwing_result {
		if err := s.items.refuse(); err != nil {
			return refuse(e, err)
		}
		result := C.lw_subscriber_read(c, b.rows(), b.rowsBytes(), b.sequences(), b.conflated(), b.rowsMax(),
			&b.out, timeout, e)
		if result == C.LAPWING_OK {
			s.note(c, b)
		}
		return result
	})
	b.take(err)
	return err
}

// note stores the schema with which the rows of a batch are compared. Each session has its own,
// which must be queried before the next one begins.
func (s *Subscriber) note(c *C.lapwing_subscriber, b *Batch) {
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
			s.records = knownTypes(sessionSchema(c))
		}
		if s.fold == "orders" || s.fold == "" && event.SchemaName == "dbn.mbo" {
			s.state = entryTypes("orders")
		}
	}
}

// ReadOne copies the next record, which must have the length of `record`. It is the fast path for one record.
// ErrEventDue: an event or a state comes first; read it with Read. ErrRecordSize: the records have another
// size. Other errors are those of Read.
func (s *Subscriber) ReadOne(ctx context.Context, record []byte) (sequence uint64, err error) {
	var read C.uint64_t
	err = s.wait(ctx, func(c *C.lapwing_subscriber, timeout C.int64_t, e *C.lapwing_error) C.lapwing_result {
		if err := s.items.refuse(); err != nil {
			return refuse(e, err)
		}
		return C.lw_subscriber_read_one(c, (*C.uint8_t)(unsafe.SliceData(record)), C.size_t(len(record)),
			timeout, &read, e)
	})
	return uint64(read), err
}

// Schema returns the schema of the records as of the last delivered session or reset event. The next session
// may have other fields in records of the same size. ErrNotFound: the bus has no schema. ErrMisuse: no session
// has been delivered yet.
func (s *Subscriber) Schema() (schema *Schema, err error) {
	err = s.call(func(c *C.lapwing_subscriber, e *C.lapwing_error) C.lapwing_result {
		read, err := sessionSchema(c)
		if err != nil {
			return refuse(e, err)
		}
		schema = read
		return C.LAPWING_OK
	})
	return schema, err
}

// sessionSchema implements Schema within a call.
func sessionSchema(c *C.lapwing_subscriber) (*Schema, error) {
	return fillSchema(func(schema *C.lapwing_schema, fields *C.lapwing_field, fieldsMax C.size_t,
		text *C.char, textBytesMax C.size_t, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_subscriber_schema(c, schema, fields, fieldsMax, text, textBytesMax, e)
	})
}

// Ages are the times from when records were published to their delivery. Percentiles are at most a quarter too
// high.
type Ages struct {
	Count     uint64 // records that were measured
	Negative  uint64 // records without an age: their publish time is in the future
	Unstamped uint64 // records without an age: they have no publish time
	P50       time.Duration
	P90       time.Duration
	P99       time.Duration
	P999      time.Duration
	Max       time.Duration
}

// Ages returns the ages at delivery of the records that MeasureEvery selected. ErrNotFound: none was measured.
func (s *Subscriber) Ages() (Ages, error) {
	ages := C.lapwing_ages{struct_size: C.sizeof_lapwing_ages}
	err := s.call(func(c *C.lapwing_subscriber, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_subscriber_ages(c, &ages, e)
	})
	if err != nil {
		return Ages{}, err
	}
	return Ages{
		Count:     uint64(ages.count),
		Negative:  uint64(ages.negative),
		Unstamped: uint64(ages.unstamped),
		P50:       time.Duration(ages.p50_ns),
		P90:       time.Duration(ages.p90_ns),
		P99:       time.Duration(ages.p99_ns),
		P999:      time.Duration(ages.p999_ns),
		Max:       time.Duration(ages.max_ns),
	}, nil
}

// Position returns the position to store: after the record with that sequence. The record must be in the last
// batch. In a loop over Items, it is the current one. 0: after everything that was delivered.
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

// FD returns a descriptor for an event loop. It belongs to the subscriber: do not close it. It is readable when
// a call that returned ErrWouldBlock, ErrTimedOut or ErrInterrupted may have a result. It costs a helper
// thread. ErrInvalidArgument: with WaitBusy. With Conflate, also make the call at the end of the interval.
func (s *Subscriber) FD() (int, error) {
	fd := C.int32_t(-1)
	err := s.call(func(c *C.lapwing_subscriber, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_subscriber_fd(c, &fd, e)
	})
	return int(fd), err
}

// SubscriberInfo is the state of a subscriber at the time of the call.
type SubscriberInfo struct {
	RecordBytes  int // of the last session delivered; 0: none
	SchemaName   string
	Fold         string // set once the first state entry has been delivered
	JournalID    ID
	SessionID    ID
	Head         uint64 // the newest record; 0 while no bus is attached
	Lag          uint64 // records behind Head
	Durable      uint64 // records up to here survive a power cut
	IsLive       bool   // it reads the ring and is at most BehindRecords behind
	IsDescribed  bool
	Records      uint64 // delivered
	First        uint64 // since the last reset
	Last         uint64
	Gaps         uint64
	Lost         uint64
	InState      uint64 // after a gap, not delivered because a state contains them
	Filled       uint64
	Duplicates   uint64
	OutOfOrder   uint64
	Sessions     uint64
	Reattached   uint64
	StateEntries uint64 // of all states
	Filtered     uint64 // of other instruments
	Conflated    uint64 // replaced by newer ones with the same key
	Waiting      uint64 // keys whose newest record waits for the end of the interval
}

// Inspect returns the state of the subscriber. It never waits.
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
		SchemaName:   goText(info.schema_name[:]),
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
