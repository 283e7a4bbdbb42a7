package lapwing

/*
#cgo CFLAGS: -std=gnu11 -I${SRCDIR}/../../include
#cgo LDFLAGS: -ldl
#include "calls.h"
*/
import "C"

import (
	"os"
	"sync"
	"unsafe"
)

// libraryPath is the path that was passed to the linker, if any; see the package documentation.
var libraryPath string

const systemLibrary = "liblapwing.so.1"

// load loads the library once. Every function that opens a handle, or needs none, calls it first.
var load = sync.OnceValue(func() error {
	path := os.Getenv("LAPWING_LIBRARY")
	if path == "" {
		path = libraryPath
	}
	if path == "" {
		path = systemLibrary
	}
	var a arena
	defer a.free()
	e := noError()
	return failure(C.lw_load(a.text(path), &e), &e)
})

// LibraryVersion returns the release of the library, and its ABI. A library of another major version, or
// of a smaller minor version than the one this package was compiled with, is not loaded.
func LibraryVersion() (release string, major, minor int, err error) {
	if err := load(); err != nil {
		return "", 0, 0, err
	}
	var abi C.uint32_t
	release = C.GoString(C.lapwing_version(&abi))
	return release, int(abi >> 16), int(abi & 0xffff), nil
}

// arena holds memory that C reads during a call, and frees it afterwards.
type arena struct {
	blocks []unsafe.Pointer
	err    error
}

func (a *arena) keep(block unsafe.Pointer) unsafe.Pointer {
	a.blocks = append(a.blocks, block)
	return block
}

// text returns NULL for "". A string with a zero byte, which C would truncate, sets a.err.
func (a *arena) text(s string) *C.char {
	if s == "" {
		return nil
	}
	for i := range len(s) {
		if s[i] == 0 {
			a.err = invalid("%q has a zero byte, where C's strings end", s)
		}
	}
	return (*C.char)(a.keep(unsafe.Pointer(C.CString(s))))
}

func (a *arena) texts(list []string) **C.char {
	if len(list) == 0 {
		return nil
	}
	block := a.keep(C.malloc(C.size_t(len(list)) * C.size_t(unsafe.Sizeof(uintptr(0)))))
	texts := unsafe.Slice((**C.char)(block), len(list))
	for i, s := range list {
		texts[i] = a.text(s)
	}
	return &texts[0]
}

func (a *arena) bytes(b []byte) unsafe.Pointer {
	if len(b) == 0 {
		return nil
	}
	return a.keep(C.CBytes(b))
}

func (a *arena) free() {
	for _, block := range a.blocks {
		C.free(block)
	}
}

// goText returns the text of a fixed C field, up to its zero.
func goText(field []C.char) string {
	return C.GoString(unsafe.SliceData(field))
}

func flag(set bool, bit C.uint32_t) C.uint32_t {
	if set {
		return bit
	}
	return 0
}
