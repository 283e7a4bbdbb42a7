package lapwing

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unsafe"
)

// A record can be a Go struct of numbers, bytes and arrays of these, with the memory layout of the record.
// Schema.Check checks the layout.

// RecordOf copies the record or state entry of an item into a T. ErrRecordSize: its size differs from that of
// T, or the fields of T differ from the description of the bus (see PublishRows).
func RecordOf[T any](item Item) (record T, err error) {
	if err := checkRows[T](item.types); err != nil {
		return record, err
	}
	if item.Kind == BatchEvent {
		return record, invalid("an event is not a record; look at the item's Kind first")
	}
	return Record[T](item.Row)
}

// Record copies a row into a T. ErrRecordSize: the row's size differs from that of T. Record does not compare
// fields; RecordOf and Rows do.
func Record[T any](row []byte) (record T, err error) {
	if err := plain[T](); err != nil {
		return record, err
	}
	if uintptr(len(row)) != unsafe.Sizeof(record) {
		return record, recordSize[T](len(row))
	}
	copy(BytesOf(&record), row)
	return record, nil
}

// Rows returns the rows of a batch as Ts, in place. They are valid until the next read into the batch.
// ErrRecordSize: their size differs from that of T, or the fields of T differ from the description of the bus
// (see PublishRows).
func Rows[T any](b *Batch) ([]T, error) {
	if err := checkRows[T](b.types); err != nil {
		return nil, err
	}
	var record T
	if b.Count == 0 {
		return nil, nil
	}
	if uintptr(b.RowBytes) != unsafe.Sizeof(record) {
		return nil, recordSize[T](b.RowBytes)
	}
	rows := b.Rows() // within the memory, even if the program has replaced it
	first := unsafe.Pointer(unsafe.SliceData(rows))
	if uintptr(first)%unsafe.Alignof(record) != 0 {
		return nil, invalid("the batch's memory is not aligned for %T; NewBatch aligns it", record)
	}
	return unsafe.Slice((*T)(first), len(rows)/b.RowBytes), nil
}

// BytesOf returns the memory of a record, for Publish. T must not contain pointers.
func BytesOf[T any](record *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(record)), unsafe.Sizeof(*record))
}

func recordSize[T any](rowBytes int) error {
	t := reflect.TypeFor[T]()
	return &Error{Code: ErrRecordSize, Message: fmt.Sprintf(
		"rows have %d bytes, and a %v has %d; use the struct that Schema.Check accepts", rowBytes, t, t.Size())}
}

// Check compares a struct with the schema. The struct must have every field except those of RoleSpare,
// at the same offset, of the same type and with the same name (see Describe). The error is
// ErrRecordSize and names the first field that differs.
func (s *Schema) Check(record any) error {
	t, err := structOf(record)
	if err != nil {
		return err
	}
	return s.compare(t, true)
}

// compare implements Check. A struct that is only read may have spare bytes instead of a field, because a later
// version of the record may use bytes that were spare.
func (s *Schema) compare(t reflect.Type, publishes bool) error {
	differs := func(format string, values ...any) error {
		return &Error{Code: ErrRecordSize, Message: fmt.Sprintf("%v is not %s: ", t, s.Name) +
			fmt.Sprintf(format, values...)}
	}
	if int(t.Size()) != s.RecordBytes {
		return differs("it has %d bytes, and the record has %d", t.Size(), s.RecordBytes)
	}
	if t.Kind() != reflect.Struct {
		return differs("it has no field names; use a struct")
	}
	found := map[int]member{}
	var spare []member
	for _, m := range members(nil, member{t: t}, "") {
		if slices.Contains(m.options, "spare") {
			spare = append(spare, m)
		}
		found[m.offset] = m
	}
	for _, field := range s.Fields {
		m, ok := found[field.Offset]
		delete(found, field.Offset)
		switch {
		case field.Role == RoleSpare:
		case !publishes && isWithin(spare, field):
		case !ok:
			return differs("it has no field at offset %d, where %s is", field.Offset, field.Name)
		case m.name != field.Name:
			return differs("at offset %d it has %s, where %s is", field.Offset, m.name, field.Name)
		case !field.fits(m.t):
			return differs("its %s is of type %v, and the record's is %v of %d bytes", m.name, m.t,
				field.Type, field.Bytes)
		}
	}
	for _, m := range found {
		if !slices.Contains(m.options, "spare") && !s.isSpare(m) {
			return differs("its %s at offset %d is not a field of the record", m.name, m.offset)
		}
	}
	return nil
}

