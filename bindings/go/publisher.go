package lapwing

/*
#cgo noescape lw_publisher_publish
#cgo nocallback lw_publisher_publish
#include "calls.h"
*/
import "C"

import (
	"cmp"
	"context"
	"time"
	"unsafe"
)

// OnJournalLag selects what happens when the journal is a whole ring behind. The zero OnJournalLag is
// LagWait.
type OnJournalLag uint32

const (
	LagWait OnJournalLag = iota // publishing waits for the disk
	LagShed                     // the rest of the session is not journaled
)

var onJournalLags = []C.lapwing_on_journal_lag{LagWait: C.LAPWING_ON_JOURNAL_LAG_WAIT,
	LagShed: C.LAPWING_ON_JOURNAL_LAG_SHED}

// OnJournalFailure selects what happens when the journal has failed. The zero OnJournalFailure is
// FailureContinue.
type OnJournalFailure uint32

const (
	FailureContinue OnJournalFailure = iota // publishing continues without a journal
	FailureStop                             // publishing ends
)

var onJournalFailures = []C.lapwing_on_journal_failure{
	FailureContinue: C.LAPWING_ON_JOURNAL_FAILURE_CONTINUE, FailureStop: C.LAPWING_ON_JOURNAL_FAILURE_STOP}

// PublisherOptions are the options of OpenPublisher. A zero field has its default; see "Options" in the
// package documentation.
type PublisherOptions struct {
	Directory        string           // of the bus; required; created if it is missing
	Name             string           // "": the directory's last component
	SchemaName       string           // of a shipped schema, or your own; "": the name of Schema, or else "bytes"
	Schema           *Schema          // see Describe and SchemaNamed; nil: none, or the shipped one of SchemaName
	RecordBytes      int              // 8 to 4,088; 0: the size in Schema, or else 56
	Capacity         uint64           // slots, a power of two; 0: as many as fit, up to 1,048,576
	RingDirectory    string           // "": the bus directory if it is on tmpfs, or else one in /dev/shm
	JournalDirectory string           // "": <directory>/journal
	SegmentBytes     uint64           // of slots, a power of two; 0: 64 MiB
	SyncInterval     time.Duration    // time between syncs, or OnRequest: only by Flush; 0: 10 ms
	RetainBytes      uint64           // when the total exceeds this, the oldest segments are removed; 0: no limit
	RetainAge        time.Duration    // age at which segments are removed, or Never; 0: Never
	OnJournalLag     OnJournalLag     // 0: LagWait
	OnJournalFailure OnJournalFailure // 0: FailureContinue
	NoJournal        bool             // keep no journal: readers lose lapped records
	HugePages        bool             // back the ring with huge pages, or fail
	Resume           bool             // continue SourceID after its records in the journal
	Restamped        bool             // the publish times are this publisher's, not the feed's
	Group            *uint32          // gid whose members may read; nil: only this user and root
	Metadata         []byte           // raw DBN metadata of the feed; nil: none
	SourceID         uint64           // id of the records' source; the journal stores it; 0: none
	SourceOffset     uint64           // records of the source before the first that is published; 0: none
}

func (o *PublisherOptions) c(a *arena) (made C.lapwing_publisher_options, err error) {
	err = cmp.Or(load(),
		notNegative("RecordBytes", o.RecordBytes), duration("RetainAge", o.RetainAge, "Never"),
		duration("SyncInterval", o.SyncInterval, "OnRequest"),
		choice("OnJournalLag", o.OnJournalLag, onJournalLags, "LagWait, LagShed"),
		choice("OnJournalFailure", o.OnJournalFailure, onJournalFailures, "FailureContinue, FailureStop"))
	if err != nil {
		return made, err
	}
	C.lapwing_publisher_options_init(&made, C.sizeof_lapwing_publisher_options)
	made.flags = flag(o.NoJournal, C.LAPWING_PUBLISHER_NO_JOURNAL) |
		flag(o.HugePages, C.LAPWING_PUBLISHER_HUGE_PAGES) |
		flag(o.Resume, C.LAPWING_PUBLISHER_RESUME) |
		flag(o.Restamped, C.LAPWING_PUBLISHER_RESTAMPED) |
		flag(o.Group != nil, C.LAPWING_PUBLISHER_GROUP)
	made.directory = a.text(o.Directory)
	made.name = a.text(o.Name)
	made.schema_name = a.text(o.SchemaName)
	made.schema = o.Schema.text(a)
	made.record_bytes = C.uint32_t(o.RecordBytes)
	made.capacity = C.uint64_t(o.Capacity)
	made.ring_directory = a.text(o.RingDirectory)
	made.journal_directory = a.text(o.JournalDirectory)
	set(&made.segment_bytes, o.SegmentBytes)
	set(&made.sync_interval_ns, o.SyncInterval)
	made.retain_bytes = C.uint64_t(o.RetainBytes)
	set(&made.retain_age_ns, o.RetainAge)
	made.on_journal_lag = onJournalLags[o.OnJournalLag]
	made.on_journal_failure = onJournalFailures[o.OnJournalFailure]
	made.metadata = a.bytes(o.Metadata)
	made.metadata_bytes = C.size_t(len(o.Metadata))
	made.source_id = C.uint64_t(o.SourceID)
	made.source_offset = C.uint64_t(o.SourceOffset)
	if o.Group != nil {
		made.group = C.uint32_t(*o.Group)
	}
	return made, a.err
}

