package lapwing

// #include "calls.h"
import "C"

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// SymbolMapping maps a symbol to an instrument between two dates.
type SymbolMapping struct {
	Symbol       string
	InstrumentID uint32
	StartDate    uint32 // UTC, YYYYMMDD
	EndDate      uint32 // exclusive
}

func goMapping(m *C.lapwing_symbol_mapping) SymbolMapping {
	return SymbolMapping{goText(m.symbol[:]), uint32(m.instrument_id), uint32(m.start_date), uint32(m.end_date)}
}

// Symbols maps the symbols of a feed to its instruments by date. If a time is outside all dates of a symbol or
// an instrument, the mapping with the latest start date applies. Symbols do not change, need no Close, and may
// be used by several goroutines at a time. The zero Symbols are empty.
type Symbols struct {
	mu sync.Mutex // a C handle takes one call at a time
	c  *C.lapwing_symbols
}

// SymbolsOfBus returns the symbols in the feed's DBN metadata, which the last publisher of the bus in that
// directory wrote. They are empty if the feed has no metadata. Errors: ErrNoBus, ErrBadInput, ErrDamaged.
func SymbolsOfBus(directory string) (*Symbols, error) {
	if err := load(); err != nil {
		return nil, err
	}
	var a arena
	defer a.free()
	at := a.text(directory)
	if a.err != nil {
		return nil, a.err
	}
	s := &Symbols{}
	e := noError()
	if err := failure(C.lapwing_symbols_open(at, &s.c, &e), &e); err != nil {
		return nil, err
	}
	runtime.AddCleanup(s, func(c *C.lapwing_symbols) { C.lapwing_symbols_destroy(&c) }, s.c)
	return s, nil
}

// Find returns the instrument of a symbol at a time, in UTC ns like the times in records. ok is false if the
// symbol is unknown.
func (s *Symbols) Find(symbol string, utcNs uint64) (instrumentID uint32, ok bool) {
	if strings.ContainsRune(symbol, 0) { // C would truncate it there
		return 0, false
	}
	name := C.CString(symbol)
	defer C.free(unsafe.Pointer(name))
	var found C.uint32_t
	ok = s.found(func(e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_symbols_find(s.c, name, C.uint64_t(utcNs), &found, e)
	})
	return uint32(found), ok
}

// Name returns the mapping of an instrument at a time, in UTC ns like the times in records. ok is false if the
// instrument is unknown.
func (s *Symbols) Name(instrumentID uint32, utcNs uint64) (mapping SymbolMapping, ok bool) {
	var found C.lapwing_symbol_mapping
	ok = s.found(func(e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_symbols_name(s.c, C.uint32_t(instrumentID), C.uint64_t(utcNs), &found, e)
	})
	return goMapping(&found), ok
}

// List returns all mappings, by symbol, then by date.
func (s *Symbols) List() []SymbolMapping {
	var count C.size_t
	var found []C.lapwing_symbol_mapping
	for {
		isWhole := s.found(func(e *C.lapwing_error) C.lapwing_result {
			return C.lapwing_symbols_list(s.c, unsafe.SliceData(found), C.size_t(len(found)), &count, e)
		})
		if isWhole || int(count) == len(found) {
			break
		}
		found = make([]C.lapwing_symbol_mapping, count)
	}
	mappings := make([]SymbolMapping, len(found))
	for i := range found {
		mappings[i] = goMapping(&found[i])
	}
	return mappings
}

// found performs a C call. It returns false for ErrNotFound and ErrTooSmall. The only other possible error is a
// lack of memory, which ends a Go program.
func (s *Symbols) found(f func(*C.lapwing_error) C.lapwing_result) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		return false
	}
	e := noError()
	switch err := failure(f(&e), &e); CodeOf(err) {
	case 0:
		return true
	case ErrNotFound, ErrTooSmall:
		return false
	default:
		panic(fmt.Sprintf("lapwing: reading symbols failed: %v", err))
	}
}
