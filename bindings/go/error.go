package lapwing

// #include "calls.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Code is the number of an error. It is an error itself: errors.Is(err, lapwing.ErrTimedOut) compares it, and
// errors.As finds it.
type Code int32

const (
	ErrInvalidArgument Code = C.LAPWING_ERROR_INVALID_ARGUMENT   // the arguments contradict each other or a stated limit
	ErrNoBus           Code = C.LAPWING_ERROR_NO_BUS             // no bus in this directory, or no such channel
	ErrInUse           Code = C.LAPWING_ERROR_IN_USE             // another process uses this bus, journal, path or cursor
	ErrNotPermitted    Code = C.LAPWING_ERROR_NOT_PERMITTED      // refused by the kernel or by an ownership check
	ErrNoSpace         Code = C.LAPWING_ERROR_NO_SPACE           // the disk or the tmpfs is full
	ErrSystem          Code = C.LAPWING_ERROR_SYSTEM             // any other failed system call: Error.Errno
	ErrDamaged         Code = C.LAPWING_ERROR_DAMAGED            // durable bytes differ from those that were written
	ErrABIMismatch     Code = C.LAPWING_ERROR_ABI_MISMATCH       // the other side, or the library, has another ABI version
	ErrNotALapwingFile Code = C.LAPWING_ERROR_NOT_A_LAPWING_FILE // the path is another kind of file or directory
	ErrJournalFailed   Code = C.LAPWING_ERROR_JOURNAL_FAILED     // a journal write or sync failed
	ErrNoJournal       Code = C.LAPWING_ERROR_NO_JOURNAL         // this bus keeps no journal
	ErrPruned          Code = C.LAPWING_ERROR_PRUNED             // the journal no longer keeps that sequence
	ErrTimedOut        Code = C.LAPWING_ERROR_TIMED_OUT          // the context's deadline passed during the wait
	ErrPublisherGone   Code = C.LAPWING_ERROR_PUBLISHER_GONE     // the publisher ended without closing
	ErrRefused         Code = C.LAPWING_ERROR_REFUSED            // the other side refused the connection
	ErrProtocol        Code = C.LAPWING_ERROR_PROTOCOL           // the other side violates the protocol
	ErrBadInput        Code = C.LAPWING_ERROR_BAD_INPUT          // bytes violate their format
	ErrRecordSize      Code = C.LAPWING_ERROR_RECORD_SIZE        // records of this size or type do not fit this bus
	ErrPathTooLong     Code = C.LAPWING_ERROR_PATH_TOO_LONG      // a path is too long for a socket or a frame
	ErrClosed          Code = C.LAPWING_ERROR_CLOSED             // closed cleanly
	ErrReset           Code = C.LAPWING_ERROR_RESET              // a stored position belongs to a discarded journal
	ErrUnsupported     Code = C.LAPWING_ERROR_UNSUPPORTED        // not supported by this kernel, container or file system
	ErrLimit           Code = C.LAPWING_ERROR_LIMIT              // a named limit is exhausted
	ErrNotFound        Code = C.LAPWING_ERROR_NOT_FOUND          // a file, schema or sequence does not exist
	ErrStoppedAtGap    Code = C.LAPWING_ERROR_STOPPED_AT_GAP     // there was a gap, and the policy is to stop at one
	ErrPeerGone        Code = C.LAPWING_ERROR_PEER_GONE          // a channel's other side has ended
	ErrCorrupt         Code = C.LAPWING_ERROR_CORRUPT            // a channel's other side wrote invalid data
	ErrWouldBlock      Code = C.LAPWING_ERROR_WOULD_BLOCK        // nothing is available, and the call does not wait
	ErrMisuse          Code = C.LAPWING_ERROR_MISUSE             // a call was used incorrectly and had no effect
	ErrInterrupted     Code = C.LAPWING_ERROR_INTERRUPTED        // Interrupt, or a canceled context, ended the wait
	ErrTooSmall        Code = C.LAPWING_ERROR_TOO_SMALL          // buffer too small for a row or message
	ErrNoMemory        Code = C.LAPWING_ERROR_NO_MEMORY          // memory is exhausted
	ErrForked          Code = C.LAPWING_ERROR_FORKED             // the handle belongs to the parent of this forked process
	ErrEventDue        Code = C.LAPWING_ERROR_EVENT_DUE          // an event comes before the next record: read it
	ErrNoAnswer        Code = C.LAPWING_ERROR_NO_ANSWER          // no answer to the join; the subscriber has ended
)