type publisherHandle = handle[*C.lapwing_publisher]

// Publisher writes to a bus. A bus has one publisher.
type Publisher struct {
	publisherHandle
	recordBytes int
	next        uint64 // sequence of the next record
	types       *rowTypes
}

// OpenPublisher takes the bus, settles the last session and begins a new one. If another publisher is using the
// bus, OpenPublisher waits until it ends or ctx is done (ErrInUse).
func OpenPublisher(ctx context.Context, options PublisherOptions) (*Publisher, error) {
	var a arena
	defer a.free()
	c, err := options.c(&a)
	if err != nil {
		return nil, err
	}
	var made *C.lapwing_publisher
	err = openLocked(ctx, func(timeout C.int64_t, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_publisher_open(&c, timeout, &made, e)
	})
	if err != nil {
		return nil, err
	}
	p := &Publisher{types: busTypes(options.Directory, true)}
	p.own(made, "Publisher",
		func(c *C.lapwing_publisher) { C.lapwing_publisher_interrupt(c) },
		func(c *C.lapwing_publisher) { C.lapwing_publisher_destroy(&c) })
	info, err := p.Inspect()
	if err != nil {
		p.Close()
		return nil, err
	}
	p.recordBytes, p.next = info.RecordBytes, info.First
	return p, nil
}

// RecordBytes returns the record size of the bus.
func (p *Publisher) RecordBytes() int { return p.recordBytes }

// PublishRow publishes one T, like PublishRows, and returns its sequence.
func PublishRow[T any](ctx context.Context, p *Publisher, row *T) (sequence uint64, err error) {
	if err := checkRows[T](p.types); err != nil {
		return 0, err
	}
	return p.Publish(ctx, BytesOf(row))
}

// Publish publishes one record and returns its sequence. It waits only if the journal is a whole ring behind.
// ErrRecordSize: the record does not have the bus's size. ErrJournalFailed and ErrClosed are final. Publish
// compares only the size of the bytes with the bus's records: see PublishRow.
func (p *Publisher) Publish(ctx context.Context, record []byte) (sequence uint64, err error) {
	return p.PublishBatch(ctx, record, len(record))
}

// PublishBatch publishes records of recordBytes, end to end, in order. last is the sequence of the last record
// that was published, even on failure; 0: none was.
func (p *Publisher) PublishBatch(ctx context.Context, records []byte, recordBytes int) (last uint64, err error) {
	err = p.wait(ctx, func(c *C.lapwing_publisher, timeout C.int64_t, e *C.lapwing_error) C.lapwing_result {
		if recordBytes <= 0 || len(records)%recordBytes != 0 {
			return refuse(e, invalid("%d bytes are not a whole number of records of %d bytes", len(records), recordBytes))
		}
		var until C.uint64_t
		result := C.lw_publisher_publish(c, (*C.uint8_t)(unsafe.SliceData(records)),
			C.size_t(len(records)/recordBytes), C.size_t(recordBytes), timeout, &until, e)
		if until != 0 { // a repeated call publishes only the remaining records
			last = uint64(until)
			records = records[int(last+1-p.next)*recordBytes:]
			p.next = last + 1
		}
		return result
	})
	return last, err
}

// PublishRows publishes Ts, which must not contain pointers. ErrRecordSize: T does not have the size of
// the bus's records, or the fields of T differ from the description of the bus. The error names the
// first field that differs. Names, offsets and types are compared as in Schema.Check, once for each type.
// Arrays of bytes are not compared.
func PublishRows[T any](ctx context.Context, p *Publisher, rows []T) (last uint64, err error) {
	if err := checkRows[T](p.types); err != nil {
		return 0, err
	}
	if len(rows) == 0 {
		return 0, nil
	}
	size := int(unsafe.Sizeof(rows[0]))
	return p.PublishBatch(ctx, unsafe.Slice((*byte)(unsafe.Pointer(&rows[0])), len(rows)*size), size)
}

