package lapwing

import (
	"encoding/json"
	"reflect"
)

// Describe is the description of a struct, in JSON, for PublisherOptions and SubscriberOptions. Its
// fields are numbers, bytes, arrays of them and structs. A field's tag says what it is besides its type:
//
//	type Quote struct {
//		TsRecv     uint64 `lapwing:",time"`
//		Instrument uint32 `lapwing:",key"`
//		Size       uint32
//		Price      int64 `lapwing:"px,price"`
//	}
//
// First comes the field's name, by default the Go name in snake case (ts_recv), then any of: time, key,
// publish_time, spare (what it is to the record), price, utc_ns, flags (its unit), char (of a byte: a
// letter), text (of an array of bytes). A field "_" is spare. The fields of a struct have its name in
// front ("bid_px"), unless it is embedded or its tag has inline; an array of numbers or structs is a
// field for each, with "_00", "_01" … behind.
func Describe(name string, version int, record any) (string, error) {
	t, err := structOf(record)
	if err != nil {
		return "", err
	}
	if !isPlain(t) {
		return "", notPlain(t)
	}
	d := description{Name: name, Version: version, RecordBytes: int(t.Size()), Fields: []describedField{}}
	end := 0
	for _, m := range members(nil, member{t: t}, "") {
		if m.offset != end {
			return "", invalid("%v has padding of %d bytes before %s; make it a field _", t, m.offset-end, m.name)
		}
		end += int(m.t.Size())
		f, err := m.describe()
		if err != nil {
			return "", err
		}
		d.Fields = append(d.Fields, f)
	}
	if end != d.RecordBytes {
		return "", invalid("%v has padding of %d bytes at its end; make it a field _", t, d.RecordBytes-end)
	}
	text, err := json.Marshal(d)
	return string(text), err
}

type description struct {
	Name        string           `json:"name"`
	Version     int              `json:"version"`
	RecordBytes int              `json:"record_bytes"`
	Fields      []describedField `json:"fields"`
}

type describedField struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Bytes  int    `json:"bytes,omitempty"`
	Offset int    `json:"offset"`
	Unit   string `json:"unit,omitempty"`
	Role   string `json:"role,omitempty"`
}

func (m member) describe() (describedField, error) {
	f := describedField{Name: m.name, Offset: m.offset, Type: m.t.Kind().String()}
	if m.t.Kind() == reflect.Array {
		f.Type, f.Bytes = "bytes", m.t.Len()
	}
	for _, option := range m.options {
		switch option {
		case "time", "publish_time":
			f.Role, f.Unit = option, "utc_ns"
		case "key", "spare":
			f.Role = option
		case "price", "utc_ns", "flags":
			f.Unit = option
		case "char", "text":
			f.Type = option
		case "inline":
		default:
			return f, invalid("the tag of %s has %q, which is no option; see Describe", m.name, option)
		}
	}
	return f, nil
}
