package lapwing

// #include "calls.h"
import "C"

import "unsafe"

// BatchKind is the kind of result of a read.
type BatchKind uint32

const (
	BatchNothing BatchKind = C.LAPWING_BATCH_NOTHING
	BatchRecords BatchKind = C.LAPWING_BATCH_RECORDS
	BatchState   BatchKind = C.LAPWING_BATCH_STATE // rows are state entries
	BatchEvent   BatchKind = C.LAPWING_BATCH_EVENT
)

// Batch is memory that reads reuse, and the result of the last read: rows of one session, one size and one
// kind, or one event.
type Batch struct {
	Memory    []byte   // of the rows
	Sequences []uint64 // if not nil, receives the sequence of each record; its length limits the number of rows
	Conflated []uint64 // optional in the same way: the number of older records that each row replaces

	Kind     BatchKind
	Count    int    // rows
	RowBytes int    // of a record or a state entry; set even after ErrTooSmall
	First    uint64 // sequence of row 0
	IsSparse bool   // the sequences are not consecutive: only Sequences contains them

	out   C.lw_batch
	types *rowTypes // of the rows
}

// NewBatch returns a batch with memory for that many bytes of rows, aligned for any record.
func NewBatch(bytes int) *Batch {
	words := make([]uint64, (bytes+7)/8)
	return &Batch{Memory: unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), bytes)}
}

// Rows returns the rows, end to end: Count times RowBytes. They are valid until the next read into the batch.
func (b *Batch) Rows() []byte { return b.Memory[:b.Count*b.RowBytes] }

// Row returns the row with that index.
func (b *Batch) Row(i int) []byte { return b.Rows()[i*b.RowBytes:][:b.RowBytes] }

// Sequence returns the sequence of the record with that index. It is unknown (0) for state entries, and for
// sparse rows without a column of sequences.
func (b *Batch) Sequence(i int) uint64 {
	switch {
	case b.Kind != BatchRecords:
		return 0
	case b.Sequences != nil:
		return b.Sequences[:b.Count][i]
	case b.IsSparse:
		return 0
	}
	return b.First + uint64(i)
}

// Event returns the event of a BatchEvent, and nil for other kinds.
func (b *Batch) Event() *Event {
	if b.Kind != BatchEvent {
		return nil
	}
	return goEvent(&b.out.event)
}

func (b *Batch) rowsMax() C.size_t {
	switch {
	case b.Sequences == nil:
		return C.size_t(len(b.Conflated))
	case b.Conflated == nil:
		return C.size_t(len(b.Sequences))
	}
	return C.size_t(min(len(b.Sequences), len(b.Conflated)))
}

func (b *Batch) rows() *C.uint8_t       { return (*C.uint8_t)(unsafe.SliceData(b.Memory)) }
func (b *Batch) rowsBytes() C.size_t    { return C.size_t(len(b.Memory)) }
func (b *Batch) sequences() *C.uint64_t { return (*C.uint64_t)(unsafe.SliceData(b.Sequences)) }
func (b *Batch) conflated() *C.uint64_t { return (*C.uint64_t)(unsafe.SliceData(b.Conflated)) }

// take copies the result from C. If the call failed, or C was not called, the batch is empty.
func (b *Batch) take(err error) {
	if err != nil {
		b.out.kind, b.out.count, b.out.flags = C.LAPWING_BATCH_NOTHING, 0, 0
	}
	b.Kind, b.Count = BatchKind(b.out.kind), int(b.out.count)
	b.RowBytes, b.First = int(b.out.row_bytes), uint64(b.out.first)
	b.IsSparse = b.out.flags&C.LAPWING_BATCH_SPARSE != 0
}

// holds returns an error if the memory is too small for the rows of the last read. This happens if the program
// replaced the memory after the read.
func (b *Batch) holds() error {
	count := int(b.out.count)
	switch {
	case len(b.Memory) < count*int(b.out.row_bytes),
		b.Sequences != nil && len(b.Sequences) < count,
		b.Conflated != nil && len(b.Conflated) < count:
		return invalid("the batch's memory or a column holds fewer than the %d rows that were read; "+
			"change them before a read, and not after it", count)
	}
	return nil
}