// Flush waits until everything published is durable. It returns the newest durable sequence.
func (p *Publisher) Flush(ctx context.Context) (durable uint64, err error) {
	var until C.uint64_t
	err = p.wait(ctx, func(c *C.lapwing_publisher, timeout C.int64_t, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_publisher_flush(c, timeout, &until, e)
	})
	return uint64(until), err
}

// Shutdown ends the session: it makes everything durable, records the end and notifies subscribers. If ctx is
// done first, a library thread continues, and a later Shutdown returns how the session ended. Close is still
// required, and does not wait for any of this.
func (p *Publisher) Shutdown(ctx context.Context) error {
	return p.wait(ctx, func(c *C.lapwing_publisher, timeout C.int64_t, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_publisher_close(c, timeout, e)
	})
}

// Settled is how a start settled the previous session.
type Settled uint32

const (
	SettledFresh     Settled = C.LAPWING_SETTLED_FRESH     // no journal yet: a new one was begun
	SettledContinued Settled = C.LAPWING_SETTLED_CONTINUED // the last session had ended cleanly
	SettledRecovered Settled = C.LAPWING_SETTLED_RECOVERED // killed; the missing records were in the ring
	SettledCut       Settled = C.LAPWING_SETTLED_CUT       // power cut: cut at durable, then a void
	SettledReset     Settled = C.LAPWING_SETTLED_RESET     // the journal had failed: a new one was begun
)

func (s Settled) String() string { return nameOf(int(s), settled) }

var settled = []string{0: "none", SettledFresh: "fresh", SettledContinued: "continued", SettledRecovered: "recovered",
	SettledCut: "cut", SettledReset: "reset"}

// JournalState is the state of a publisher's journal.
type JournalState uint32

const (
	JournalNone   JournalState = C.LAPWING_JOURNAL_STATE_NONE
	JournalGood   JournalState = C.LAPWING_JOURNAL_STATE_GOOD
	JournalFailed JournalState = C.LAPWING_JOURNAL_STATE_FAILED // durable is frozen; live publishing continues
	JournalShed   JournalState = C.LAPWING_JOURNAL_STATE_SHED   // the same, because of LagShed
)

func (s JournalState) String() string { return nameOf(int(s), journalStates) }

var journalStates = []string{JournalNone: "none", JournalGood: "good", JournalFailed: "failed",
	JournalShed: "shed"}

// PublisherInfo is the state of a publisher at the time of the call.
type PublisherInfo struct {
	RecordBytes       int
	JournalID         ID
	SessionID         ID
	First             uint64 // sequence of this session's first record
	Head              uint64 // last published
	Durable           uint64 // last that survives a power cut
	SourceOffset      uint64 // records of the source that earlier sessions published
	Subscribers       uint64
	Settled           Settled
	JournalState      JournalState
	JournalErrno      int
	VoidFirst         uint64 // sequences that this start recorded as a void; 0, 0: none
	VoidLast          uint64
	JournalStalls     uint64 // times publish waited for the journal
	JournalStallMax   time.Duration
	JournalStallTotal time.Duration
	IdleWakes         uint64 // wakes of sleeping threads: one for each sleeper and idle period
	Doorbells         uint64 // wakes of parked subscribers
}

// Inspect returns the state of the publisher. It never waits.
func (p *Publisher) Inspect() (PublisherInfo, error) {
	info := C.lapwing_publisher_info{struct_size: C.uint32_t(C.sizeof_lapwing_publisher_info)}
	err := p.call(func(c *C.lapwing_publisher, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_publisher_inspect(c, &info, e)
	})
	if err != nil {
		return PublisherInfo{}, err
	}
	return PublisherInfo{
		RecordBytes:       int(info.record_bytes),
		JournalID:         goID(&info.journal_id),
		SessionID:         goID(&info.session_id),
		First:             uint64(info.first),
		Head:              uint64(info.head),
		Durable:           uint64(info.durable),
		SourceOffset:      uint64(info.source_offset),
		Subscribers:       uint64(info.subscribers),
		Settled:           Settled(info.settled),
		JournalState:      JournalState(info.journal_state),
		JournalErrno:      int(info.journal_errno),
		VoidFirst:         uint64(info.void_first),
		VoidLast:          uint64(info.void_last),
		JournalStalls:     uint64(info.journal_stalls),
		JournalStallMax:   time.Duration(info.journal_stall_ns_max),
		JournalStallTotal: time.Duration(info.journal_stall_ns_total),
		IdleWakes:         uint64(info.idle_wakes),
		Doorbells:         uint64(info.doorbells),
	}, nil
}
