package lapwing

import (
	"context"
	"errors"
	"iter"
)

// Item is one of three things, as Kind says: a record, an entry of a state, or an event.
type Item struct {
	Kind      BatchKind
	Sequence  uint64 // of the record, or the event's
	Row       []byte // the record, or the entry; until the loop's next turn
	Conflated uint64 // how many older records this one replaces
	Event     *Event // nil of a record and of an entry
	types     *rowTypes
}

// Items yields records, entries of states and events, one at a time and in their order:
//
//	for item, err := range subscriber.Items(ctx) { … }
//
// It ends without an error when the bus was closed and the options have EndAtClose. Any other end of
// the subscriber, and of ctx, is yielded as an error, and is the last turn. If a loop is left early,
// another one continues with the next item. Read and ReadOne return ErrMisuse while rows are left that
// Items has read, but not yielded.
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
	Record T // the record, or the entry; zero of an event
}

// ItemsOf yields what Items yields, with records as Ts. A record that is not a T ends the loop with the error
// of RecordOf. It is for buses whose records and entries are of one type.
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

// Batches reads into b again and again, and yields it each time: rows, or one event. It ends as Items.
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
	itemsRowsMax = 1024     // where a batch needs columns
)

// items is the batch that Items reads, and how much of it was yielded.
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

// refuse is for calls that would deliver what comes after the rows that are left.
func (i *items) refuse() error {
	if left := i.left(); left > 0 {
		return misuse("%d rows that Items has read were not yielded; take them with Items first", left)
	}
	return nil
}

// delivered is the sequence of the record that was yielded last, where others of its batch are left;
// else 0.
func (i *items) delivered() uint64 {
	if i.left() == 0 || i.yielded == 0 {
		return 0
	}
	return i.batch.Sequence(i.yielded - 1)
}
