package lapwing

import (
	"path/filepath"
	"reflect"
	"sync"
)

// rowTypes compares types with the records of one bus, each type once. If it is nil, the records are unknown,
// and every type of their size fits.
type rowTypes struct {
	load      func() (*Schema, error)
	publishes bool

	fitting sync.Map // reflect.Type
	mu      sync.Mutex
	loaded  bool
	schema  *Schema // nil: the bus has none
}

// busTypes returns the rowTypes for the records of the bus that is currently in that directory.
func busTypes(directory string, publishes bool) *rowTypes {
	if absolute, err := filepath.Abs(directory); err == nil {
		directory = absolute
	}
	return &rowTypes{publishes: publishes, load: func() (*Schema, error) {
		found, err := SchemaOfBus(directory)
		if CodeOf(err) == ErrNotFound {
			return nil, nil // the bus has no schema
		}
		return found, err
	}}
}

// knownTypes returns the rowTypes for the records of a session whose schema was read.
func knownTypes(schema *Schema, err error) *rowTypes {
	return &rowTypes{load: func() (*Schema, error) { return schema, err }}
}

// entryTypes returns the rowTypes for the entries of a fold.
func entryTypes(fold string) *rowTypes {
	return &rowTypes{load: func() (*Schema, error) { return SchemaNamed(fold) }}
}

// checkRows returns an error for types that contain pointers, and types whose fields differ from the rows'. A
// type of a different size passes; the caller checks the size.
func checkRows[T any](r *rowTypes) error {
	t := reflect.TypeFor[T]()
	if r != nil {
		if _, fits := r.fitting.Load(t); fits {
			return nil
		}
	}
	if err := plain[T](); err != nil || r == nil {
		return err
	}
	return r.check(t)
}

func (r *rowTypes) check(t reflect.Type) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.loaded {
		schema, err := r.load()
		if err != nil {
			return err
		}
		r.loaded, r.schema = true, schema
	}
	if r.schema != nil && !isBytes(t) {
		if int(t.Size()) != r.schema.RecordBytes {
			return nil
		}
		if err := r.schema.compare(t, r.publishes); err != nil {
			return err
		}
	}
	r.fitting.Store(t, nil)
	return nil
}

// isBytes reports whether rows are plain bytes, which the program interprets itself.
func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Array && t.Elem().Kind() == reflect.Uint8
}
