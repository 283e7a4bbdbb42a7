package lapwing

// #include "calls.h"
import "C"

import (
	"fmt"
	"sync"
	"time"
	"unsafe"
)

const (
	logInterval  = 50 * time.Millisecond
	logLineBytes = 4096
)

var logging struct {
	mu   sync.Mutex
	stop chan struct{} // nil: lines are dropped
	done chan struct{}
}

// SetLog passes each line of the log to fn. The log contains the lines of all publishers in the process. By
// default, and with nil, lines are dropped. fn is called by a goroutine that empties the library's queue 20
// times a second, and must not call SetLog. Once SetLog returns, the function that was set before is no longer
// called.
func SetLog(fn func(line string)) error {
	if err := load(); err != nil {
		return err
	}
	logging.mu.Lock()
	defer logging.mu.Unlock()
	if logging.stop != nil {
		close(logging.stop)
		<-logging.done
		logging.stop = nil
	}
	if fn == nil {
		C.lapwing_log_set(nil, nil)
		return nil
	}
	C.lapwing_log_queue()
	logging.stop, logging.done = make(chan struct{}), make(chan struct{})
	go passLog(fn, logging.stop, logging.done)
	return nil
}

func passLog(fn func(string), stop, done chan struct{}) {
	defer close(done)
	ticker := time.NewTicker(logInterval)
	defer ticker.Stop()
	line := make([]byte, logLineBytes)
	for {
		for readLog(fn, line) {
		}
		select {
		case <-stop:
			for readLog(fn, line) {
			}
			return
		case <-ticker.C:
		}
	}
}

func readLog(fn func(string), line []byte) bool {
	var dropped C.uint64_t
	at := (*C.char)(unsafe.Pointer(unsafe.SliceData(line)))
	result := C.lapwing_log_read(at, C.size_t(len(line)), &dropped)
	if dropped > 0 {
		fn(fmt.Sprintf("lapwing: %d lines of the log were dropped; the queue was full", uint64(dropped)))
	}
	if result != C.LAPWING_OK {
		return false
	}
	fn(C.GoString(at))
	return true
}
