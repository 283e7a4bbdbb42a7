package lapwing

// #include "calls.h"
import "C"

import "context"

type cursorHandle = handle[*C.lapwing_cursor]

// Cursor is a file that stores the position up to which a program has processed a bus.
type Cursor struct {
	cursorHandle
}

// Commit is the content of a cursor: everything up to the position has been processed. The two numbers are the
// end of the program's own output at that position: a length and the number of a file, or 0.
type Commit struct {
	Position    Position
	OutputBytes uint64
	OutputFile  uint64
}

// CursorOptions are the options of OpenCursor. A zero field has its default.
type CursorOptions struct {
	Durable bool // a power cut never reverts a commit; each costs a sync
}

// OpenCursor takes the lock of the file and reads the file. It waits for the lock until ctx is done (ErrInUse),
// and creates the file if it is missing.
func OpenCursor(ctx context.Context, path string, options CursorOptions) (*Cursor, error) {
	var a arena
	defer a.free()
	at := a.text(path)
	if a.err != nil {
		return nil, a.err
	}
	var made *C.lapwing_cursor
	err := openLocked(ctx, func(timeout C.int64_t, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_cursor_open(at, flag(options.Durable, C.LAPWING_CURSOR_DURABLE), timeout, &made, e)
	})
	if err != nil {
		return nil, err
	}
	c := &Cursor{}
	c.own(made, "Cursor", nil, func(c *C.lapwing_cursor) { C.lapwing_cursor_destroy(&c) })
	return c, nil
}

// Last returns the last commit. ErrNotFound: nothing has been committed yet.
func (c *Cursor) Last() (Commit, error) {
	var position C.lapwing_position
	var bytes, file C.uint64_t
	err := c.call(func(c *C.lapwing_cursor, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_cursor_position(c, &position, &bytes, &file, e)
	})
	return Commit{goPosition(&position), uint64(bytes), uint64(file)}, err
}

// Commit stores a commit. A position with sequence 0 changes nothing.
func (c *Cursor) Commit(commit Commit) error {
	position := commit.Position.c()
	return c.call(func(c *C.lapwing_cursor, e *C.lapwing_error) C.lapwing_result {
		return C.lapwing_cursor_commit(c, &position, C.uint64_t(commit.OutputBytes),
			C.uint64_t(commit.OutputFile), e)
	})
}
