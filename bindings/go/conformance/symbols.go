package main

import (
	"fmt"
	"strings"

	"lapwing.example/go/lapwing"
)

func init() {
	operations["symbols.open"] = func(d *driver, s step) []string {
		made, err := lapwing.SymbolsOfBus(s.text("directory"))
		return opened(d, s, made, err)
	}
	operations["symbols.find"] = ofSymbols(func(symbols *lapwing.Symbols, s step) []string {
		instrument, ok := symbols.Find(s.text("symbol"), s.number("utc_ns"))
		return found(ok, pair("instrument", instrument))
	})
	operations["symbols.name"] = ofSymbols(func(symbols *lapwing.Symbols, s step) []string {
		mapping, ok := symbols.Name(uint32(s.number("instrument")), s.number("utc_ns"))
		return found(ok, pair("mapping", mappingText(mapping)))
	})
	operations["symbols.list"] = ofSymbols(func(symbols *lapwing.Symbols, _ step) []string {
		var shown []string
		for _, mapping := range symbols.List() {
			shown = append(shown, mappingText(mapping))
		}
		return ok(pair("mappings", strings.Join(shown, ",")))
	})
	// The collector frees symbols, which are not closed. Their name is gone at once.
	operations["symbols.destroy"] = func(d *driver, s step) []string {
		if _, isOne := named[*lapwing.Symbols](d, s.text("on")); !isOne {
			return misuse()
		}
		d.forget(s.text("on"))
		return ok()
	}
}

func ofSymbols(read func(*lapwing.Symbols, step) []string) func(*driver, step) []string {
	return func(d *driver, s step) []string {
		symbols, isOne := named[*lapwing.Symbols](d, s.text("on"))
		if !isOne {
			return misuse()
		}
		return read(symbols, s)
	}
}

func found(isFound bool, pairs ...string) []string {
	if !isFound {
		return answer(lapwing.ErrNotFound)
	}
	return ok(pairs...)
}

func mappingText(m lapwing.SymbolMapping) string {
	return fmt.Sprintf("%s:%d:%d:%d", m.Symbol, m.InstrumentID, m.StartDate, m.EndDate)
}
