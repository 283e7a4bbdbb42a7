package main

import (
	"time"

	"lapwing.example/go/lapwing"
)

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
	operations["books.inspect"] = func(d *driver, s step) []string {
		info, err := thing[lapwing.Books](d, s.text("on")).Inspect()
		return answer(err, pair("sequence", info.Sequence), pair("books", info.Books),
			pair("orders", info.Orders), pair("settled", info.IsSettled), pair("loading", info.IsLoading),
			pair("digest", digest(info.Digest)))
	}
	operations["books.destroy"] = destroy
}

func historyRead(d *driver, s step) []string {
	history := thing[lapwing.History](d, s.text("on"))
	rows := int(s.number("rows"))
	b := newBatch(rows*rowBytesMax, rows)
	b.Conflated = nil // a history does not fill this column
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
