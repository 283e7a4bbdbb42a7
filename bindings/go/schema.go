package lapwing

// #include "calls.h"
import "C"

import (
	"math"
	"unsafe"
)

// FieldType is the type of a field. Numbers are little-endian.
type FieldType uint32

const (
	TypeInt8    FieldType = C.LAPWING_TYPE_INT8
	TypeInt16   FieldType = C.LAPWING_TYPE_INT16
	TypeInt32   FieldType = C.LAPWING_TYPE_INT32
	TypeInt64   FieldType = C.LAPWING_TYPE_INT64
	TypeUint8   FieldType = C.LAPWING_TYPE_UINT8
	TypeUint16  FieldType = C.LAPWING_TYPE_UINT16
	TypeUint32  FieldType = C.LAPWING_TYPE_UINT32
	TypeUint64  FieldType = C.LAPWING_TYPE_UINT64
	TypeFloat32 FieldType = C.LAPWING_TYPE_FLOAT32
	TypeFloat64 FieldType = C.LAPWING_TYPE_FLOAT64
	TypeChar    FieldType = C.LAPWING_TYPE_CHAR  // one letter
	TypeText    FieldType = C.LAPWING_TYPE_TEXT  // letters, up to the first zero or the end
	TypeBytes   FieldType = C.LAPWING_TYPE_BYTES // bytes
)

var (
	unitNames = []string{UnitPrice: "price", UnitUTCNs: "utc_ns", UnitFlags: "flags"}
	roleNames = []string{RoleTime: "time", RoleKey: "key", RolePublishTime: "publish_time", RoleSpare: "spare"}
)

func (t FieldType) String() string { return nameOf(int(t), fieldTypes) }

var fieldTypes = []string{TypeInt8: "int8", TypeInt16: "int16", TypeInt32: "int32", TypeInt64: "int64", TypeUint8: "uint8",
	TypeUint16: "uint16", TypeUint32: "uint32", TypeUint64: "uint64", TypeFloat32: "float32", TypeFloat64: "float64",
	TypeChar: "char", TypeText: "text", TypeBytes: "bytes"}

// FieldUnit is the unit of a field's number.
type FieldUnit uint32

const (
	UnitPlain FieldUnit = C.LAPWING_UNIT_PLAIN
	UnitPrice FieldUnit = C.LAPWING_UNIT_PRICE  // int64, 1e-9 of a currency or point; NoPrice: none
	UnitUTCNs FieldUnit = C.LAPWING_UNIT_UTC_NS // uint64, ns since 1970; NoTime: none
	UnitFlags FieldUnit = C.LAPWING_UNIT_FLAGS  // unsigned, a sum of named bits
)

// FieldRole is the role of a field in its record.
type FieldRole uint32

const (
	RoleData        FieldRole = C.LAPWING_ROLE_DATA
	RoleTime        FieldRole = C.LAPWING_ROLE_TIME         // of the record, UTC ns
	RoleKey         FieldRole = C.LAPWING_ROLE_KEY          // the subject of the record; there may be several
	RolePublishTime FieldRole = C.LAPWING_ROLE_PUBLISH_TIME // UTC ns
	RoleSpare       FieldRole = C.LAPWING_ROLE_SPARE        // bytes without a meaning yet
)

const (
	NoPrice int64  = math.MaxInt64  // no price
	NoTime  uint64 = math.MaxUint64 // no time
)

// Field is a part of a record.
type Field struct {
	Name   string
	Offset int // bytes from the beginning of the record
	Bytes  int
	Type   FieldType
	Unit   FieldUnit
	Role   FieldRole
}

// Schema describes the fields of a record. SchemaOfBus, SchemaNamed and Describe return complete schemas.
// Options use only the Text of a Schema, so &Schema{Text: text} is enough for a text from a file.
type Schema struct {
	Name        string
	Version     int
	RecordBytes int
	Hash        uint64  // computed by the library; 0 if Describe created the Schema
	Fields      []Field // in the order of their offsets
	Text        string  // the whole schema in JSON
}

// text returns an option's text for C: NULL for nil.
func (s *Schema) text(a *arena) *C.char {
	if s == nil {
		return nil
	}
	if s.Text == "" {
		a.err = invalid("the schema %q cannot be used: its Text is empty. Call Describe, SchemaOfBus or SchemaNamed", s.Name)
	}
	return a.text(s.Text)
}

// SchemaOfBus returns the schema of the records on the bus in that directory. ErrNotFound: the bus has no
// schema.
func SchemaOfBus(directory string) (*Schema, error) { return readSchema(directory, "") }

// SchemaNamed returns the newest version of a schema that Lapwing ships ("dbn.mbo", "kv16" …), or "orders", the
// entries of that fold.
func SchemaNamed(name string) (*Schema, error) { return readSchema("", name) }

func readSchema(directory, name string) (*Schema, error) {
	if err := load(); err != nil {
		return nil, err
	}
	var a arena
	defer a.free()
	d, n := a.text(directory), a.text(name)
	if a.err != nil {
		return nil, a.err
	}
	return fillSchema(func(schema *C.lapwing_schema, fields *C.lapwing_field, fieldsMax C.size_t,
		text *C.char, textBytesMax C.size_t, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_schema_fields(d, n, schema, fields, fieldsMax, text, textBytesMax, e)
	})
}

// fillSchema calls read with enough memory for the fields and the text of a schema.
func fillSchema(read func(*C.lapwing_schema, *C.lapwing_field, C.size_t, *C.char, C.size_t,
	*C.lapwing_error) C.lapwing_result) (*Schema, error) {
	schema := C.lapwing_schema{struct_size: C.uint32_t(C.sizeof_lapwing_schema)}
	var fields []C.lapwing_field
	var text []C.char
	for {
		e := noError()
		result := read(&schema, unsafe.SliceData(fields), C.size_t(len(fields)), unsafe.SliceData(text),
			C.size_t(len(text)), &e)
		isWhole := len(fields) == int(schema.field_count) && len(text) == int(schema.text_bytes)
		if Code(result) != ErrTooSmall && (result != C.LAPWING_OK || isWhole) {
			if err := failure(result, &e); err != nil {
				return nil, err
			}
			return goSchema(&schema, fields, text), nil
		}
		// The first call returns the sizes. Another publisher may change them before the second call.
		fields = make([]C.lapwing_field, schema.field_count)
		text = make([]C.char, schema.text_bytes)
	}
}

func goSchema(schema *C.lapwing_schema, fields []C.lapwing_field, text []C.char) *Schema {
	made := &Schema{
		Name:        goText(schema.name[:]),
		Version:     int(schema.version),
		RecordBytes: int(schema.record_bytes),
		Hash:        uint64(schema.hash),
		Fields:      make([]Field, len(fields)),
		Text:        goText(text),
	}
	for i := range fields {
		f := &fields[i]
		made.Fields[i] = Field{goText(f.name[:]), int(f.offset), int(f.bytes), FieldType(f._type),
			FieldUnit(f.unit), FieldRole(f.role)}
	}
	return made
}
