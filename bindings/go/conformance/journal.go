package main

import (
	"fmt"
	"strings"
	"time"

	"lapwing.example/go/lapwing"
)

const takeTwiceRows = 16

func init() {
	operations["cursor.open"] = func(d *driver, s step) []string {
		ctx, cancel := s.context()
		defer cancel()
		made, err := lapwing.OpenCursor(ctx, s.text("path"), lapwing.CursorOptions{Durable: s.is("durable")})
		return opened(d, s, made, err)
	}
	operations["cursor.position"] = func(d *driver, s step) []string {
		last, err := thing[lapwing.Cursor](d, s.text("on")).Last()
		if err == nil {
			d.keep(s.text("as"), &last.Position)
		}
		return answer(err, pair("sequence", last.Position.Sequence), pair("bytes", last.OutputBytes),
			pair("file", last.OutputFile))
	}
	operations["cursor.commit"] = func(d *driver, s step) []string {
		return answer(thing[lapwing.Cursor](d, s.text("on")).Commit(lapwing.Commit{
			Position:    *thing[lapwing.Position](d, s.text("position")),
			OutputBytes: s.number("bytes"),
			OutputFile:  s.number("file"),
		}))
	}
	operations["cursor.destroy"] = destroy
	operations["history.open"] = func(d *driver, s step) []string {
		made, err := lapwing.OpenHistory(s.text("directory"))
		return opened(d, s, made, err)
	}
	operations["history.inspect"] = func(d *driver, s step) []string {
		info, err := thing[lapwing.History](d, s.text("on")).Inspect()
		return answer(err, pair("record_bytes", info.RecordBytes), pair("schema", info.SchemaName),
			pair("oldest", info.Oldest), pair("archived", info.Archived), pair("durable", info.Durable))
	}
	operations["history.read"] = historyRead
	operations["history.find-time"] = func(d *driver, s step) []string {
		at := time.Unix(0, int64(s.number("value")))
		sequence, err := thing[lapwing.History](d, s.text("on")).FindTime(at)
		return answer(err, pair("sequence", sequence))
	}
	operations["history.map"] = historyMap
	operations["history.unmap"] = destroy
	operations["history.destroy"] = destroy
	operations["books.create"] = func(d *driver, s step) []string {
		made, err := lapwing.NewBooks()
		return opened(d, s, made, err)
	}
	operations["books.follow"] = func(d *driver, s step) []string {
		books := thing[lapwing.Books](d, s.text("on"))
		lines := readAll(thing[lapwing.Subscriber](d, s.text("from")), s, books.Take)
		return lines[len(lines)-1:]
	}
	operations["books.take"] = booksTake
	operations["books.inspect"] = func(d *driver, s step) []string {
		info, err := thing[lapwing.Books](d, s.text("on")).Inspect()
		return answer(err, pair("sequence", info.Sequence), pair("books", info.Books),
			pair("orders", info.Orders), pair("settled", info.IsSettled), pair("loading", info.IsLoading),
			pair("digest", digest(info.Digest)))
	}
	operations["books.list"] = func(d *driver, s step) []string {
		keys, err := thing[lapwing.Books](d, s.text("on")).List(nil)
		return list(err, keys, func(k lapwing.BookKey) string {
			return fmt.Sprintf("%d:%d", k.PublisherID, k.InstrumentID)
		})
	}
	operations["books.find"] = func(d *driver, s step) []string {
		book, err := thing[lapwing.Books](d, s.text("on")).Find(bookKey(s))
		return answer(err, pair("bid", level(book.Bid)), pair("ask", level(book.Ask)),
			pair("orders", book.Orders), pair("stale", book.IsStale), pair("settled", book.IsSettled),
			fmt.Sprintf("levels=%d:%d", book.BidLevels, book.AskLevels))
	}
	operations["books.levels"] = func(d *driver, s step) []string {
		levels, err := thing[lapwing.Books](d, s.text("on")).Levels(bookKey(s), side(s),
			int(s.number("from")), make([]lapwing.Level, 0, s.number("max")))
		return list(err, levels, level)
	}
	operations["books.orders"] = func(d *driver, s step) []string {
		orders, err := thing[lapwing.Books](d, s.text("on")).Orders(bookKey(s), side(s),
			int(s.number("level")), nil)
		return list(err, orders, func(o lapwing.Order) string {
			return fmt.Sprintf("%d:%d", o.OrderID, o.Size)
		})
	}
	operations["books.destroy"] = destroy
}

func historyRead(d *driver, s step) []string {
	history := thing[lapwing.History](d, s.text("on"))
	rows := int(s.number("rows"))
	b := newBatch(rows*rowBytesMax, rows)
	b.Conflated = nil // a history has none
	if err := history.Read(s.number("first"), b); err != nil {
		return answer(err)
	}
	return []string{batchLine(b)}
}

func historyMap(d *driver, s step) []string {
	view, err := thing[lapwing.History](d, s.text("on")).UnsafeMap(s.number("first"), s.number("last"))
	if err != nil {
		return answer(err)
	}
	d.keep(s.text("as"), view)
	rows := noBytes
	for i := range view.Count {
		rows.add(view.UnsafeRow(i))
	}
	return ok(pair("first", view.First), pair("count", view.Count), pair("row_bytes", view.RowBytes),
		pair("digest", rows))
}

func booksTake(d *driver, s step) []string {
	ctx, cancel := s.context()
	defer cancel()
	books := thing[lapwing.Books](d, s.text("on"))
	b := newBatch(takeTwiceRows*rowBytesMax, takeTwiceRows)
	if err := thing[lapwing.Subscriber](d, s.text("from")).Read(ctx, b); err != nil {
		return answer(err)
	}
	_ = books.Take(b) // the second one is what is shown
	return answer(books.Take(b))
}

func bookKey(s step) lapwing.BookKey {
	return lapwing.BookKey{
		PublisherID: uint16(s.number("publisher")), InstrumentID: uint32(s.number("instrument")),
	}
}

func side(s step) lapwing.Side { return lapwing.Side((s.text("side") + "-")[0]) }

func level(l lapwing.Level) string { return fmt.Sprintf("%d:%d:%d", l.Price, l.Size, l.Orders) }

func list[T any](err error, elements []T, show func(T) string) []string {
	if len(elements) == 0 {
		return answer(err)
	}
	shown := make([]string, len(elements))
	for i, element := range elements {
		shown[i] = show(element)
	}
	return answer(err, strings.Join(shown, ","))
}