// String returns the name, such as "timed-out". It returns "unknown" for an unknown number.
func (c Code) String() string {
	if load() != nil { // the library contains the names; these two are the errors of a failed load
		return nameOf(int(c), []string{ErrNotFound: "not-found", ErrABIMismatch: "abi-mismatch"})
	}
	return C.GoString(C.lapwing_error_name(C.lapwing_result(c)))
}

func (c Code) Error() string { return "lapwing: " + c.String() }

// Error is the error type of every call in this package. errors.Is compares it with a Code, with its Errno, and
// with its cause: the error of a context, or os.ErrClosed for a closed handle.
type Error struct {
	Code    Code
	Errno   syscall.Errno // of the system call that failed; 0: none did
	Message string        // what happened, where, and what to do next
	cause   error
}

func (e *Error) Error() string {
	if e.Message == "" {
		return e.Code.Error()
	}
	return e.Code.Error() + ": " + e.Message
}

func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// As implements errors.As: it sets a *Code to the number of the error.
func (e *Error) As(target any) bool {
	code, ok := target.(*Code)
	if ok {
		*code = e.Code
	}
	return ok
}

func (e *Error) Unwrap() []error {
	var causes []error
	if e.cause != nil {
		causes = append(causes, e.cause)
	}
	if e.Errno != 0 {
		causes = append(causes, e.Errno)
	}
	return causes
}

// CodeOf returns the number of an error from this package, and 0 for nil and any other error.
func CodeOf(err error) Code {
	var code Code
	errors.As(err, &code)
	return code
}

// These errors are frequent in a program that polls, so they are allocated only once.
var (
	errWouldBlock = &Error{Code: ErrWouldBlock, Message: "nothing is there now, and the call was not to wait"}
	errEventDue   = &Error{Code: ErrEventDue, Message: "an event precedes the next record; read it"}
)

func noError() C.lapwing_error {
	return C.lapwing_error{struct_size: C.uint32_t(C.sizeof_lapwing_error)}
}

// failure returns the error of a C call; nil for ok.
func failure(result C.lapwing_result, e *C.lapwing_error) error {
	switch Code(result) {
	case C.LAPWING_OK:
		return nil
	case ErrWouldBlock:
		return errWouldBlock
	case ErrEventDue:
		return errEventDue
	}
	made := &Error{Code: Code(result), Errno: syscall.Errno(e.sys_errno), Message: goText(e.message[:])}
	if made.Code == ErrTimedOut {
		made.cause = context.DeadlineExceeded
	}
	return made
}

func invalid(format string, values ...any) error {
	return &Error{Code: ErrInvalidArgument, Message: fmt.Sprintf(format, values...)}
}

func misuse(format string, values ...any) error {
	return &Error{Code: ErrMisuse, Message: fmt.Sprintf(format, values...)}
}

func closedHandle(what string) error {
	return &Error{Code: ErrMisuse, Message: "this " + what + " is closed; open another one", cause: os.ErrClosed}
}

// ended returns the error of a wait that the context ended.
func ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &Error{Code: ErrTimedOut, Message: "the context's deadline passed", cause: ctx.Err()}
	}
	cause := ctx.Err()
	if why := context.Cause(ctx); why != cause {
		cause = errors.Join(cause, why)
	}
	return &Error{Code: ErrInterrupted, Message: "the context was canceled", cause: cause}
}

// refuse converts an error from this package to a C error, within a call.
func refuse(e *C.lapwing_error, err error) C.lapwing_result {
	var made *Error
	errors.As(err, &made)
	for i := range min(len(made.Message), len(e.message)-1) {
		e.message[i], e.message[i+1] = C.char(made.Message[i]), 0
	}
	return C.lapwing_result(made.Code)
}

// notNegative returns an error for an option below 0.
func notNegative[T ~int | ~int64](name string, value T) error {
	if value >= 0 {
		return nil
	}
	return invalid("%s is %v; it can be: 0 or more", name, value)
}

// duration returns an error for an option below 0, except for its special value.
func duration(name string, value time.Duration, special string) error {
	if value >= 0 || value == Forever { // Forever, Never and OnRequest are the same number
		return nil
	}
	return invalid("%s is %v; it can be: 0 or more, %s", name, value, special)
}

// set sets an option if it is not zero.
func set[F, V ~int64 | ~uint64 | ~uint32](option *F, value V) {
	if value != 0 {
		*option = F(value)
	}
}

// choice returns an error for an option that is not an index of values, the option's values in C.
func choice[T ~uint32](name string, value T, values []C.uint32_t, names string) error {
	if int(value) < len(values) {
		return nil
	}
	return invalid("%s is %d; it can be: %s", name, value, names)
}
