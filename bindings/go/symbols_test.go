package lapwing_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"lapwing.example/go/lapwing"
)

// dbnMetadata encodes mappings as the metadata of a DBN feed.
func dbnMetadata(mappings []lapwing.SymbolMapping) []byte {
	const symbolBytes = 71
	order := binary.LittleEndian
	text := func(to []byte, text string, bytes int) []byte {
		return append(append(to, text...), make([]byte, bytes-len(text))...)
	}
	made := text(nil, "XTST.BOOK", 16)
	made = text(made, "", 2+3*8) // schema mbo; no times and no limit
	made = append(made, 1, 0, 0) // raw symbols in, instrument ids out, no send time
	made = order.AppendUint16(made, symbolBytes)
	made = text(made, "", 53+4*4) // reserved bytes; no schema definition and three empty lists
	made = order.AppendUint32(made, uint32(len(mappings)))
	for _, m := range mappings {
		made = text(made, m.Symbol, symbolBytes)
		for _, number := range []uint32{1, m.StartDate, m.EndDate} { // one interval
			made = order.AppendUint32(made, number)
		}
		made = text(made, strconv.Itoa(int(m.InstrumentID)), symbolBytes)
	}
	return append(order.AppendUint32([]byte("DBN\x02"), uint32(len(made))), made...)
}

// rolled are the mappings of a symbol that refers to another instrument after a certain day, and of two other
// symbols.
var rolled = []lapwing.SymbolMapping{
	{Symbol: "AIG", InstrumentID: 1, StartDate: 20240101, EndDate: 20250101},
	{Symbol: "ES.c.0", InstrumentID: 17077, StartDate: 20240101, EndDate: 20240315},
	{Symbol: "ES.c.0", InstrumentID: 5602, StartDate: 20240315, EndDate: 20240621},
	{Symbol: "IBM", InstrumentID: 3, StartDate: 20240101, EndDate: 20250101},
}

func utcNs(year int, month time.Month, day int) uint64 {
	return uint64(time.Date(year, month, day, 12, 0, 0, 0, time.UTC).UnixNano())
}

func busSymbols(t *testing.T, metadata []byte) *lapwing.Symbols {
	t.Helper()
	directory := t.TempDir()
	p, err := lapwing.OpenPublisher(within(t), lapwing.PublisherOptions{
		Directory: directory, Capacity: 4096, Metadata: metadata})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(p) })
	symbols, err := lapwing.SymbolsOfBus(directory)
	if err != nil {
		t.Fatal(err)
	}
	return symbols
}

func TestASymbolIsFoundByDate(t *testing.T) {
	symbols := busSymbols(t, dbnMetadata(rolled))
	for _, test := range []struct {
		symbol string
		at     uint64
		id     uint32
		ok     bool
	}{
		{"IBM", utcNs(2024, 5, 1), 3, true},
		{"ES.c.0", utcNs(2024, 3, 14), 17077, true},
		{"ES.c.0", utcNs(2024, 3, 15), 5602, true},
		{"ES.c.0", utcNs(2030, 1, 1), 5602, true}, // outside all dates: the mapping with the latest start
		{"ES", utcNs(2024, 3, 15), 0, false},
		{"IBM\x00", utcNs(2024, 5, 1), 0, false},
		{"", utcNs(2024, 5, 1), 0, false},
	} {
		if id, ok := symbols.Find(test.symbol, test.at); id != test.id || ok != test.ok {
			t.Errorf("%q is %d, %v; wanted: %d, %v", test.symbol, id, ok, test.id, test.ok)
		}
	}
}

func TestAnInstrumentIsNamedByDate(t *testing.T) {
	symbols := busSymbols(t, dbnMetadata(rolled))
	if mapping, ok := symbols.Name(5602, utcNs(2024, 4, 1)); !ok || mapping != rolled[2] {
		t.Fatal(mapping, ok)
	}
	if mapping, ok := symbols.Name(77, utcNs(2024, 4, 1)); ok || mapping != (lapwing.SymbolMapping{}) {
		t.Fatal(mapping, ok)
	}
	if all := symbols.List(); !slices.Equal(all, rolled) {
		t.Fatal(all)
	}
}

func TestSymbolsOfAFeedWithoutMetadataAreEmpty(t *testing.T) {
	for _, symbols := range []*lapwing.Symbols{busSymbols(t, nil), {}} {
		_, isFound := symbols.Find("IBM", 0)
		_, isNamed := symbols.Name(3, 0)
		if isFound || isNamed || len(symbols.List()) != 0 {
			t.Fatal(isFound, isNamed, symbols.List())
		}
	}
}

func TestSymbolsAreReadBySeveralGoroutines(t *testing.T) {
	const count = 2000 // enough for calls of List to overlap
	var many []lapwing.SymbolMapping
	for id := range uint32(count) {
		many = append(many, lapwing.SymbolMapping{
			Symbol: fmt.Sprintf("S%04d", id), InstrumentID: id, StartDate: 20240101, EndDate: 20250101})
	}
	symbols := busSymbols(t, dbnMetadata(many))
	var all sync.WaitGroup
	for range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			for range 20 {
				id, ok := symbols.Find("S1999", utcNs(2024, 5, 1))
				if listed := symbols.List(); !ok || id != 1999 || !slices.Equal(listed, many) {
					t.Error(id, ok, len(listed))
					return
				}
			}
		}()
	}
	all.Wait()
}

func TestSymbolsOfMetadataThatIsNotDBNAreRefused(t *testing.T) {
	directory := t.TempDir()
	p, err := lapwing.OpenPublisher(within(t), lapwing.PublisherOptions{
		Directory: directory, Capacity: 4096, Metadata: []byte("not DBN")})
	if err != nil {
		t.Fatal(err)
	}
	defer end(p)
	_, err = lapwing.SymbolsOfBus(directory)
	wantCode(t, err, lapwing.ErrBadInput)
}
