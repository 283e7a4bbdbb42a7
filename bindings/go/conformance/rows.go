package main

import (
	"encoding/binary"
	"fmt"
	"strings"

	"lapwing.example/go/lapwing"
)

// row returns record n with that many bytes, or the bytes of message n.
func row(n uint64, bytes int) []byte {
	record := make([]byte, max(bytes, 8))
	binary.LittleEndian.PutUint64(record, n)
	for k := 8; k < bytes; k++ {
		record[k] = byte(n + uint64(k))
	}
	return record[:bytes]
}

// digest is a 64-bit FNV-1a hash over all bytes that were added.
type digest uint64

const noBytes digest = 0xcbf29ce484222325

func (d *digest) add(bytes []byte) {
	for _, b := range bytes {
		*d = (*d ^ digest(b)) * 0x100000001b3
	}
}

func (d digest) String() string { return fmt.Sprintf("%016x", uint64(d)) }

func digestOf(bytes []byte) digest {
	d := noBytes
	d.add(bytes)
	return d
}

// group is rows of one kind, from one or several batches, that are shown on one line.
type group struct {
	kind        lapwing.BatchKind
	first, last uint64
	count       int
	rowBytes    int
	digest      digest
	conflated   uint64
	isSparse    bool // with instruments or conflation: the line contains the sum of `conflated`
}

func (g *group) add(b *lapwing.Batch) {
	if g.count == 0 {
		g.kind, g.rowBytes, g.isSparse = b.Kind, b.RowBytes, b.IsSparse
		g.first, g.digest = b.Sequence(0), noBytes
	}
	g.count += b.Count
	g.digest.add(b.Rows())
	if b.Kind != lapwing.BatchRecords {
		return
	}
	g.last = b.Sequence(b.Count - 1)
	if b.Conflated != nil {
		for _, n := range b.Conflated[:b.Count] {
			g.conflated += n
		}
	}
}

// line returns the line of the group, and clears the group.
func (g *group) line() string {
	pairs := []string{"ok", "state"}
	if g.kind == lapwing.BatchRecords {
		pairs = []string{"ok", "records", pair("first", g.first), pair("last", g.last)}
	}
	pairs = append(pairs, pair("count", g.count), pair("row_bytes", g.rowBytes), pair("digest", g.digest))
	if g.kind == lapwing.BatchRecords && g.isSparse {
		pairs = append(pairs, pair("conflated", g.conflated))
	}
	*g = group{}
	return strings.Join(pairs, " ")
}

func eventLine(e *lapwing.Event) string {
	pairs := []string{"ok", "event", pair("kind", e.Kind), pair("sequence", e.Sequence)}
	switch e.Kind {
	case lapwing.EventGap, lapwing.EventLost:
		pairs = append(pairs, pair("first", e.First), pair("last", e.Last), pair("cause", e.Cause),
			pair("fillable", e.Fillable))
	case lapwing.EventSession, lapwing.EventReset:
		pairs = append(pairs, pair("record_bytes", e.RecordBytes), pair("schema", e.SchemaName))
	case lapwing.EventSnapshotComplete:
		pairs = append(pairs, pair("entries", e.StateEntries))
	}
	return strings.Join(pairs, " ")
}

// batchLine returns the line of one batch.
func batchLine(b *lapwing.Batch) string {
	if event := b.Event(); event != nil {
		return eventLine(event)
	}
	var g group
	g.add(b)
	return g.line()
}
