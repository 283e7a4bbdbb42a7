package main

import (
	"fmt"
	"strings"

	"lapwing.example/go/lapwing"
)

func init() {
	operations["library.version"] = func(*driver, step) []string {
		_, major, minor, err := lapwing.LibraryVersion()
		return answer(err, fmt.Sprintf("abi=%d.%d", major, minor))
	}
	operations["library.errors"] = func(*driver, step) []string {
		names := make([]string, 37)
		for i := range names {
			names[i] = fmt.Sprintf("%d=%s", i, resultName(lapwing.Code(i)))
		}
		return ok(strings.Join(names, ","))
	}
	operations["library.schema"] = librarySchema
	operations["publisher.open"] = publisherOpen
	operations["publisher.publish"] = publisherPublish
	operations["publisher.flush"] = func(d *driver, s step) []string {
		ctx, cancel := s.context()
		defer cancel()
		durable, err := thing[lapwing.Publisher](d, s.text("on")).Flush(ctx)
		return answer(err, pair("durable", durable))
	}
	operations["publisher.inspect"] = func(d *driver, s step) []string {
		info, err := thing[lapwing.Publisher](d, s.text("on")).Inspect()
		return answer(err, pair("record_bytes", info.RecordBytes), pair("first", info.First),
			pair("head", info.Head), pair("settled", info.Settled), pair("journal", info.JournalState),
			pair("source_offset", info.SourceOffset),
			fmt.Sprintf("void=%d-%d", info.VoidFirst, info.VoidLast))
	}
	operations["publisher.close"] = func(d *driver, s step) []string {
		ctx, cancel := s.context()
		defer cancel()
		return answer(thing[lapwing.Publisher](d, s.text("on")).Shutdown(ctx))
	}
	operations["publisher.interrupt"] = interrupt
	operations["publisher.destroy"] = destroy
}

func librarySchema(_ *driver, s step) []string {
	var schema *lapwing.Schema
	var err error
	if s.has("directory") {
		schema, err = lapwing.SchemaOfBus(s.text("directory"))
	} else {
		schema, err = lapwing.SchemaNamed(s.text("name"))
	}
	if err != nil {
		return answer(err)
	}
	fields := make([]string, len(schema.Fields))
	for i, f := range schema.Fields {
		fields[i] = fmt.Sprintf("%s:%d:%d:%d:%d:%d", f.Name, uint32(f.Type), f.Offset, f.Bytes,
			uint32(f.Unit), uint32(f.Role))
	}
	return ok(pair("name", schema.Name), pair("version", schema.Version),
		pair("record_bytes", schema.RecordBytes), pair("fields", strings.Join(fields, ",")))
}

func publisherOpen(d *driver, s step) []string {
	ctx, cancel := s.context()
	defer cancel()
	made, err := lapwing.OpenPublisher(ctx, lapwing.PublisherOptions{
		Directory:    s.text("directory"),
		SchemaName:   s.text("schema_name"),
		Schema:       s.schema("schema"),
		RecordBytes:  int(s.number("record_bytes")),
		Capacity:     s.number("capacity"),
		SegmentBytes: s.number("segment_bytes"),
		RetainBytes:  s.number("retain_bytes"),
		NoJournal:    s.is("no_journal"),
		Resume:       s.is("resume"),
		SourceID:     s.number("source_id"),
	})
	return opened(d, s, made, err)
}

func publisherPublish(d *driver, s step) []string {
	ctx, cancel := s.context()
	defer cancel()
	publisher := thing[lapwing.Publisher](d, s.text("on"))
	bytes := publisher.RecordBytes()
	if s.has("bytes") {
		bytes = int(s.number("bytes"))
	}
	var records []byte
	from, count := s.number("from"), s.number("count")
	for n := from; n < from+count; n++ {
		records = append(records, row(n, bytes)...)
	}
	last, err := publisher.PublishBatch(ctx, records, bytes)
	return []string{result(err) + " " + pair("last", last)}
}
