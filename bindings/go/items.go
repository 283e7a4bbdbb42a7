package lapwing

import (
	"context"
	"errors"
	"iter"
)

// Item is a record, a state entry, or an event, depending on Kind.
type Item struct {
	Kind      BatchKind
	Sequence  uint64 // of the record, or the event's
	Row       []byte // the record, or the entry; valid until the loop's next iteration
	Conflated uint64 // the number of older records that this one replaces
	Event     *Event // nil for a record or an entry
	types     *rowTypes
}

// Items yields records, state entries and events, one at a time and in order:
//
//	for item, err := range subscriber.Items(ctx) { … }
//
// The loop ends without an error when the bus is closed and EndAtClose is set. If the subscriber ends for
// another reason, or ctx is done, the last iteration yields the error. After an early exit from a loop, another
// loop continues with the next item. While there are rows that Items has read but not yielded, Read and ReadOne
// return ErrMisuse.
func (s *Subscriber) Items(ctx context.Context) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for {
			for item, ok := s.items.next(); ok; item, ok = s.items.next() {
				if !yield(item, nil) {
					return
				}
			}
			err := s.items.fill(ctx, s)
			if errors.Is(err, ErrClosed) {
				return
			}
			if err != nil {
				yield(Item{}, err)
				return
			}
		}
	}
}

// ItemOf is an Item with its row as a T.
type ItemOf[T any] struct {
	Item
	Record T // the record, or the entry; zero for an event
}

// ItemsOf is like Items, and yields records as Ts. A record that is not a T ends the loop with the error of
// RecordOf. Use it for buses whose records and entries have the same type.
func ItemsOf[T any](ctx context.Context, s *Subscriber) iter.Seq2[ItemOf[T], error] {
	return func(yield func(ItemOf[T], error) bool) {
		for item, err := range s.Items(ctx) {
			typed := ItemOf[T]{Item: item}
			if err == nil && item.Kind != BatchEvent {
				typed.Record, err = RecordOf[T](item)
			}
			if !yield(typed, err) || err != nil {
				return
			}
		}
	}
}

// Batches reads into b repeatedly, and yields b after each read: rows, or one event. It ends like Items.
func (s *Subscriber) Batches(ctx context.Context, b *Batch) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		for {
			err := s.Read(ctx, b)
			if errors.Is(err, ErrClosed) {
				return
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

const (
	itemsBytes   = 64 << 10 // at least 16 records
	itemsRowsMax = 1024     // if a batch needs columns
)

// items is the batch that Items reads, and the number of its items that were yielded.
type items struct {
	batch   *Batch
	yielded int
}

func (i *items) left() int {
	switch {
	case i.batch == nil:
		return 0
	case i.batch.Kind == BatchEvent:
		return 1 - i.yielded
	}
	return i.batch.Count - i.yielded
}

func (i *items) next() (item Item, ok bool) {
	if i.left() == 0 {
		return Item{}, false
	}
	b, at := i.batch, i.yielded
	i.yielded++
	if b.Kind == BatchEvent {
		event := b.Event()
		return Item{Kind: BatchEvent, Sequence: event.Sequence, Event: event}, true
	}
	item = Item{Kind: b.Kind, Sequence: b.Sequence(at), Row: b.Row(at), types: b.types}
	if b.Conflated != nil && b.Kind == BatchRecords {
		item.Conflated = b.Conflated[at]
	}
	return item, true
}

func (i *items) fill(ctx context.Context, s *Subscriber) error {
	if i.batch == nil {
		i.batch = NewBatch(itemsBytes)
		if s.isSparse {
			i.batch.Sequences, i.batch.Conflated = make([]uint64, itemsRowsMax), make([]uint64, itemsRowsMax)
		}
	}
	err := s.Read(ctx, i.batch)
	i.yielded = 0
	return err
}

// refuse returns an error if rows were read but not yielded. Calls that would read later rows check it.
func (i *items) refuse() error {
	if left := i.left(); left > 0 {
		return misuse("%d rows that Items has read were not yielded; take them with Items first", left)
	}
	return nil
}

// delivered returns the sequence of the last yielded record if its batch has more rows, and 0 otherwise.
func (i *items) delivered() uint64 {
	if i.left() == 0 || i.yielded == 0 {
		return 0
	}
	return i.batch.Sequence(i.yielded - 1)
}
