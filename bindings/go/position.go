package lapwing

// #include "calls.h"
import "C"

import (
	"encoding/hex"
	"unsafe"
)

// ID is the random id of a journal, a session or a connection. The zero ID means none.
type ID [16]byte

func (id ID) String() string { return hex.EncodeToString(id[:]) }

func goID(id *C.lapwing_id) ID { return *(*ID)(unsafe.Pointer(id)) }

func (id ID) c() (made C.lapwing_id) {
	*(*ID)(unsafe.Pointer(&made)) = id
	return made
}

// Position is a position that can be stored, and resumed from with StartAfter.
type Position struct {
	JournalID ID
	SessionID ID
	Sequence  uint64 // the last record that was taken; 0: no position to continue at
}

func goPosition(p *C.lapwing_position) Position {
	return Position{goID(&p.journal_id), goID(&p.session_id), uint64(p.sequence)}
}

func (p Position) c() C.lapwing_position {
	return C.lapwing_position{
		journal_id: p.JournalID.c(), session_id: p.SessionID.c(), sequence: C.uint64_t(p.Sequence),
	}
}
