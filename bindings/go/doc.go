// Package lapwing publishes and reads buses of market data on one Linux machine, and sends messages
// over channels between two processes. It calls Lapwing's C library, which it loads when it is first used: the
// file that LAPWING_LIBRARY names, or else the file whose path was linked in with
//
//	go build -ldflags "-X lapwing.example/go/lapwing.libraryPath=/opt/lapwing/lib/liblapwing.so.1"
//
// or else the system's liblapwing.so.1. A library with an incompatible ABI is refused.
//
// # Waiting
//
// A call that can wait takes a context, whose deadline and cancellation end the wait. With [NoWait] a call
// does not wait, and returns [ErrWouldBlock]. A call that waits occupies a thread of the operating system, like
// every cgo call.
//
// # Options
//
// Options are structs. Each field documents what its zero value means: "0: 30 s" is a default of 30
// seconds, and the zero value of a choice is its default, such as [GapFill] or [WaitBackoff]. The shortest
// duration is a nanosecond. [Forever], [Never] and [OnRequest] are durations that a number cannot express.
//
// # Handles
//
// A handle (Publisher, Subscriber, Cursor, History, Books, Listener, Producer, Consumer, Duplex, WaitSet)
// serves one call at a time, from any goroutine. A call that overlaps another one returns [ErrMisuse].
// Interrupt and Close may be called at any time, and both end the current wait. Close frees everything, and
// does not wait for a disk or a peer. The garbage collector closes forgotten objects, and reports them with
// [log/slog].
//
// # Memory
//
// Records and messages are copied into Go memory that the caller can reuse, so reading a batch allocates
// nothing. Functions whose name begins with Unsafe return memory that is shared with other processes. A write
// to it can crash the program, as can a read after its release.
//
// # Units
//
// Sequences count records from 1. Prices are int64 in units of 1e-9, and [NoPrice] means no price. Times
// of records are nanoseconds since 1970, UTC, and [NoTime] means no time. Sizes are bytes.
package lapwing
