package lapwing

import (
	"encoding/json"
	"reflect"
	"slices"
)

// Describe returns the schema of a struct, for PublisherOptions and SubscriberOptions. The fields of the struct
// are numbers, bytes, structs, and arrays of these. Tags add information that the Go type lacks:
//
//	type Quote struct {
//		TsRecv     uint64 `lapwing:",time"`
//		Instrument uint32 `lapwing:",key"`
//		Size       uint32
//		Price      int64 `lapwing:"px,price"`
//	}
//
// A tag begins with the field's name, by default the Go name in snake case (ts_recv). Any of these options may
// follow: the roles time, key, publish_time and spare, and the units price, utc_ns and flags. char turns a byte
// into a letter, and text turns an array of bytes into a text. A field "_" is spare. The fields of a nested
// struct get its name as a prefix ("bid_px"), unless it is embedded or its tag has inline. An array of numbers
// or structs becomes a field for each element, with the suffix "_00", "_01" and so on.
func Describe(name string, version int, record any) (*Schema, error) {
	t, err := structOf(record)
	if err != nil {
		return nil, err
	}
	if !isPlain(t) {
		return nil, notPlain(t)
	}
	s := &Schema{Name: name, Version: version, RecordBytes: int(t.Size())}
	end := 0
	for _, m := range members(nil, member{t: t}, "") {
		if m.offset != end {
			return nil, invalid("%v has padding of %d bytes before %s; make it a field _", t, m.offset-end, m.name)
		}
		end += int(m.t.Size())
		f, err := m.describe()
		if err != nil {
			return nil, err
		}
		s.Fields = append(s.Fields, f)
	}
	if end != s.RecordBytes {
		return nil, invalid("%v has padding of %d bytes at its end; make it a field _", t, s.RecordBytes-end)
	}
	s.Text, err = s.json()
	return s, err
}

type schemaText struct {
	Name        string      `json:"name"`
	Version     int         `json:"version"`
	RecordBytes int         `json:"record_bytes"`
	Fields      []fieldText `json:"fields"`
}

type fieldText struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Bytes  int    `json:"bytes,omitempty"`
	Offset int    `json:"offset"`
	Unit   string `json:"unit,omitempty"`
	Role   string `json:"role,omitempty"`
}

func (s *Schema) json() (string, error) {
	text := schemaText{s.Name, s.Version, s.RecordBytes, make([]fieldText, len(s.Fields))}
	for i, f := range s.Fields {
		text.Fields[i] = fieldText{Name: f.Name, Type: f.Type.String(), Offset: f.Offset,
			Unit: unitNames[f.Unit], Role: roleNames[f.Role]}
		if f.Type == TypeText || f.Type == TypeBytes {
			text.Fields[i].Bytes = f.Bytes
		}
	}
	made, err := json.Marshal(text)
	return string(made), err
}

func (m member) describe() (Field, error) {
	f := Field{Name: m.name, Offset: m.offset, Bytes: int(m.t.Size()), Type: TypeBytes}
	if m.t.Kind() != reflect.Array {
		f.Type = FieldType(slices.Index(fieldTypes, m.t.Kind().String()))
	}
	for _, option := range m.options {
		unit, role := slices.Index(unitNames, option), slices.Index(roleNames, option)
		switch {
		case option == "time" || option == "publish_time":
			f.Role, f.Unit = FieldRole(role), UnitUTCNs
		case role > 0:
			f.Role = FieldRole(role)
		case unit > 0:
			f.Unit = FieldUnit(unit)
		case option == "char" || option == "text":
			f.Type = FieldType(slices.Index(fieldTypes, option))
		case option != "inline":
			return f, invalid("the tag of %s has %q, which is not an option; see Describe", m.name, option)
		}
	}
	return f, nil
}
