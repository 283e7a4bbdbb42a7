package lapwing

// #include "calls.h"
import "C"

import (
	"errors"
	"iter"
	"log/slog"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

type historyHandle = handle[*C.lapwing_history]

// History reads the journal of a bus by sequence, with or without a publisher.
type History struct {
	historyHandle
	types *rowTypes
}

// OpenHistory opens the journal of the bus in that directory.
func OpenHistory(directory string) (*History, error) {
	if err := load(); err != nil {
		return nil, err
	}
	var a arena
	defer a.free()
	at := a.text(directory)
	if a.err != nil {
		return nil, a.err
	}
	var made *C.lapwing_history
	e := noError()
	if err := failure(C.lapwing_history_open(at, &made, &e), &e); err != nil {
		return nil, err
	}
	h := &History{types: busTypes(directory, false)}
	h.own(made, "History", nil, func(c *C.lapwing_history) { C.lapwing_history_destroy(&c) })
	return h, nil
}

// HistoryInfo is the state of a journal at the time of the call.
type HistoryInfo struct {
	RecordBytes int
	SchemaName  string
	JournalID   ID
	Oldest      uint64 // the oldest that is retained
	Archived    uint64 // the newest that can be read
	Durable     uint64
}

// Inspect returns the state of the journal.
func (h *History) Inspect() (HistoryInfo, error) {
	info := C.lapwing_history_info{struct_size: C.uint32_t(C.sizeof_lapwing_history_info)}
	err := h.call(func(c *C.lapwing_history, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_history_inspect(c, &info, e)
	})
	if err != nil {
		return HistoryInfo{}, err
	}
	return HistoryInfo{
		RecordBytes: int(info.record_bytes),
		SchemaName:  goText(info.schema_name[:]),
		JournalID:   goID(&info.journal_id),
		Oldest:      uint64(info.oldest),
		Archived:    uint64(info.archived),
		Durable:     uint64(info.durable),
	}, nil
}

// Read copies rows from `first` on into the batch, or returns one event, EventLost. ErrWouldBlock:
// `first` is beyond HistoryInfo.Archived. ErrInvalidArgument: `first` is not a sequence.
func (h *History) Read(first uint64, b *Batch) error {
	err := h.call(func(c *C.lapwing_history, e *C.lapwing_error) C.lapwing_result {
		return C.lw_history_read(c, C.uint64_t(first), b.rows(), b.rowsBytes(), b.sequences(), b.rowsMax(),
			&b.out, e)
	})
	b.types = h.types
	b.take(err)
	return err
}

// Batches reads from `first` on up to the newest record that can be read. It reads into b repeatedly, and
// yields b after each read.
func (h *History) Batches(first uint64, b *Batch) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		for {
			err := h.Read(first, b)
			if errors.Is(err, ErrWouldBlock) {
				return
			}
			if err == nil && b.Kind == BatchRecords {
				first = b.Sequence(b.Count-1) + 1
			} else if err == nil {
				first = max(b.Event().Last, first) + 1
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// FindTime returns the sequence at which to begin reading so that no record published at or after t is missed.
func (h *History) FindTime(t time.Time) (uint64, error) {
	var sequence C.uint64_t
	err := h.call(func(c *C.lapwing_history, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_history_find_time(c, C.uint64_t(t.UnixNano()), &sequence, e)
	})
	return uint64(sequence), err
}

// UnsafeMap maps the rows first to last, up to the end of the finished segment that contains `first`. Continue
// at View.First + View.Count. Errors: ErrWouldBlock (the segment is still growing: use Read), ErrNotPermitted
// (others may write to the file: use Read), ErrPruned, ErrNotFound (a void), ErrDamaged.
func (h *History) UnsafeMap(first, last uint64) (*UnsafeView, error) {
	view := &mapping{c: C.lapwing_view{struct_size: C.uint32_t(C.sizeof_lapwing_view)}}
	err := h.call(func(c *C.lapwing_history, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_history_map(c, C.uint64_t(first), C.uint64_t(last), &view.c, e)
	})
	if err != nil {
		return nil, err
	}
	v := &UnsafeView{
		First:    uint64(view.c.first),
		Count:    int(view.c.count),
		RowBytes: int(view.c.row_bytes),
		mapping:  view,
	}
	runtime.AddCleanup(v, (*mapping).leaked, view)
	return v, nil
}

// UnsafeView contains rows of a journal file in place: read-only, shared memory. A write to it, or a read after
// Close, crashes the program. A view may outlive its History.
type UnsafeView struct {
	First    uint64 // sequence of row 0; row i is First + i
	Count    int
	RowBytes int
	mapping  *mapping
}

type mapping struct {
	mu sync.Mutex
	c  C.lapwing_view // rows is nil once it is unmapped
}

func (m *mapping) unmap() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	isMapped := m.c.rows != nil
	if isMapped {
		C.lapwing_history_unmap(&m.c)
		m.c.rows = nil
	}
	return isMapped
}

func (m *mapping) leaked() {
	if m.unmap() {
		slog.Warn("lapwing: a view was never closed; the garbage collector has closed it")
	}
}

// UnsafeRow returns a row in place. The view must outlive every use of it.
func (v *UnsafeView) UnsafeRow(i int) []byte {
	if i < 0 || i >= v.Count {
		panic("lapwing: the view has no such row")
	}
	if v.mapping.c.rows == nil {
		panic("lapwing: the view is closed")
	}
	row := unsafe.Add(v.mapping.c.rows, uintptr(i)*uintptr(v.mapping.c.stride_bytes))
	return unsafe.Slice((*byte)(row), v.RowBytes)
}

// CopyRows copies as many rows from index i on as are available and fit, end to end. It returns their number.
func (v *UnsafeView) CopyRows(rows []byte, i int) int {
	v.mapping.mu.Lock() // Close waits
	defer v.mapping.mu.Unlock()
	defer runtime.KeepAlive(v)
	count := max(min(len(rows)/v.RowBytes, v.Count-i), 0)
	for k := range count {
		copy(rows[k*v.RowBytes:], v.UnsafeRow(i+k))
	}
	return count
}

// Close unmaps the rows. It is idempotent.
func (v *UnsafeView) Close() error {
	v.mapping.unmap()
	runtime.KeepAlive(v)
	return nil
}