func structOf(record any) (reflect.Type, error) {
	t := reflect.TypeOf(record)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil, invalid("a record must be a struct, but %T is not one", record)
	}
	return t, nil
}

// member is a field of a struct, after nested structs have been flattened.
type member struct {
	name    string
	offset  int
	t       reflect.Type
	options []string // of its tag
}

func members(list []member, m member, suffix string) []member {
	switch {
	case m.t.Kind() == reflect.Struct:
		for i := range m.t.NumField() {
			f := m.t.Field(i)
			part := strings.Split(f.Tag.Get("lapwing"), ",")
			inner := member{m.name, m.offset + int(f.Offset), f.Type, part[1:]}
			if !f.Anonymous && !slices.Contains(inner.options, "inline") {
				inner.name = strings.TrimPrefix(m.name+"_"+cmp.Or(part[0], snakeCase(f.Name)), "_")
			}
			if f.Name == "_" {
				inner.name = fmt.Sprintf("spare_%d", inner.offset)
				inner.options = append(inner.options, "spare")
			}
			list = members(list, inner, suffix)
		}
	case m.t.Kind() == reflect.Array && m.t.Elem().Kind() != reflect.Uint8:
		for i := range m.t.Len() {
			inner := member{m.name, m.offset + i*int(m.t.Elem().Size()), m.t.Elem(), m.options}
			list = members(list, inner, fmt.Sprintf("%s_%02d", suffix, i))
		}
	default:
		m.name += suffix
		list = append(list, m)
	}
	return list
}

// snakeCase returns "ts_recv" for TsRecv, and "instrument_id" for InstrumentID.
func snakeCase(name string) string {
	var made strings.Builder
	letters := []rune(name)
	for i, letter := range letters {
		isStart := i > 0 && unicode.IsUpper(letter) && (!unicode.IsUpper(letters[i-1]) ||
			i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if isStart {
			made.WriteByte('_')
		}
		made.WriteRune(unicode.ToLower(letter))
	}
	return made.String()
}

var fieldKinds = map[FieldType]reflect.Kind{TypeInt8: reflect.Int8, TypeInt16: reflect.Int16,
	TypeInt32: reflect.Int32, TypeInt64: reflect.Int64, TypeUint8: reflect.Uint8, TypeUint16: reflect.Uint16,
	TypeUint32: reflect.Uint32, TypeUint64: reflect.Uint64, TypeFloat32: reflect.Float32,
	TypeFloat64: reflect.Float64, TypeChar: reflect.Uint8}

func (f Field) fits(t reflect.Type) bool {
	if kind, ok := fieldKinds[f.Type]; ok {
		return t.Kind() == kind
	}
	return t.Kind() == reflect.Array && t.Elem().Kind() == reflect.Uint8 && t.Len() == f.Bytes
}

// isWithin reports whether one of the members covers the field.
func isWithin(members []member, f Field) bool {
	return slices.ContainsFunc(members, func(m member) bool {
		return m.offset <= f.Offset && f.Offset+f.Bytes <= m.offset+int(m.t.Size())
	})
}

func (s *Schema) isSpare(m member) bool {
	for _, f := range s.Fields {
		if f.Role == RoleSpare && f.Offset <= m.offset && m.offset+int(m.t.Size()) <= f.Offset+f.Bytes {
			return true
		}
	}
	return false
}

var plainTypes sync.Map // reflect.Type to bool

// plain returns an error for a type that contains pointers. Pointers are not valid in other processes, and
// bytes from other processes are not valid pointers.
func plain[T any]() error {
	t := reflect.TypeFor[T]()
	known, ok := plainTypes.Load(t)
	if !ok {
		known = isPlain(t)
		plainTypes.Store(t, known)
	}
	if known == false {
		return notPlain(t)
	}
	return nil
}

func notPlain(t reflect.Type) error {
	return invalid("%v holds more than numbers of a fixed size, bytes, and arrays and structs of them", t)
}

func isPlain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if !isPlain(t.Field(i).Type) {
				return false
			}
		}
		return true
	case reflect.Array:
		return isPlain(t.Elem())
	}
	for _, kind := range fieldKinds { // no bool: a byte from another process may be neither true nor false
		if t.Kind() == kind {
			return true
		}
	}
	return false
}
